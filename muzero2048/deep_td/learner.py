"""The learner of TD-afterstate and Q-learning in the form that launch drives."""

import time
from collections.abc import Callable

import jax

from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.deep_td.train_step import make_learner
from muzero2048.deep_td.value_player import make_player
from muzero2048.players.search_player import SearchPlayer
from muzero2048.training.base_learner import DeviceLearner, state_memory
from muzero2048.training.game_metrics import game_metrics


class DeepTDLearner(DeviceLearner):
    """Trains one value network; on one device it resumes to the bit."""

    def __init__(self, config: DeepTDConfig, seed: int):
        self._learner = make_learner(config)
        super().__init__(config, self._learner.init(seed))
        self._config: DeepTDConfig = config

    @staticmethod
    def memory(config: DeepTDConfig) -> dict[str, int]:
        """Compute the bytes of the training state on a device, by part."""
        return state_memory(config, jax.eval_shape(lambda: make_learner(config).init(0)))

    def advance(self, tick: Callable[[int], bool] = lambda moves: False) -> dict[str, float]:
        """Train until the next multiple of `report_env_steps`.

        `tick` is called every 1 to 2 s with the moves made so far; True ends the report there.
        """
        config = self._config
        began = time.perf_counter()
        rounds = -(-self._moves_to_report() // config.chunk_moves)
        rounds, report = self._call_device(
            rounds, self._learner.advance, self._learner.empty(), lambda finished: tick(finished * config.chunk_moves)
        )
        ended, loss, epsilon = jax.device_get(report)
        metrics = {
            **game_metrics(ended, self._config.rules),
            "loss/value": float(loss.value / rounds),
            "td/error_abs_mean": float(loss.error / rounds),
            "td/epsilon": float(epsilon / rounds),
            "model/saturated": float(loss.saturated / rounds),
            "replay/age": float(loss.age / rounds),
            "optimizer/gradient_norm": float(loss.gradient_norm / rounds),
        }
        return self._report(metrics, rounds, rounds, time.perf_counter() - began)

    def player(self) -> SearchPlayer:
        """Return a player with the current parameters."""
        # Copied because the next round donates, and so deletes, the arrays of this state.
        params = jax.tree.map(lambda x: x.copy(), self._state.params)
        return make_player(self._config, self._learner.graphdef, params)
