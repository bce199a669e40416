"""The MuZero learner as launch drives it: rounds of play and updates, metrics, checkpoints, a player."""

import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from muzero2048.calibration import calibration_metrics
from muzero2048.checkpoint import PARAMETERS, TRAINING, load_pytree, save_pytree
from muzero2048.config import MuZeroConfig
from muzero2048.learner import Report, make_learner
from muzero2048.losses import LossReport
from muzero2048.player import SearchPlayer, make_player
from muzero2048.selfplay import PlayStatistics

SATURATION_WARNING = 0.001  # share of value targets beyond the support that is worth a word

# Fields of LossReport that say what the model knows; the others are terms of the loss.
MODEL_DIAGNOSTICS = (
    "reward_error",
    "saturated",
    "code_entropy",
    "code_information",
    "afterstate_accuracy",
    "next_state_accuracy",
)


class MuZeroLearner:
    """Trains one MuZero agent; on one device it resumes to the bit."""

    def __init__(self, config: MuZeroConfig, seed: int):
        self._config = config
        self._learner = make_learner(config)
        self._state = self._learner.init(seed)
        self._progress = np.zeros(3, np.int64)

    @property
    def env_steps_total(self) -> int:
        """The training budget in moves."""
        return self._config.env_steps

    @property
    def progress(self) -> dict[str, int]:
        """Moves played, games from normal starts finished, updates made."""
        return dict(zip(("env_steps", "games", "updates"), self._progress.tolist(), strict=True))

    def advance(self) -> dict[str, float]:
        """Rounds until the next multiple of `report_env_steps`; the device is asked for numbers only at the end."""
        config = self._config
        began = time.perf_counter()
        env_steps = int(self._progress[0])
        target = min((env_steps // config.report_env_steps + 1) * config.report_env_steps, config.env_steps)
        play: list[PlayStatistics] = []
        rounds: list[Report] = []
        if env_steps == 0:  # the buffer needs a chunk of play before the first update
            self._state, statistics = self._learner.fill(self._state)
            play.append(statistics)
            env_steps += config.chunk_moves
        while env_steps < target or not rounds:
            self._state, report = self._learner.round(self._state)
            play.append(report.play)
            rounds.append(report)
            env_steps += config.chunk_moves
        metrics = summarize(*jax.device_get((play, rounds)))
        if metrics["model/saturated"] > SATURATION_WARNING:
            # Said once: Python shows a warning of the same words and place a single time.
            warnings.warn(
                f"more than {SATURATION_WARNING:.1%} of the value targets lie beyond the support (metric "
                f"model/saturated): raise value.h_max, now {config.value.h_max:g}",
                stacklevel=2,
            )
        seconds = time.perf_counter() - began
        updates = len(rounds) * config.updates_per_chunk
        moves = len(play) * config.chunk_moves
        self._progress += np.array([moves, int(metrics["train/games"]), updates])
        return {
            **metrics,
            "perf/moves_per_second": moves / seconds,
            "perf/updates_per_second": updates / seconds,
            "perf/samples_per_second": updates * config.replay.batch_size / seconds,
        }

    def save(self, folder: Path) -> None:
        """Write the parameters, and all else that training needs, into an empty folder."""
        save_pytree(folder / PARAMETERS, self._state.params)
        save_pytree(folder / TRAINING, self._training())

    def restore(self, folder: Path) -> None:
        """Go on from `save`.

        Raises:
            ValueError: a part is damaged or was made with another config.
        """
        params = load_pytree(folder / PARAMETERS, self._state.params)
        training = load_pytree(folder / TRAINING, self._training())
        self._state = training["state"]._replace(params=params)
        self._progress = np.array(training["progress"]).view(np.int64)

    def _training(self) -> dict[str, Any]:
        """What is saved beside the parameters.

        The counts go as 32-bit words: JAX would cut int64, and runs are longer than 2^31 moves.
        """
        return {"progress": self._progress.view(np.uint32), "state": self._state._replace(params=None)}

    def player(self) -> SearchPlayer:
        """Plays with the parameters of now."""
        # A copy: the next round donates, and so deletes, the arrays of this state.
        params = jax.tree.map(lambda x: x.copy(), self._state.params)
        return make_player(self._config, self._learner.graphdef, params)


def summarize(play: list[PlayStatistics], rounds: list[Report]) -> dict[str, float]:
    """Metrics of a stretch of training: sums over the games that ended in it, means of the rest.

    Scores, lengths and tiles are of games from normal starts alone: the others are shorter, and begin with large tiles.
    """
    games = float(sum(p.games for p in play))
    reached = np.sum([p.reached for p in play], axis=0)
    metrics = {
        "train/games": games,
        "train/normal_start_share": _mean(p.normal for p in play),
        "search/target_entropy": _mean(p.target_entropy for p in play),
        "search/q_range": _mean(p.q_range for p in play),
        "search/late_positions": _mean(p.late for p in play),
        "optimizer/gradient_norm": _mean(report.gradient_norm for report in rounds),
        **calibration_metrics(p.pairs for p in play),
    }
    if games:
        metrics |= {
            "train/score_mean": sum(float(p.score_sum) for p in play) / games,
            "train/score_max": float(max(p.score_max for p in play)),
            "train/moves_mean": sum(float(p.moves_sum) for p in play) / games,
            **{f"train/reach_{2**level}": reached[level] / games for level in (11, 13, 15)},
        }
    for name in LossReport._fields:
        group = "model" if name in MODEL_DIAGNOSTICS else "loss"
        metrics[f"{group}/{name}"] = _mean(getattr(report.loss, name) for report in rounds)
    return {name: float(value) for name, value in metrics.items()}


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
