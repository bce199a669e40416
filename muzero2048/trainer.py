"""The MuZero learner as launch drives it: rounds of play and updates, metrics, checkpoints, a player."""

import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from muzero2048.calibration import calibration_metrics
from muzero2048.checkpoint import PARAMETERS, TRAINING, load_pytree, save_pytree
from muzero2048.config import MuZeroConfig
from muzero2048.diagnostics import measure
from muzero2048.learner import Report, acting_params, add_play, make_learner, with_acting_params
from muzero2048.player import SearchPlayer, make_player

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
        filling = env_steps == 0  # the buffer needs a chunk of play before the first update
        chunks = max(1 + filling, -(-(target - env_steps) // config.chunk_moves))
        rounds = chunks - filling
        if filling:
            self._state, filled = self._learner.fill(self._state)
        self._state, report = self._learner.rounds(self._state, rounds)
        if filling:
            report = report._replace(play=add_play(filled, report.play))
        metrics = summarize(jax.device_get(report), chunks)
        metrics |= measure(config, self._learner.graphdef, acting_params(self._state), self._state.replay)
        if metrics["model/saturated"] > SATURATION_WARNING:
            # Said once: Python shows a warning of the same words and place a single time.
            warnings.warn(
                f"more than {SATURATION_WARNING:.1%} of the value targets lie beyond the support (metric "
                f"model/saturated): raise value.h_max, now {config.value.h_max:g}",
                stacklevel=2,
            )
        seconds = time.perf_counter() - began
        updates = rounds * config.updates_per_chunk
        moves = chunks * config.chunk_moves
        self._progress += np.array([moves, int(metrics["train/games"]), updates])
        return {
            **metrics,
            "perf/moves_per_second": moves / seconds,
            "perf/updates_per_second": updates / seconds,
            "perf/samples_per_second": updates * config.replay.batch_size / seconds,
        }

    def save(self, folder: Path) -> None:
        """Write the parameters, and all else that training needs, into an empty folder."""
        save_pytree(folder / PARAMETERS, acting_params(self._state))
        save_pytree(folder / TRAINING, self._training())

    def restore(self, folder: Path) -> None:
        """Go on from `save`.

        Raises:
            ValueError: a part is damaged or was made with another config.
        """
        params = load_pytree(folder / PARAMETERS, acting_params(self._state))
        training = load_pytree(folder / TRAINING, self._training())
        self._state = with_acting_params(training["state"], params)
        self._progress = np.array(training["progress"]).view(np.int64)

    def _training(self) -> dict[str, Any]:
        """What is saved beside the parameters.

        The counts go as 32-bit words: JAX would cut int64, and runs are longer than 2^31 moves.
        """
        return {"progress": self._progress.view(np.uint32), "state": with_acting_params(self._state, None)}

    def player(self) -> SearchPlayer:
        """Plays with the parameters of now, on the first device."""
        return self._player(self._config)

    def probes(self) -> dict[str, SearchPlayer]:
        """The swap test: the parameters of now, with the simulator in place of the learned model."""
        if self._config.search.model == "simulator":
            return {}
        return {"swap": self._player(replace(self._config, search=replace(self._config.search, model="simulator")))}

    def _player(self, config: MuZeroConfig) -> SearchPlayer:
        # A copy: the next round donates, and so deletes, the arrays of this state.
        params = jax.device_put(acting_params(self._state), jax.devices()[0], may_alias=False)
        return make_player(config, self._learner.graphdef, params)


def summarize(report: Report, chunks: int) -> dict[str, float]:
    """Metrics of a stretch of training of so many chunks: sums over the games that ended in it, means of the rest.

    Scores, lengths and tiles are of games from normal starts alone: the others are shorter, and begin with large tiles.
    """
    play, update = report
    games = float(play.games)
    metrics: dict[str, Any] = {
        "train/games": games,
        "search/target_entropy": play.target_entropy / chunks,
        "search/q_range": play.q_range / chunks,
        "search/late_positions": play.late / chunks,
        "train/normal_start_share": play.normal / chunks,
        **calibration_metrics(play.pairs),
        "replay/age": update.age,
        "optimizer/gradient_norm": update.gradient_norm,
        **{f"optimizer/gradient_norm_{part}": norm for part, norm in update.part_norms.items()},
    }
    if games:
        metrics |= {
            "train/score_mean": play.score_sum / games,
            "train/score_max": play.score_max,
            "train/moves_mean": play.moves_sum / games,
            **{f"train/reach_{2**level}": play.reached[level] / games for level in (11, 13, 15)},
        }
    for name, value in update.loss._asdict().items():
        group = "model" if name in MODEL_DIAGNOSTICS else "loss"
        metrics[f"{group}/{name}"] = value
    return {name: float(value) for name, value in metrics.items()}
