"""Speed of the MuZero learner by network and batch size, its share of the device's peak, its memory, its arithmetic.

    play    a chunk of moves in all environments, without learning
    learn   the updates of a round, without play
    both    a round, in the size in which play and learning take least time a move

The peak is that of a large matrix product in the type that the network computes in, in the same run. A share of it is
the work of the program's own products (launch/bench/work.py), idle rows in a search's blocks left out.
"""

import functools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from launch.bench.rows import Row, best_seconds
from launch.bench.work import Work, count_work
from launch.config.examples import examples_folder
from launch.config.experiment import load_experiment
from launch.errors import UserError
from launch.run.memory import device_bytes
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.train_step import Learner, make_learner
from muzero2048.search.tree_search import block_size

CONFIGS = examples_folder() / "muzero"
SMALL, LARGE = ("grounded", "latent"), ("dissertation", "deepmind")  # a CPU counts the work of large ones, no more
CHUNK = 32  # moves a game in a chunk, or the least number above that fits the config, so that large ones stay short
REPEATS = 3  # rather than launch.bench.rows.REPEATS: a chunk is long enough to be timed well
PRODUCTS = 20  # that are timed for the peak
PRODUCT, CPU_PRODUCT = 8192, 1024  # rows and columns of the matrices that tell the peak


class Program(NamedTuple):
    """A compiled program; `run` takes the learner's state over, and gives the next one and a report."""

    run: Any
    work: Work
    bytes: int  # arguments, results and temporaries
    compile_seconds: float


class Speed(NamedTuple):
    """What was measured in one size: programs, and the seconds that a run of each takes."""

    config: MuZeroConfig
    learner: Learner
    programs: Mapping[str, Program]
    seconds: Mapping[str, float]


def bench_learner(file: Path | None, overrides: Sequence[str]) -> list[Row]:
    """Rows of one config, or of four, two of which a CPU does not run.

    Raises:
        UserError: the config is missing, wrong, too large, or of another learner.
    """
    jax.config.update("jax_enable_compilation_cache", False)  # compiling is to be timed
    on_cpu, rows = jax.default_backend() == "cpu", []
    for name, config in experiments(file, overrides):
        try:
            if file is None and on_cpu and name in LARGE:
                rows += work_rows(name, config, counted(config))
            else:
                rows += network_rows(name, config, (1, 4) if on_cpu else (1, 4, 16))
        except ValueError as error:  # such as environments that cannot be cut among the devices
            raise UserError(f"{name}: {error}") from error
    return rows


def experiments(file: Path | None, overrides: Sequence[str]) -> Iterator[tuple[str, MuZeroConfig]]:
    """Names and configs, with short chunks, of what is measured: one file with overrides, or four that stand for all.

    Raises:
        UserError: the file is missing, wrong, or of another learner.
    """
    for path in [file] if file else [CONFIGS / f"{name}.yaml" for name in (*SMALL, *LARGE)]:
        experiment = load_experiment(path, overrides)
        if not isinstance(experiment.settings, MuZeroConfig):
            raise UserError(f"{path} is for the learner '{experiment.learner}'; this benchmark measures muzero")
        yield path.stem, shortened(experiment.settings)


def network_rows(name: str, config: MuZeroConfig, scales: Sequence[int]) -> list[Row]:
    """The work of a network, and its speed at so many times the config's games and batch, as far as memory reaches.

    Raises:
        UserError: not even the first fits.
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

    rows = [Row(f"{name}: peak, {config.network.compute_dtype}", peak / 1e9, "GFLOP/s", {})]
    rows += work_rows(name, config, {kind: program.work for kind, program in speeds[0].programs.items()})
    rows += [row for speed in speeds for kind in speed.programs for row in speed_rows(name, speed, kind, peak)]
    if "both" in best.programs:
        rows += speed_rows(name, best, "both", peak)
    for kind, size in (("play", "num_envs"), ("learn", "replay.batch_size")):
        fastest = min(speeds, key=lambda speed: speed.seconds[kind] / speed.config.chunk_moves)
        rows.append(Row(f"{name}: best to {kind}", attrgetter(size)(fastest.config), size, {}))
    rows.append(Row(f"{name}: best together", best.config.num_envs, "num_envs", {}))
    return rows


def measure(config: MuZeroConfig) -> Speed | None:
    """Play and learning apart; None if they do not fit the device."""
    learner = make_learner(config)
    programs = {kind: compiled(traced, work_of(traced, config)) for kind, traced in trace(learner).items()}
    if max(program.bytes for program in programs.values()) > device_bytes():
        return None
    return Speed(config, learner, programs, timed(programs, learner.init(0)))


def measure_round(speed: Speed) -> Speed:
    """What was measured, with `both` added if it fits the device."""
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
    """The config with chunks of CHUNK moves, or the next number with which its updates a chunk are whole."""
    for chunk in range(CHUNK, config.chunk):
        try:
            return _resized(config, config.num_envs, chunk, config.replay.batch_size)
        except ValueError:
            continue
    return config


def scaled(config: MuZeroConfig, scale: int) -> MuZeroConfig:
    """So many times the games and the batch."""
    return _resized(config, scale * config.num_envs, config.chunk, scale * config.replay.batch_size)


def _resized(config: MuZeroConfig, games: int, chunk: int, batch: int) -> MuZeroConfig:
    capacity = -(-config.replay.capacity // (games * chunk)) * games * chunk  # of whole chunks, as it must be
    return replace(
        config, num_envs=games, chunk=chunk, replay=replace(config.replay, batch_size=batch, capacity=capacity)
    )


def trace(learner: Any) -> dict[str, Any]:
    """The programs `play` and `learn`, of which nothing is compiled yet."""
    shapes = learner.shapes()
    return {"play": learner.fill.trace(shapes), "learn": learner.learn.trace(shapes)}


def counted(config: MuZeroConfig) -> dict[str, Work]:
    """The work of a chunk of play and of its updates; nothing is allocated or compiled."""
    return {kind: work_of(traced, config) for kind, traced in trace(make_learner(config)).items()}


def work_of(traced: Any, config: MuZeroConfig) -> Work:
    """The work of a program; on a CPU one loop of an unknown length is in it, over the blocks of a search's boards."""
    local = config.num_envs // jax.device_count()  # of which each device makes blocks of its own
    return count_work(traced.jaxpr, jax.default_backend(), -(-local // block_size(local)))


def compiled(traced: Any, work: Work) -> Program:
    """Compile a program."""
    lowered = traced.lower()
    began = time.perf_counter()
    run = lowered.compile()
    seconds, memory = time.perf_counter() - began, run.memory_analysis()
    taken = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return Program(run, work, taken - memory.alias_size_in_bytes, seconds)


def timed(programs: Mapping[str, Program], state: Any) -> dict[str, float]:
    """Least seconds of a run of each program; `play` comes first, as the others want something to learn from."""

    def run(program: Program) -> None:
        nonlocal state
        state = jax.block_until_ready(program.run(state)[0])

    return best_seconds({kind: functools.partial(run, program) for kind, program in programs.items()}, REPEATS)


def measure_peak(dtype: str) -> float:
    """FLOP/s of a product of large square matrices, times the number of devices."""
    size = CPU_PRODUCT if jax.default_backend() == "cpu" else PRODUCT
    x = jax.random.normal(jax.random.key(0), (size, size), jnp.dtype(dtype))
    product = jax.jit(jnp.matmul)
    jax.block_until_ready(product(x, x))  # compiles
    seconds = best_seconds({"": lambda: jax.block_until_ready(product(x, x))}, PRODUCTS)[""]
    return jax.local_device_count() * 2 * size**3 / seconds


def work_rows(name: str, config: MuZeroConfig, works: Mapping[str, Work]) -> list[Row]:
    """The work of a move in self-play and of a sample in learning."""
    samples = config.updates_per_chunk * config.replay.batch_size
    rows = []
    for what, work, number in (("move", works["play"], config.chunk_moves), ("sample", works["learn"], samples)):
        rows.append(Row(f"{name}: a {what}", work.flops / number, "FLOP", {}))
        rows.append(Row(f"{name}: a {what}", work.bytes / number, "bytes of products", {}))
    return rows


def speed_rows(name: str, speed: Speed, kind: str, peak: float) -> list[Row]:
    """What was measured of one program."""
    config, program, seconds = speed.config, speed.programs[kind], speed.seconds[kind]
    name = f"{name}, {config.num_envs} games, batch {config.replay.batch_size}: {kind}"
    rows = []
    if kind != "learn":
        rows.append(Row(name, config.chunk_moves / seconds, "moves/s", {}))
    if kind != "play":
        rows.append(Row(name, config.updates_per_chunk / seconds, "updates/s", {}))
        rows.append(Row(name, config.updates_per_chunk * config.replay.batch_size / seconds, "samples/s", {}))
    return [
        *rows,
        Row(f"{name}, of the peak", 100 * program.work.flops / seconds / peak, "%", {}),
        Row(f"{name}, memory", program.bytes / 1e6, "MB", {}),
        Row(f"{name}, compiling", program.compile_seconds, "s", {}),
    ]
