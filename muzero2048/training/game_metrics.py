"""Statistics of the games of self-play: summed on the device, turned into metrics on the host."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.training.actor import Outcome
from muzero2048.training.calibration import Pairs, add_pairs, calibration_metrics, count_pairs

REACH_LEVELS = 18  # levels 0..17: up to the largest tile that 4x4 cells can hold, 131072
REPORTED_LEVELS = (11, 13, 15)  # tiles 2048, 8192 and 32768


class GameStatistics(NamedTuple):
    """Sums over the games from normal starts that ended in a chunk. `normal` and `pairs` are of all games."""

    games: Int[Array, ""]
    score_sum: Float[Array, ""]
    score_max: Int[Array, ""]
    moves_sum: Float[Array, ""]
    reached: Int[Array, "levels"]  # games that ended with a largest tile of at least 2^level
    normal: Float[Array, ""]  # share of the chunk's positions that are in games from normal starts
    pairs: Pairs  # value and return of all games that ended


def game_statistics(done: Bool[Array, "T E"], outcome: Outcome) -> GameStatistics:
    """Compute the statistics of a chunk; `done` marks the moves that ended a game."""
    ended = done & outcome.normal
    levels = jnp.arange(REACH_LEVELS)
    return GameStatistics(
        games=ended.sum(),
        score_sum=jnp.sum(jnp.where(ended, outcome.score, 0).astype(jnp.float32)),
        score_max=jnp.max(jnp.where(ended, outcome.score, 0)),
        moves_sum=jnp.sum(jnp.where(ended, outcome.moves, 0).astype(jnp.float32)),
        reached=jnp.sum(ended[..., None] & (outcome.level[..., None] >= levels[None, None]), axis=(0, 1)),
        normal=outcome.normal.mean(),
        pairs=count_pairs(outcome.mark, done),
    )


def add_games(one: GameStatistics, other: GameStatistics) -> GameStatistics:
    """Add the statistics of two periods; `score_max` is the greater one, `normal` is the sum of the chunks' shares."""
    total = jax.tree.map(jnp.add, one, other)
    best = jnp.maximum(one.score_max, other.score_max)
    return total._replace(score_max=best, pairs=add_pairs(one.pairs, other.pairs))


def game_metrics(ended: GameStatistics, chunks: int) -> dict[str, float]:
    """Compute the metrics of the games of `chunks` chunks; without a game from a normal start, only their number.

    Scores, lengths and tiles are those of games from normal starts. Other games are shorter and begin with large tiles.
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
            **{f"train/reach_{2**level}": float(ended.reached[level]) / games for level in REPORTED_LEVELS},
        }
    return metrics
