"""Statistics of the games of self-play: summed on the device, turned into metrics on the host."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.training.actor import GameOutcome
from muzero2048.training.calibration import Pairs, add_pairs, calibration_metrics, count_pairs
from ntuple.core.games.definition import GOALS_IN_TRAINING, MOST_LEVELS, Game


class GameStatistics(NamedTuple):
    """Sums over the games that ended in a chunk."""

    games: Int[Array, ""]
    score_sum: Float[Array, ""]
    score_max: Int[Array, ""]
    moves_sum: Float[Array, ""]
    reached: Int[Array, "levels"]  # games that ended with a largest tile of at least this level
    pairs: Pairs  # value and return


def game_statistics(done: Bool[Array, "T E"], outcome: GameOutcome) -> GameStatistics:
    """Compute the statistics of a chunk; `done` marks the moves that ended a game."""
    levels = jnp.arange(MOST_LEVELS)
    return GameStatistics(
        games=done.sum(),
        score_sum=jnp.sum(jnp.where(done, outcome.score, 0).astype(jnp.float32)),
        score_max=jnp.max(jnp.where(done, outcome.score, 0)),
        moves_sum=jnp.sum(jnp.where(done, outcome.moves, 0).astype(jnp.float32)),
        reached=jnp.sum(done[..., None] & (outcome.level[..., None] >= levels[None, None]), axis=(0, 1)),
        pairs=count_pairs(outcome.mark, done),
    )


def add_games(first: GameStatistics, second: GameStatistics) -> GameStatistics:
    """Add the statistics of two periods; `score_max` is the greater one."""
    total = jax.tree.map(jnp.add, first, second)
    best = jnp.maximum(first.score_max, second.score_max)
    return total._replace(score_max=best, pairs=add_pairs(first.pairs, second.pairs))


def game_metrics(ended: GameStatistics, rules: Game) -> dict[str, float]:
    """Compute the metrics of the games of these rules; without a game, only their number."""
    games = float(ended.games)
    metrics = {"train/games": games, **calibration_metrics(ended.pairs)}
    if games:
        metrics |= {
            "train/score_mean": float(ended.score_sum) / games,
            "train/score_max": float(ended.score_max),
            "train/moves_mean": float(ended.moves_sum) / games,
            **{
                f"train/reach_{tile}": float(ended.reached[rules.tiles.index(tile)]) / games
                for tile in (rules.goals[k] for k in GOALS_IN_TRAINING)
            },
        }
    return metrics
