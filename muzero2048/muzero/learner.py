"""The MuZero learner in the form that launch drives: rounds of play and updates, metrics, checkpoints, players."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax

from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.diagnosis.by_depth import errors_in_training
from muzero2048.muzero.diagnosis.one_move import measure
from muzero2048.muzero.learner_state import MuZeroState, acting_params, beginning_with, with_acting_params
from muzero2048.muzero.network_player import make_player
from muzero2048.muzero.selfplay import add_play
from muzero2048.muzero.train_step import MuZeroReport, UpdateReport, make_learner
from muzero2048.players.search_player import SearchPlayer
from muzero2048.training.base_learner import DeviceLearner, state_memory
from muzero2048.training.devices import local_copy
from muzero2048.training.game_metrics import game_metrics
from ntuple.core.games.definition import Game


class MuZeroLearner(DeviceLearner):
    """Trains one MuZero agent; on one device it resumes to the bit."""

    def __init__(self, config: MuZeroConfig, seed: int):
        self._learner = make_learner(config)
        super().__init__(config, self._learner.init(seed))
        self._config: MuZeroConfig = config

    @staticmethod
    def memory(config: MuZeroConfig) -> dict[str, int]:
        """Compute the bytes of the training state on a device, by part."""
        return state_memory(config, make_learner(config).shapes(), jax.device_count())

    def advance(self, tick: Callable[[int], bool] = lambda moves: False) -> dict[str, float]:
        """Train until the next multiple of `report_env_steps`.

        `tick` is called every 1 to 2 s with the moves made so far; True ends the report there. With several processes
        its result is ignored. The metrics of the model (muzero/diagnosis/one_move.py) are computed only if `tick` did
        not end the report.
        """
        config = self._config
        began = time.perf_counter()
        env_steps = int(self._progress[0])
        filling = 0 if env_steps else config.filling_chunks
        rounds = max(1, -(-self._moves_to_report(filling * config.chunk_moves) // config.chunk_moves))
        report = self._learner.empty()
        for chunk in range(filling):
            self._state, filled = jax.block_until_ready(self._learner.fill(self._state))
            report = report._replace(play=add_play(report.play, filled))
            if chunk + 1 < filling:
                tick((chunk + 1) * config.chunk_moves)  # a stop waits for the first updates
        finished, report = self._call_device(
            rounds, self._learner.rounds, report, lambda finished: tick((finished + filling) * config.chunk_moves)
        )
        chunks = finished + filling
        metrics = summarize(jax.device_get(report), chunks, finished, self._config.rules)
        if finished == rounds:
            metrics |= measure(config, self._learner.graphdef, acting_params(self._state), self._state.replay)
        return self._report(metrics, chunks, finished, time.perf_counter() - began)

    def _acting(self, state: MuZeroState) -> Any:
        return acting_params(state)

    def _with_acting(self, state: MuZeroState, params: Any) -> MuZeroState:
        return with_acting_params(state, params)

    def _beginning_with(self, state: MuZeroState, params: Any) -> MuZeroState:
        return beginning_with(state, params)

    def player(self) -> SearchPlayer:
        """Return a player with the current parameters, on the first device of this process."""
        return self._player(self._config)

    def probes(self) -> dict[str, SearchPlayer]:
        """Return the player of the swap test: the current parameters, with the simulator as the search's model."""
        if self._config.search.model == "simulator":
            return {}
        return {"swap": self._player(replace(self._config, search=replace(self._config.search, model="simulator")))}

    def diagnose(self) -> dict[str, float]:
        """Measure the learned model by depth, on boards of the buffer (muzero/diagnosis/depth_errors.py)."""
        if self._config.search.model == "simulator":
            return {}
        params = local_copy(acting_params(self._state))
        return errors_in_training(self._config, self._learner.graphdef, params, self._state.replay)

    def _player(self, config: MuZeroConfig) -> SearchPlayer:
        # Copied because the next round donates, and so deletes, the arrays of this state.
        params = local_copy(acting_params(self._state))
        return make_player(config, self._learner.graphdef, params)


def summarize(report: MuZeroReport, chunks: int, rounds: int, rules: Game) -> dict[str, float]:
    """Compute the metrics of a period of training.

    `rounds` is less than `chunks` if the period began with filling the buffer.
    """
    play = report.play
    update: UpdateReport = jax.tree.map(lambda x: x / rounds, report.update)
    metrics: dict[str, Any] = {
        **game_metrics(play.ended, rules),
        "search/target_entropy": play.target_entropy / chunks,
        "search/q_range": play.q_range / chunks,
        "search/late_positions": play.late / chunks,
        "replay/age": update.age,
        "optimizer/gradient_norm": update.gradient_norm,
        **{f"optimizer/gradient_norm_{part}": norm for part, norm in update.part_norms.items()},
        "loss/total": update.loss.total,
        **{f"loss/{name}": value for name, value in update.loss.losses.items()},
        **{f"model/{name}": value for name, value in update.loss.diagnostics.items()},
    }
    return {name: float(value) for name, value in metrics.items()}
