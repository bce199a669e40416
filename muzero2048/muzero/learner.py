"""The MuZero learner as launch drives it: rounds of play and updates, metrics, checkpoints, a player."""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax

from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.diagnostics import measure
from muzero2048.muzero.selfplay import GameStatistics
from muzero2048.muzero.train_step import (
    LearnerState,
    Report,
    UpdateReport,
    acting_params,
    make_learner,
    with_acting_params,
)
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.players.player import SearchPlayer, make_player
from muzero2048.training.base_learner import DeviceLearner, state_memory
from muzero2048.training.calibration import calibration_metrics
from muzero2048.training.devices import local_copy

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

    @staticmethod
    def memory(config: MuZeroConfig) -> dict[str, int]:
        """Bytes of the training state on a device, by its parts."""
        return state_memory(config, make_learner(config).shapes(), jax.device_count())

    def advance(self, tick: Callable[[int], bool] = lambda moves: False) -> dict[str, float]:
        """Rounds until the next multiple of `report_env_steps`.

        Args:
            tick: called every 1 to 2 s with the moves made so far; if it returns True, the report ends there. Ignored
                by a process that is not alone.

        Returns:
            Metrics since the last report; what the model knows (muzero/diagnostics.py) only at the end of a whole one.
        """
        config = self._config
        began = time.perf_counter()
        env_steps = int(self._progress[0])
        filling = env_steps == 0  # the buffer needs a chunk of play before the first update
        rounds = max(1, -(-(self._next_report() - env_steps) // config.chunk_moves) - filling)
        report = self._learner.empty()
        if filling:
            self._state, filled = self._learner.fill(self._state)
            report = report._replace(play=filled)
        made, report = self._call_device(
            rounds, self._learner.rounds, report, lambda made: tick((made + filling) * config.chunk_moves)
        )
        chunks = made + filling
        metrics = summarize(jax.device_get(report), chunks, made)
        if made == rounds:
            metrics |= measure(config, self._learner.graphdef, acting_params(self._state), self._state.replay)
        warn_of_saturation(metrics["model/saturated"], config.value)
        moves, updates = chunks * config.chunk_moves, made * config.updates_per_chunk
        return metrics | self._count(moves, metrics["train/games"], updates, time.perf_counter() - began)

    def _acting(self, state: LearnerState) -> Any:
        return acting_params(state)

    def _with_acting(self, state: LearnerState, params: Any) -> LearnerState:
        return with_acting_params(state, params)

    def player(self) -> SearchPlayer:
        """Plays with the parameters of now, on the first device of this process."""
        return self._player(self._config)

    def probes(self) -> dict[str, SearchPlayer]:
        """The swap test: the parameters of now, with the simulator in place of the learned model."""
        if self._config.search.model == "simulator":
            return {}
        return {"swap": self._player(replace(self._config, search=replace(self._config.search, model="simulator")))}

    def _player(self, config: MuZeroConfig) -> SearchPlayer:
        # A copy: the next round donates, and so deletes, the arrays of this state.
        params = local_copy(acting_params(self._state))
        return make_player(config, self._learner.graphdef, params)


def warn_of_saturation(share: float, value: ValueCodec) -> None:
    """Say it once: Python shows a warning of the same words and place a single time."""
    if share > SATURATION_WARNING:
        warnings.warn(
            f"more than {SATURATION_WARNING:.1%} of the value targets lie beyond the support (metric "
            f"model/saturated): raise value.h_max, now {value.h_max:g}",
            stacklevel=3,
        )


def summarize(report: Report, chunks: int, rounds: int) -> dict[str, float]:
    """Metrics of a stretch of training: of the games that ended in it, and means of the rest.

    Args:
        report: sums over the stretch.
        chunks: that were played.
        rounds: of updates; one less than chunks where the buffer was filled first.
    """
    play = report.play
    update: UpdateReport = jax.tree.map(lambda x: x / rounds, report.update)
    metrics: dict[str, Any] = {
        **game_metrics(play.ended, chunks),
        "search/target_entropy": play.target_entropy / chunks,
        "search/q_range": play.q_range / chunks,
        "search/late_positions": play.late / chunks,
        "replay/age": update.age,
        "optimizer/gradient_norm": update.gradient_norm,
        **{f"optimizer/gradient_norm_{part}": norm for part, norm in update.part_norms.items()},
    }
    for name, value in update.loss._asdict().items():
        group = "model" if name in MODEL_DIAGNOSTICS else "loss"
        metrics[f"{group}/{name}"] = value
    return {name: float(value) for name, value in metrics.items()}


def game_metrics(ended: GameStatistics, chunks: int) -> dict[str, float]:
    """Metrics of the games of so many chunks; of no game there is nothing but their number.

    Scores, lengths and tiles are of games from normal starts alone: the others are shorter, and begin with large tiles.
    """
    games = float(ended.games)
    metrics = {
        "train/games": games,
        "train/normal_start_share": float(ended.normal) / chunks,
        **calibration_metrics(ended.pairs),
    }
    if games:
        metrics |= {
            "train/score_mean": float(ended.score_sum) / games,
            "train/score_max": float(ended.score_max),
            "train/moves_mean": float(ended.moves_sum) / games,
            **{f"train/reach_{2**level}": float(ended.reached[level]) / games for level in (11, 13, 15)},
        }
    return metrics
