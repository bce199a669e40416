"""Statistics of finished games: the summary, its metrics, and the printed block.

Shapes: `G` games.
"""

from typing import NamedTuple

import numpy as np

from launch.arguments import checked
from launch.evaluation.intervals import student
from launch.experiment.metrics import Row
from ntuple.core.interfaces import Games


class Summary(NamedTuple):
    """Statistics of G games. Scores are in points; `reach[tile]` is the fraction of games with max_tile >= tile."""

    games: int
    score_mean: float
    score_low: float  # low and high: 95% interval of the mean
    score_high: float
    score_median: float
    score_max: int
    moves_mean: float
    reach: dict[int, float]
    moves_per_second: float
    seconds: float

    def metrics(self) -> Row:
        """Return the summary as the metrics eval/*."""
        scalars = {name: value for name, value in self._asdict().items() if name not in ("reach", "seconds")}
        rates = {f"reach_{tile}": rate for tile, rate in self.reach.items()}
        return {f"eval/{name}": value for name, value in (scalars | rates).items()}


@checked
def summarize(games: Games) -> Summary:
    """Summarize two or more games.

    The interval of the mean is `student`'s. It assumes a normal mean: scores are skewed, but the mean of some dozens of
    games is close to normal.
    """
    mean, low, high = student(games.score)
    return Summary(
        games=len(games.score),
        score_mean=mean,
        score_low=low,
        score_high=high,
        score_median=float(np.median(games.score)),
        score_max=int(games.score.max()),
        moves_mean=float(games.moves.mean()),
        reach={tile: float((games.max_tile >= tile).mean()) for tile in games.goals},
        moves_per_second=int(games.moves.sum()) / games.seconds,
        seconds=games.seconds,
    )


def value_metrics(games: Games) -> Row:
    """Compare value and return at one random position of each game, as the metrics eval/value_*; nothing without them.

    The correlation is left out if one of the two is constant.
    """
    if games.marks is None:
        return {}
    value, gain = games.marks
    metrics = {"eval/value_bias": float((value - gain).mean()), "eval/value_return_mean": float(gain.mean())}
    if value.std() > 0 and gain.std() > 0:
        metrics["eval/value_correlation"] = float(np.corrcoef(value, gain)[0, 1])
    return metrics


SCORE_BINS = 8  # of a histogram, for each doubling of the score


def histograms(games: Games) -> dict[str, dict[str, int]]:
    """Count games by score ("score_bins") and by largest tile ("max_tiles"). Keys are texts, as in JSON.

    Bin k of the scores holds 2^(k / SCORE_BINS) <= score < 2^((k + 1) / SCORE_BINS), and bin 0 a score of 0 too. All
    evaluations have the same bins, so that their counts can be added.
    """
    bins = np.floor(SCORE_BINS * np.log2(np.maximum(games.score, 1))).astype(np.int64)
    return {
        name: {str(value): int(count) for value, count in zip(*np.unique(values, return_counts=True), strict=True)}
        for name, values in (("score_bins", bins), ("max_tiles", games.max_tile))
    }


class Ended(NamedTuple):
    """The games that ended with one largest tile."""

    tile: int
    games: int
    score: float  # mean
    moves: float  # mean
    win: float  # fraction of all games that ended with this tile or a larger one


def by_tile(games: Games) -> list[Ended]:
    """Return the games by their largest tile, the smallest first."""
    rows = []
    for tile in np.unique(games.max_tile).tolist():
        ended = games.max_tile == tile
        score, moves = float(games.score[ended].mean()), float(games.moves[ended].mean())
        rows.append(Ended(tile, int(ended.sum()), score, moves, float((games.max_tile >= tile).mean())))
    return rows


def statistics_block(games: Games) -> str:
    """Return the summary block in the format of TDL2048+ (moporgic/TDL2048, README, "Summary Block").

    The block has one row for each largest tile: count, score (mean), move (mean number) and rate of the games that
    ended with this largest tile; win is the rate of games that ended with this tile or a larger one. In the row
    "total", win is the rate for 2048, in another game for the first of `Game.goals`.
    """
    summary = summarize(games)
    total = f"avg={summary.score_mean:.0f} max={summary.score_max} tile={games.max_tile.max()}"
    lines = [
        f"summary {1000 * games.seconds:.0f}ms {summary.moves_per_second:.2f}ops",
        f"total:  {total} win={summary.reach[games.goals[0]]:.2%}",
        f"{'tile':<8}{'count':>6}{'score':>8}{'move':>8}{'rate':>9}{'win':>9}",
    ]
    for tile, count, score, moves, win in by_tile(games):
        lines.append(f"{tile:<8}{count:>6}{score:>8.0f}{moves:>8.0f}{count / summary.games:>9.2%}{win:>9.2%}")
    return "\n".join(lines)


def summary_line(summary: Summary) -> str:
    """Return one line with the figures that the block lacks: the interval and the median."""
    interval = f"95% interval {summary.score_low:,.0f} to {summary.score_high:,.0f}"
    return (
        f"mean {summary.score_mean:,.0f} ({interval}), median {summary.score_median:,.0f},"
        f" {summary.games:,} games, {summary.moves_per_second:,.0f} moves/s"
    )
