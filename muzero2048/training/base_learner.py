"""What the learners on the device have in common: calls to the device, counts of progress, checkpoints."""

import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from muzero2048.training.array_files import PARAMETERS, TRAINING, load_pytree, save_pytree
from muzero2048.training.config import TrainingConfig
from ntuple.core.games.game_2048 import GAME_2048

CALL_SECONDS = 1.5  # aim for a call to the device; stops and the progress line are handled between two calls
TILES_OF_2048 = re.compile("^search/late_positions$|_late$")  # metrics about tiles of 2048
SATURATION_WARNING = 0.001  # warn if more than this share of the value targets lies beyond the support


def state_memory(config: TrainingConfig, state: Any, devices: int = 1) -> dict[str, int]:
    """Compute the bytes of a training state on each device.

    The temporary memory of the compiled programs is not included.

    Games and replay are divided among the devices. A key of the result describes its part.
    """
    parts = {
        name: sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(part)) for name, part in state._asdict().items()
    }
    replay, games = parts.pop("replay"), parts.pop("actor")
    moves = config.replay.capacity
    return {
        f"replay of {moves:,} moves, {replay / moves:.0f} bytes each": replay // devices,
        "parameters and optimizer": sum(parts.values()),
        f"{config.num_envs:,} games": games // devices,
    }


class DeviceLearner:
    """A learner around a training state: a NamedTuple with a field `params`. A subclass adds `advance` and `player`."""

    def __init__(self, config: TrainingConfig, state: Any):
        self._config = config
        self._state = state
        self._progress = np.zeros(3, np.int64)
        self._rounds_a_call = 1

    @property
    def env_steps_total(self) -> int:
        """Return the training budget in moves."""
        return self._config.env_steps

    @property
    def progress(self) -> dict[str, int]:
        """Return the counts so far: moves played, games finished, updates made."""
        return dict(zip(("env_steps", "games", "updates"), self._progress.tolist(), strict=True))

    def probes(self) -> dict[str, Any]:
        """Return further players that test a learned model; here none."""
        return {}

    def diagnose(self) -> dict[str, float]:
        """Return metrics of a learned model; here none."""
        return {}

    def _moves_to_report(self, filling: int = 0) -> int:
        """Return the moves from here, after `filling` more, to a multiple of `report_env_steps` or the budget's end."""
        played, every = int(self._progress[0]) + filling, self._config.report_env_steps
        return min((played // every + 1) * every, self._config.env_steps) - played

    @property
    def within_report(self) -> bool:
        """Return whether `tick` ended the last `advance`: its last chunk holds no multiple of `report_env_steps`."""
        env_steps, every = int(self._progress[0]), self._config.report_env_steps
        before = max(0, env_steps - self._config.chunk_moves)
        return 0 < env_steps < self._config.env_steps and env_steps // every == before // every

    def _call_device(
        self, rounds: int, call: Callable[[Any, Any, int], tuple[Any, Any]], report: Any, tick: Callable[[int], bool]
    ) -> tuple[int, Any]:
        """Make rounds in calls of about CALL_SECONDS.

        The first call makes one round. Each further call makes at most twice the rounds of the call before it. Several
        processes must make the same calls although their clocks differ, so they make all rounds in one call.

        `call` maps state, report and a number of rounds to state and report after these rounds; `tick` is called
        between two calls with the number of rounds made, and True ends the rounds. Returns the number of rounds made,
        and their report.
        """
        finished = 0
        while finished < rounds:
            count = rounds if jax.process_count() > 1 else min(self._rounds_a_call, rounds - finished)
            began = time.perf_counter()
            self._state, report = jax.block_until_ready(call(self._state, report, count))
            self._rounds_a_call = rounds_a_call(count, time.perf_counter() - began)
            finished += count
            if tick(finished) and finished < rounds:
                break
        return finished, report

    def _report(self, metrics: dict[str, float], chunks: int, rounds: int, seconds: float) -> dict[str, float]:
        """Add to the progress what was done in `seconds`; return the metrics with those of speed.

        Those about tiles of 2048 are left out if another game is played. Warns if too many value targets lie beyond the
        support; Python shows the same warning only once.
        """
        if metrics["model/saturated"] > SATURATION_WARNING:
            warnings.warn(
                f"more than {SATURATION_WARNING:.1%} of the value targets lie beyond the support (metric "
                f"model/saturated): raise value.h_max, now {self._config.value.h_max:g}",
                stacklevel=3,
            )
        moves, updates = chunks * self._config.chunk_moves, rounds * self._config.updates_per_chunk
        self._progress += np.array([moves, int(metrics["train/games"]), updates])
        if self._config.game != GAME_2048.name:
            metrics = {name: value for name, value in metrics.items() if not TILES_OF_2048.search(name)}
        return metrics | {
            "perf/moves_per_second": moves / seconds,
            "perf/updates_per_second": updates / seconds,
            "perf/samples_per_second": updates * self._config.replay.batch_size / seconds,
        }

    def _acting(self, state: Any) -> Any:
        """Return the parameters that play."""
        return state.params

    def _with_acting(self, state: Any, params: Any) -> Any:
        """Return `state` with the acting parameters replaced, or removed if `params` is None."""
        return state._replace(params=params)

    def _beginning_with(self, state: Any, params: Any) -> Any:
        """Return a new state that begins with the acting parameters of another."""
        return self._with_acting(state, params)

    def begin_with(self, folder: Path, trained: TrainingConfig) -> None:
        """Begin with the network of a checkpoint instead of a new one; optimizer, games and replay stay new.

        Raises:
            ValueError: the parameters are damaged, or those of another network, or the network's outputs mean other
                values with the config `trained` of the checkpoint.
        """
        for name in ("value", "reward"):
            theirs, own = getattr(trained, name, None), getattr(self._config, name, None)
            if theirs != own:
                raise ValueError(f"it was trained with {name} = {theirs}, the config has {own}")
        self._state = self._beginning_with(self._state, load_pytree(folder / PARAMETERS, self._acting(self._state)))

    def save(self, folder: Path) -> None:
        """Write the parameters, and everything else that training needs, into an empty folder."""
        save_pytree(folder / PARAMETERS, self._acting(self._state))
        save_pytree(folder / TRAINING, self._training())

    def restore(self, folder: Path) -> None:
        """Load the state that `save` wrote; training then continues to the bit.

        Raises:
            ValueError: a part is damaged or was made with another config.
        """
        # The arrays are replaced by their shapes first: old and new state together may exceed the memory of a device.
        self._state = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), self._state)
        params = load_pytree(folder / PARAMETERS, self._acting(self._state))
        training = load_pytree(folder / TRAINING, self._training())
        self._state = self._with_acting(training["state"], params)
        self._progress = np.array(training["progress"]).view(np.int64)

    def _training(self) -> dict[str, Any]:
        """Return what is saved in addition to the parameters.

        The counts are saved as 32-bit words: JAX truncates int64 to int32, and runs are longer than 2^31 moves.
        """
        return {"progress": self._progress.view(np.uint32), "state": self._with_acting(self._state, None)}


begin_from = DeviceLearner.begin_with  # `LearnerSpec.begin_from`


def rounds_a_call(rounds: int, seconds: float) -> int:
    """Return how many rounds take about CALL_SECONDS, if `rounds` took `seconds`; at most twice as many as before."""
    return min(2 * rounds, max(1, int(rounds * CALL_SECONDS / seconds)))
