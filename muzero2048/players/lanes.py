"""Many games at a time on the device: L lanes, each of which takes the next game when its own game is over.

Shapes: `L` lanes, `G` games.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.game.env import Board, BoardGame, where
from muzero2048.game.packed_lines import mix
from muzero2048.training.calibration import Mark, follow, init_mark

MOVES_A_CALL = 64  # moves of every lane in one call to the device
MARK_STREAM = np.uint32(0x4D61726B)  # a stream of its own: the search draws from the same seeds

# (boards of the lanes, a seed of random numbers for each) -> legal actions, and their values in points
Policy = Callable[[Board, UInt32[Array, "L"]], tuple[Int[Array, "L"], Float[Array, "L"]]]


class Results(NamedTuple):
    """Results of the games; 0 for games that are not finished."""

    score: Int[Array, "G"]
    max_level: Int[Array, "G"]
    moves: Int[Array, "G"]
    marked_value: Float[Array, "G"]  # at one random position of each game
    marked_gain: Float[Array, "G"]  # discounted points from there to the end of the game


class Lanes(NamedTuple):
    """L games in progress."""

    board: Board  # words of [L]
    game: Int[Array, "L"]  # number of the game in the lane; G or more: the lane is idle
    score: Int[Array, "L"]
    moves: Int[Array, "L"]
    mark: Mark
    next_game: Int[Array, ""]
    results: Results


def open_lanes(game: BoardGame, num_lanes: int, num_games: int, seed: UInt32[Array, ""]) -> Lanes:
    """Start the first games, one in each lane.

    There are at most as many lanes as games.
    """
    zeros, blank = jnp.zeros((num_lanes,), jnp.int32), jnp.zeros((num_games,), jnp.int32)
    results = Results(blank, blank, blank, jnp.zeros((num_games,)), jnp.zeros((num_games,)))
    lanes = Lanes(
        game.empty((num_lanes,)), zeros, zeros, zeros, init_mark(num_lanes), jnp.zeros((), jnp.int32), results
    )
    return _take_next(game, lanes, jnp.ones((num_lanes,), bool), seed)


def play_lanes(game: BoardGame, policy: Policy, lanes: Lanes, seed: UInt32[Array, ""], discount: float) -> Lanes:
    """Make MOVES_A_CALL moves in every lane; the discount is that of the returns from the marked positions."""
    return jax.lax.fori_loop(0, MOVES_A_CALL, lambda _, lanes: _move(game, policy, lanes, seed, discount), lanes)


def _move(game: BoardGame, policy: Policy, lanes: Lanes, seed: UInt32[Array, ""], discount: float) -> Lanes:
    moves = lanes.moves + 1
    spawn_bits, search_seeds = _random_bits(seed, lanes.game, moves)
    action, value = policy(lanes.board, search_seeds)
    after, reward = game.afterstate(lanes.board, action)
    board, code = game.spawn_from_bits(spawn_bits, after)
    reward = reward + game.placed_points(code)
    score, over = lanes.score + reward, game.is_over(board)
    mark = follow(lanes.mark, mix(search_seeds + MARK_STREAM), moves, value, reward, discount)
    finished = jnp.where(over, lanes.game, len(lanes.results.score))  # writes to numbers from G on are dropped
    level = game.to_cells(board).max(axis=(-2, -1)).astype(jnp.int32)
    ended = Results(score, level, moves, mark.value, mark.gain)
    results = jax.tree.map(lambda all_games, x: all_games.at[finished].set(x, mode="drop"), lanes.results, ended)
    return _take_next(
        game, lanes._replace(board=board, score=score, moves=moves, mark=mark, results=results), over, seed
    )


def _take_next(game: BoardGame, lanes: Lanes, free: Bool[Array, "L"], seed: UInt32[Array, ""]) -> Lanes:
    """Give the free lanes the next games in order."""
    number = jnp.where(free, lanes.next_game + jnp.cumsum(free) - 1, lanes.game)
    moves = jnp.where(free, 0, lanes.moves)
    opening = game.init_from_bits(_random_bits(seed, number, moves)[0])
    return lanes._replace(
        board=where(free, opening, lanes.board),
        game=number,
        score=jnp.where(free, game.opening_points(opening), lanes.score),
        moves=moves,
        next_game=lanes.next_game + free.sum(),
    )


def _random_bits(seed: UInt32[Array, ""], number: Int[Array, "L"], move: Int[Array, "L"]) -> UInt32[Array, "2 L"]:
    """Draw twice for this move of this game, whatever lane it is in: once for the spawn, once for the search."""

    def draw(number: Array, move: Array) -> Array:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), move)
        return jax.random.bits(key, (2,), jnp.uint32)

    return jax.vmap(draw, out_axes=1)(number, move)
