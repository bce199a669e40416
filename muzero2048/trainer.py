"""The MuZero learner as launch drives it: rounds of play and updates, metrics, checkpoints, a player."""

import time
import warnings
from collections.abc import Iterable

import jax
import numpy as np

from muzero2048.config import MuZeroConfig
from muzero2048.device_learner import DeviceLearner
from muzero2048.learner import Report, make_learner
from muzero2048.losses import LossReport
from muzero2048.player import SearchPlayer, make_player
from muzero2048.selfplay import GameStatistics, PlayStatistics
from muzero2048.value_codec import ValueCodec

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


class MuZeroLearner(DeviceLearner):
    """Trains one MuZero agent; on one device it resumes to the bit."""

    def __init__(self, config: MuZeroConfig, seed: int):
        self._learner = make_learner(config)
        super().__init__(config, self._learner.init(seed))
        self._config: MuZeroConfig = config

    def advance(self) -> dict[str, float]:
        """Rounds until the next multiple of `report_env_steps`; the device is asked for numbers only at the end."""
        config = self._config
        began = time.perf_counter()
        env_steps, target = int(self._progress[0]), self._next_report()
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
        warn_of_saturation(metrics["model/saturated"], config.value)
        moves, updates = len(play) * config.chunk_moves, len(rounds) * config.updates_per_chunk
        return metrics | self._count(moves, metrics["train/games"], updates, time.perf_counter() - began)

    def player(self) -> SearchPlayer:
        """Plays with the parameters of now."""
        # A copy: the next round donates, and so deletes, the arrays of this state.
        params = jax.tree.map(lambda x: x.copy(), self._state.params)
        return make_player(self._config, self._learner.graphdef, params)


def warn_of_saturation(share: float, value: ValueCodec) -> None:
    """Say it once: Python shows a warning of the same words and place a single time."""
    if share > SATURATION_WARNING:
        warnings.warn(
            f"more than {SATURATION_WARNING:.1%} of the value targets lie beyond the support (metric "
            f"model/saturated): raise value.h_max, now {value.h_max:g}",
            stacklevel=3,
        )


def summarize(play: list[PlayStatistics], rounds: list[Report]) -> dict[str, float]:
    """Metrics of a stretch of training: sums over the games that ended in it, means of the rest."""
    metrics = {
        **game_metrics([p.ended for p in play]),
        "search/target_entropy": _mean(p.target_entropy for p in play),
        "search/q_range": _mean(p.q_range for p in play),
        "search/late_positions": _mean(p.late for p in play),
        "optimizer/gradient_norm": _mean(report.gradient_norm for report in rounds),
    }
    for name in LossReport._fields:
        group = "model" if name in MODEL_DIAGNOSTICS else "loss"
        metrics[f"{group}/{name}"] = _mean(getattr(report.loss, name) for report in rounds)
    return {name: float(value) for name, value in metrics.items()}


def game_metrics(chunks: list[GameStatistics]) -> dict[str, float]:
    """Metrics of the games that ended in some chunks; of no game there is nothing but their number."""
    games = float(sum(chunk.games for chunk in chunks))
    if not games:
        return {"train/games": games}
    reached = np.sum([chunk.reached for chunk in chunks], axis=0)
    return {
        "train/games": games,
        "train/score_mean": sum(float(chunk.score_sum) for chunk in chunks) / games,
        "train/score_max": float(max(chunk.score_max for chunk in chunks)),
        "train/moves_mean": sum(float(chunk.moves_sum) for chunk in chunks) / games,
        **{f"train/reach_{2**level}": float(reached[level]) / games for level in (11, 13, 15)},
    }


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
