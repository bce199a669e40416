"""What the learners on the device have in common: counts of their progress, and checkpoints of their state."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from muzero2048.training.array_files import PARAMETERS, TRAINING, load_pytree, save_pytree
from muzero2048.training.config import TrainingConfig

CALL_SECONDS = 1.5  # of a call to the device, between two of which a stop is heard and progress is shown


def state_memory(config: TrainingConfig, state: Any, devices: int = 1) -> dict[str, int]:
    """Bytes of a training state, real or of shapes alone, on each of the devices among which play and replay are cut.

    What a program needs while it runs comes on top.
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
    """A training state, a NamedTuple with a field `params`, that a subclass advances."""

    def __init__(self, config: TrainingConfig, state: Any):
        self._config = config
        self._state = state
        self._progress = np.zeros(3, np.int64)
        self._rounds_a_call = 1

    @property
    def env_steps_total(self) -> int:
        """The training budget in moves."""
        return self._config.env_steps

    @property
    def progress(self) -> dict[str, int]:
        """Moves played, games from normal starts finished, updates made."""
        return dict(zip(("env_steps", "games", "updates"), self._progress.tolist(), strict=True))

    def _next_report(self) -> int:
        """The next multiple of `report_env_steps`, or the end of the budget."""
        every = self._config.report_env_steps
        return min((int(self._progress[0]) // every + 1) * every, self._config.env_steps)

    @property
    def within_report(self) -> bool:
        """Whether the last `advance` was ended by its `tick`: no multiple of `report_env_steps` in the last chunk."""
        env_steps, every = int(self._progress[0]), self._config.report_env_steps
        before = max(0, env_steps - self._config.chunk_moves)
        return 0 < env_steps < self._config.env_steps and env_steps // every == before // every

    def _call_device(
        self, rounds: int, call: Callable[[Any, Any, int], tuple[Any, Any]], report: Any, tick: Callable[[int], bool]
    ) -> tuple[int, Any]:
        """Make rounds in calls of about CALL_SECONDS.

        The first call has one round, and each has at most twice the rounds of the call before. Several processes must
        make the same calls, whatever their clocks say, so they make one.

        Args:
            rounds: to be made.
            call: (state, report, number of rounds) -> state and report after these rounds.
            report: of no rounds.
            tick: called between two calls with the rounds made; if it returns True, no more are made.

        Returns:
            The rounds made, and their report.
        """
        made = 0
        while made < rounds:
            count = rounds if jax.process_count() > 1 else min(self._rounds_a_call, rounds - made)
            began = time.perf_counter()
            self._state, report = jax.block_until_ready(call(self._state, report, count))
            self._rounds_a_call = rounds_a_call(count, time.perf_counter() - began)
            made += count
            if tick(made) and made < rounds:
                break
        return made, report

    def _count(self, moves: int, games: float, updates: int, seconds: float) -> dict[str, float]:
        """Add to the progress what was done in so many seconds; the metrics of its speed."""
        self._progress += np.array([moves, int(games), updates])
        return {
            "perf/moves_per_second": moves / seconds,
            "perf/updates_per_second": updates / seconds,
            "perf/samples_per_second": updates * self._config.replay.batch_size / seconds,
        }

    def _acting(self, state: Any) -> Any:
        """The parameters that play."""
        return state.params

    def _with_acting(self, state: Any, params: Any) -> Any:
        """The state with others, or with nothing (None), in their place."""
        return state._replace(params=params)

    def save(self, folder: Path) -> None:
        """Write the parameters, and all else that training needs, into an empty folder."""
        save_pytree(folder / PARAMETERS, self._acting(self._state))
        save_pytree(folder / TRAINING, self._training())

    def restore(self, folder: Path) -> None:
        """Go on from `save`.

        Raises:
            ValueError: a part is damaged or was made with another config.
        """
        # Shapes in place of the arrays, which are let go first: both together may be more than a device holds.
        self._state = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), self._state)
        params = load_pytree(folder / PARAMETERS, self._acting(self._state))
        training = load_pytree(folder / TRAINING, self._training())
        self._state = self._with_acting(training["state"], params)
        self._progress = np.array(training["progress"]).view(np.int64)

    def _training(self) -> dict[str, Any]:
        """What is saved beside the parameters.

        The counts go as 32-bit words: JAX would cut int64, and runs are longer than 2^31 moves.
        """
        return {"progress": self._progress.view(np.uint32), "state": self._with_acting(self._state, None)}


def rounds_a_call(rounds: int, seconds: float) -> int:
    """The rounds of the next call, of about CALL_SECONDS, after a call of so many rounds took so long."""
    return min(2 * rounds, max(1, int(rounds * CALL_SECONDS / seconds)))
