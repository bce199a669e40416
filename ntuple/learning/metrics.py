"""Metrics of a report, computed from what the threads counted (launch/experiment/metrics.py has their units)."""

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import GOALS_IN_TRAINING
from ntuple.learning.config import NTupleConfig
from ntuple.td.kernel import (
    ENDED,
    ERROR_SUM,
    GAMES,
    MOVES_SUM,
    REACHED,
    SCORE_MAX,
    SCORE_SUM,
    UPDATES,
    WHOLE_GAMES,
)


def report_metrics(
    counts: NDArray[np.float64],
    num_moves: int,
    seconds: float,
    learning_rate: float,
    is_adaptive: bool,
    config: NTupleConfig,
) -> dict[str, float]:
    """Return the metrics of a report.

    Returns:
        Values by the name of the metric. Scores and tiles are those of finished games that began normally; they
        are left out if there is none. The mean error is not finite if the network diverged.
    """
    total, goals = counts.sum(axis=0), config.rules_of_game.goals
    metrics = {
        "td/error_abs_mean": total[ERROR_SUM] / max(total[UPDATES], 1),
        "td/learning_rate": learning_rate,
        "td/coherence": float(is_adaptive and config.step_size.adaptive == "tc"),
        "perf/moves_per_second": num_moves / seconds,
        "perf/updates_per_second": total[UPDATES] / seconds,
        "train/games": total[WHOLE_GAMES],
    }
    if games := total[WHOLE_GAMES]:
        metrics |= {
            "train/score_mean": total[SCORE_SUM] / games,
            "train/score_max": np.max(counts[:, SCORE_MAX]),
            "train/moves_mean": total[MOVES_SUM] / games,
            **{f"train/reach_{goals[k]}": total[REACHED + i] / games for i, k in enumerate(GOALS_IN_TRAINING)},
        }
    if config.start.until and (games := total[GAMES] - total[WHOLE_GAMES]):
        metrics["train/until_share"] = total[ENDED] / games
    return {name: float(value) for name, value in metrics.items()}
