"""Speed, memory and arithmetic of the MuZero learner by network and batch size, and its share of the device's peak.

    play    a chunk of moves in all environments, without updates
    learn   the updates of a round, without moves
    both    a round, at the size with the least seconds per move of play and learn together

The peak is the FLOP/s of a large matrix product in the compute type of the network, measured in the same run. The share
of the peak counts the FLOP of the program's products (launch/bench/work.py), without idle rows in a search's blocks.
"""

import functools
import operator
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from launch.bench.rows import BenchRow, best_seconds
from launch.bench.work import Work, count_work
from launch.errors import UserError
from launch.experiment.examples import examples_folder
from launch.experiment.experiment import load_experiment
from launch.memory import device_bytes
from launch.progress import COMPILING, numbered, say
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.train_step import MuZeroPrograms, make_learner
from muzero2048.search.expansion import block_size

CONFIGS = examples_folder() / "muzero"
SMALL, LARGE = ("grounded", "latent"), ("dissertation", "deepmind")  # large configs are not run on a CPU
CHUNK = 32  # moves of a game in a chunk, so that large configs run briefly; see `shortened`
REPEATS = 3  # fewer than launch.bench.rows.REPEATS, since a chunk is long enough for precise timing
PRODUCTS = 20  # number of products that are timed for the peak
PRODUCT, CPU_PRODUCT = 8192, 1024  # rows and columns of the matrices for the peak


class CompiledProgram(NamedTuple):
    """A compiled program. `run` maps the learner's state, whose buffers it donates, to the next state and a report."""

    run: Any
    work: Work
    bytes: int  # arguments, results and temporaries
    compile_seconds: float


class Speed(NamedTuple):
    """Measurements at one size: the programs, and the seconds of a run of each."""

    config: MuZeroConfig
    learner: MuZeroPrograms
    programs: Mapping[str, CompiledProgram]
    seconds: Mapping[str, float]


def bench(file: Path | None, overrides: Sequence[str]) -> list[BenchRow]:
    """Measure one config, or four configs; a CPU does not run the two large ones. UserError if a config is wrong."""
    jax.config.update("jax_enable_compilation_cache", False)  # since compiling is timed
    on_cpu, rows = jax.default_backend() == "cpu", []
    for name, config in numbered([*experiments(file, overrides)], operator.itemgetter(0)):
        try:
            if file is None and on_cpu and name in LARGE:
                rows += work_rows(name, config, works_of(config))
            else:
                rows += network_rows(name, config, (1, 4) if on_cpu else (1, 4, 16))
        except ValueError as error:  # such as environments that cannot be split among the devices
            raise UserError(f"{name}: {error}") from error
    return rows


def experiments(file: Path | None, overrides: Sequence[str]) -> Iterator[tuple[str, MuZeroConfig]]:
    """Yield names and configs, with short chunks: of one file with overrides, or of four typical files."""
    for path in [file] if file else [CONFIGS / f"{name}.yaml" for name in (*SMALL, *LARGE)]:
        experiment = load_experiment(path, overrides)
        if not isinstance(experiment.settings, MuZeroConfig):
            raise UserError(f"{path} is for the learner '{experiment.learner}'; this benchmark measures muzero")
        yield path.stem, shortened(experiment.settings)


def network_rows(name: str, config: MuZeroConfig, scales: Sequence[int]) -> list[BenchRow]:
    """Measure the work and the speed of a config, with its games and batch times each of the ascending scales.

    Sizes that do not fit the memory are left out; UserError if the first one does not fit.
    """
    peak, speeds = measure_peak(config.network.compute_dtype), []
    for scale in scales:
        speed = measure(scaled(config, scale))
        if speed is None:
            break
        speeds.append(speed)
    if not speeds:
        raise UserError(f"{name}: a batch takes more memory than the device has; lower muzero.num_envs")
    best = min(speeds, key=lambda speed: sum(speed.seconds.values()) / speed.config.chunk_moves)
    best = measure_round(best)

    rows = [BenchRow(f"{name}: peak, {config.network.compute_dtype}", peak / 1e9, "GFLOP/s")]
    rows += work_rows(name, config, {kind: program.work for kind, program in speeds[0].programs.items()})
    rows += [row for speed in speeds for kind in speed.programs for row in speed_rows(name, speed, kind, peak)]
    if "both" in best.programs:
        rows += speed_rows(name, best, "both", peak)
    for kind, size in (("play", "num_envs"), ("learn", "replay.batch_size")):
        fastest = min(speeds, key=lambda speed: speed.seconds[kind] / speed.config.chunk_moves)
        rows.append(BenchRow(f"{name}: best to {kind}", operator.attrgetter(size)(fastest.config), size))
    rows.append(BenchRow(f"{name}: best together", best.config.num_envs, "num_envs"))
    return rows


def measure(config: MuZeroConfig) -> Speed | None:
    """Measure `play` and `learn`; return None if they do not fit the device."""
    learner = make_learner(config)
    programs = {kind: compiled(traced, work_of(traced, config)) for kind, traced in trace(learner).items()}
    if max(program.bytes for program in programs.values()) > device_bytes():
        return None
    return Speed(config, learner, programs, timed(programs, learner.init(0)))


def measure_round(speed: Speed) -> Speed:
    """Return `speed` with the measurement of `both` added, if `both` fits the device."""
    learner: Any = speed.learner
    play, learn = speed.programs["play"], speed.programs["learn"]
    nothing = learner.empty()
    both = compiled(learner.rounds.trace(learner.shapes(), nothing, 1), play.work + learn.work)
    if both.bytes > device_bytes():
        return speed
    both = both._replace(run=lambda state, run=both.run: run(state, nothing, 1))
    seconds = timed({"play": play, "both": both}, learner.init(0))
    return speed._replace(programs={**speed.programs, "both": both}, seconds={**speed.seconds, "both": seconds["both"]})


def shortened(config: MuZeroConfig) -> MuZeroConfig:
    """Return the config with chunks of CHUNK moves, or of the next number with a whole number of updates per chunk."""
    for chunk in range(CHUNK, config.chunk):
        try:
            return _resized(config, config.num_envs, chunk, config.replay.batch_size)
        except ValueError:
            continue
    return config


def scaled(config: MuZeroConfig, scale: int) -> MuZeroConfig:
    """Return the config with `scale` times the games and the batch."""
    return _resized(config, scale * config.num_envs, config.chunk, scale * config.replay.batch_size)


def _resized(config: MuZeroConfig, games: int, chunk: int, batch: int) -> MuZeroConfig:
    capacity = -(-config.replay.capacity // (games * chunk)) * games * chunk  # a multiple of the chunk, rounded up
    return replace(
        config, num_envs=games, chunk=chunk, replay=replace(config.replay, batch_size=batch, capacity=capacity)
    )


def trace(learner: Any) -> dict[str, Any]:
    """Trace the programs `play` and `learn`; nothing is compiled."""
    shapes = learner.shapes()
    return {"play": learner.fill.trace(shapes), "learn": learner.learn.trace(shapes)}


def works_of(config: MuZeroConfig) -> dict[str, Work]:
    """Count the work of a chunk of play and of its updates; nothing is allocated or compiled."""
    return {kind: work_of(traced, config) for kind, traced in trace(make_learner(config)).items()}


def work_of(traced: Any, config: MuZeroConfig) -> Work:
    """Count the work of a program. On a CPU it has one loop of unknown length, over the blocks of a search's boards."""
    local = config.num_envs // jax.device_count()  # boards of one device, which it sorts into blocks
    return count_work(traced.jaxpr, jax.default_backend(), -(-local // block_size(local)))


def compiled(traced: Any, work: Work) -> CompiledProgram:
    """Compile a program, and measure its compile time and memory."""
    say(COMPILING)
    lowered = traced.lower()
    began = time.perf_counter()
    run = lowered.compile()
    seconds, memory = time.perf_counter() - began, run.memory_analysis()
    taken = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return CompiledProgram(run, work, taken - memory.alias_size_in_bytes, seconds)


def timed(programs: Mapping[str, CompiledProgram], state: Any) -> dict[str, float]:
    """Return the least seconds of a run of each program. `play` must be first: the others learn from its games."""

    def run(program: CompiledProgram) -> None:
        nonlocal state
        state = jax.block_until_ready(program.run(state)[0])

    return best_seconds({kind: functools.partial(run, program) for kind, program in programs.items()}, REPEATS)


def measure_peak(dtype: str) -> float:
    """Measure the FLOP/s of a product of large square matrices on all devices; those of a CPU share its cores."""
    on_cpu = jax.default_backend() == "cpu"
    size, devices = (CPU_PRODUCT, 1) if on_cpu else (PRODUCT, jax.local_device_count())
    x = jax.random.normal(jax.random.key(0), (size, size), jnp.dtype(dtype))
    product = jax.jit(jnp.matmul)
    jax.block_until_ready(product(x, x))  # compiles
    seconds = best_seconds({"": lambda: jax.block_until_ready(product(x, x))}, PRODUCTS)[""]
    return devices * 2 * size**3 / seconds


def work_rows(name: str, config: MuZeroConfig, works: Mapping[str, Work]) -> list[BenchRow]:
    """Return rows with the work of a move in self-play and of a sample in learning."""
    samples = config.updates_per_chunk * config.replay.batch_size
    rows = []
    for what, work, number in (("move", works["play"], config.chunk_moves), ("sample", works["learn"], samples)):
        rows.append(BenchRow(f"{name}: a {what}", work.flops / number, "FLOP"))
        rows.append(BenchRow(f"{name}: a {what}", work.bytes / number, "bytes of products"))
    return rows


def speed_rows(name: str, speed: Speed, kind: str, peak: float) -> list[BenchRow]:
    """Return rows with the measurements of one program (play, learn or both); `peak` is in FLOP/s."""
    config, program, seconds = speed.config, speed.programs[kind], speed.seconds[kind]
    name = f"{name}, {config.num_envs} games, batch {config.replay.batch_size}: {kind}"
    rows = []
    if kind != "learn":
        rows.append(BenchRow(name, config.chunk_moves / seconds, "moves/s"))
    if kind != "play":
        rows.append(BenchRow(name, config.updates_per_chunk / seconds, "updates/s"))
        rows.append(BenchRow(name, config.updates_per_chunk * config.replay.batch_size / seconds, "samples/s"))
    return [
        *rows,
        BenchRow(f"{name}, of the peak", 100 * program.work.flops / seconds / peak, "%"),
        BenchRow(f"{name}, memory", program.bytes / 1e6, "MB"),
        BenchRow(f"{name}, compiling", program.compile_seconds, "s"),
    ]
