"""Train a MuZero learner on a device that is available for a given time; the learning rate falls by the clock.

python -m benchmarks.by_clock configs/muzero/h100.yaml --seconds 700 [--trace] run.name=h100 [KEY=VALUE ...]

`muzero2048 train` plans the moves of a training. Here its time is planned, so the rate reaches its end at any speed;
`muzero.env_steps` must be more than can be made:

    rate = learning_rate + (final_learning_rate - learning_rate) * (seconds since the first update) / (seconds in all)

- Play and a round are compiled at the same time. No moves are evaluated or diagnosed.
- The end is in the file `deadline` of the run's folder, in seconds since 1970. It is read before each call to the
  device, so it may be changed while the training runs.
- The run's folder gets a row of metrics.jsonl every 30 seconds, and a checkpoint of the network for play and for
  `run.begin_from`, every `run.save_minutes` and at the end. It cannot be resumed.
- `--trace` records the programs of one round after the end: profile/, for ui.perfetto.dev or xprof.
"""

import argparse
import dataclasses
import functools
import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from launch.cli import exit_code_of
from launch.commands.parser import Parser
from launch.errors import UserError
from launch.experiment.checkpoints import FOLDER, State, write_checkpoint
from launch.experiment.experiment import Experiment, load_experiment
from launch.experiment.machine_info import project_version
from launch.experiment.metrics_file import METRICS_FILE
from launch.experiment.processes import Processes
from launch.files import write_text
from launch.train.resume import begin_with_network
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.learner import MuZeroLearner
from muzero2048.muzero.learner_state import MuZeroState, acting_params
from muzero2048.muzero.train_step import MuZeroPrograms
from muzero2048.training.array_files import PARAMETERS, save_pytree

DEADLINE = "deadline"  # file in the run's folder
REPORT_SECONDS = 30.0
FIRST_CALLS = 3  # have the rate of FIRST_SHARE, since Adam does not know the sizes of the gradients yet
FIRST_SHARE = 0.9


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the words of the command line."""
    parser = Parser(prog="python -m benchmarks.by_clock", description="Train for a given time.")
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a MuZero experiment")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="changes a key of the config")
    parser.add_argument("--seconds", type=float, required=True, help="until the end, compiling included")
    parser.add_argument("--trace", action="store_true", help="record the programs of one round after the end")
    return parser.parse_intermixed_args(argv)


class Compiled(NamedTuple):
    """The programs of a training."""

    fill: Callable[[MuZeroState], Any]
    rounds: Callable[[MuZeroState, Any, int], Any]


def compile_together(programs: MuZeroPrograms, state: MuZeroState) -> Compiled:
    """Compile both programs at the same time."""
    like = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), (state, programs.empty())
    )
    with ThreadPoolExecutor(2) as pool:
        rounds: Future[Any] = pool.submit(lambda: programs.rounds.lower(*like, 1).compile())  # type: ignore[attr-defined]
        fill: Future[Any] = pool.submit(lambda: programs.fill.lower(like[0]).compile())  # type: ignore[attr-defined]
        return Compiled(fill.result(), rounds.result())


def with_share(state: MuZeroState, share: float, planned: int) -> MuZeroState:
    """Return the state with the learning rate of a share of the planned updates."""

    def is_schedule(part: Any) -> bool:
        return isinstance(part, optax.ScaleByScheduleState)

    def moved(part: Any) -> Any:
        if not is_schedule(part):
            return part
        count = jax.device_put(jnp.full_like(part.count, round(min(share, 1.0) * planned)), part.count.sharding)
        return part._replace(count=count)

    return state._replace(optimizer=jax.tree.map(moved, state.optimizer, is_leaf=is_schedule))


class Clock:
    """How much of the time for learning is over."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._began: float | None = None
        self._calls = 0

    @property
    def deadline(self) -> float:
        """The end, in seconds since 1970."""
        return float(self._file.read_text())

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return time.time() >= self.deadline

    def share(self) -> float:
        """Return the share for the next call."""
        self._calls += 1
        self._began = self._began or time.time()
        if self._calls <= FIRST_CALLS:
            return FIRST_SHARE
        return (time.time() - self._began) / max(1e-9, self.deadline - self._began)


def train(experiment: Experiment, seconds: float, trace: bool) -> None:
    """Train until the deadline; see the head of this file."""
    began, folder, config = time.time(), experiment.run.folder, experiment.settings
    version = project_version()  # fails without an installed package: now, not when a checkpoint is due
    if not isinstance(config, MuZeroConfig):
        raise UserError(f"by_clock trains muzero; the config is of {experiment.learner}")
    if folder.exists():
        raise UserError(f"{folder} exists; give another run.name")
    # A report that a tick ends has no metrics of the model, whose compilation would take device time.
    config = dataclasses.replace(config, report_env_steps=config.env_steps)
    learner = MuZeroLearner(config, experiment.run.seed)
    if experiment.run.begin_from:
        begin_with_network(experiment, learner)
    folder.mkdir(parents=True)
    write_text(folder / DEADLINE, str(began + seconds))
    clock, planned = Clock(folder / DEADLINE), config.total_updates
    compiled = compile_together(learner._learner, learner._state)
    print(f"{time.time() - began:.0f} s: compiled", flush=True)
    if clock.is_over:
        raise UserError(f"compiling took longer than --seconds {seconds:g}; give more")

    def rounds(state: MuZeroState, report: Any, count: int) -> Any:
        return compiled.rounds(with_share(state, clock.share(), planned), report, count)

    learner._learner = learner._learner._replace(fill=compiled.fill, rounds=rounds)
    saved = time.time()
    with (folder / METRICS_FILE).open("a") as file:
        while not clock.is_over:
            ends = time.time() + REPORT_SECONDS
            values = learner.advance(functools.partial(_is_report_over, clock, ends))
            now = time.time()
            row = {**learner.progress, "wall_hours": (now - began) / 3600, **values}
            print(json.dumps(row), file=file, flush=True)
            print(f"{now - began:.0f} s: {learner.progress}, score {values.get('train/score_mean')}", flush=True)
            if now - saved > 60 * experiment.run.save_minutes or clock.is_over:
                _save(experiment, learner, now - began, version)
                saved = now
    if trace:
        with jax.profiler.trace(folder / "profile"):
            jax.block_until_ready(compiled.rounds(learner._state, learner._learner.empty(), 1))


def _is_report_over(clock: Clock, ends: float, moves: int) -> bool:
    return clock.is_over or time.time() >= ends


def _save(experiment: Experiment, learner: MuZeroLearner, seconds: float, version: str) -> None:
    state = State("muzero", learner.progress, seconds / 3600, 0, version)
    parent = experiment.run.folder / FOLDER
    parent.mkdir(exist_ok=True)

    def save(folder: Path) -> None:
        save_pytree(folder / PARAMETERS, acting_params(learner._state))

    write_checkpoint(parent / str(state.progress["env_steps"]), save, experiment, state, Processes())


def run(argv: Sequence[str] | None = None) -> int:
    """Train as the command line says; return the exit code 0."""
    arguments = parse(argv)
    train(load_experiment(arguments.config, arguments.overrides), arguments.seconds, arguments.trace)
    return 0


if __name__ == "__main__":
    sys.exit(exit_code_of(functools.partial(run, sys.argv[1:])))
