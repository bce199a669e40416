"""Many games at a time on the device: L lanes, each of which takes the next game when its own game is over.

Shapes: `L` lanes, `G` games.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from muzero2048.game.env import Board, Game2048, where

MOVES_A_CALL = 64  # moves of every lane in one call to the device

# (boards of the lanes, a seed of random numbers for each) -> legal actions
Policy = Callable[[Board, UInt32[Array, "L"]], Int[Array, "L"]]


class Results(NamedTuple):
    """Results of the games; 0 for games that are not finished."""

    score: Int[Array, "G"]
    max_level: Int[Array, "G"]
    moves: Int[Array, "G"]


class Lanes(NamedTuple):
    """L games in progress."""

    board: Board  # words of [L]
    game: Int[Array, "L"]  # number of the game in the lane; G or more: the lane is idle
    score: Int[Array, "L"]
    moves: Int[Array, "L"]
    next_game: Int[Array, ""]
    results: Results


def open_lanes(game: Game2048, num_lanes: int, num_games: int, seed: UInt32[Array, ""]) -> Lanes:
    """Start the first games, one in each lane.

    There are at most as many lanes as games.
    """
    zeros, blank = jnp.zeros((num_lanes,), jnp.int32), jnp.zeros((num_games,), jnp.int32)
    results = Results(blank, blank, blank)
    lanes = Lanes(game.empty((num_lanes,)), zeros, zeros, zeros, jnp.zeros((), jnp.int32), results)
    return _take_next(game, lanes, jnp.ones((num_lanes,), bool), seed)


def play_lanes(game: Game2048, policy: Policy, lanes: Lanes, seed: UInt32[Array, ""]) -> Lanes:
    """Make MOVES_A_CALL moves in every lane."""
    return jax.lax.fori_loop(0, MOVES_A_CALL, lambda _, lanes: _move(game, policy, lanes, seed), lanes)


def _move(game: Game2048, policy: Policy, lanes: Lanes, seed: UInt32[Array, ""]) -> Lanes:
    moves = lanes.moves + 1
    spawn_bits, search_seeds = _random_bits(seed, lanes.game, moves)
    after, reward = game.afterstate(lanes.board, policy(lanes.board, search_seeds))
    board, _ = game.spawn_from_bits(spawn_bits, after)
    score, over = lanes.score + reward, game.is_over(board)
    finished = jnp.where(over, lanes.game, len(lanes.results.score))  # writes to numbers from G on are dropped
    level = game.to_cells(board).max(axis=(-2, -1)).astype(jnp.int32)
    results = Results(
        score=lanes.results.score.at[finished].set(score, mode="drop"),
        max_level=lanes.results.max_level.at[finished].set(level, mode="drop"),
        moves=lanes.results.moves.at[finished].set(moves, mode="drop"),
    )
    return _take_next(game, lanes._replace(board=board, score=score, moves=moves, results=results), over, seed)


def _take_next(game: Game2048, lanes: Lanes, free: Bool[Array, "L"], seed: UInt32[Array, ""]) -> Lanes:
    """Give the free lanes the next games in order."""
    number = jnp.where(free, lanes.next_game + jnp.cumsum(free) - 1, lanes.game)
    moves = jnp.where(free, 0, lanes.moves)
    opening = game.init_from_bits(_random_bits(seed, number, moves)[0])
    return lanes._replace(
        board=where(free, opening, lanes.board),
        game=number,
        score=jnp.where(free, 0, lanes.score),
        moves=moves,
        next_game=lanes.next_game + free.sum(),
    )


def _random_bits(seed: UInt32[Array, ""], number: Int[Array, "L"], move: Int[Array, "L"]) -> UInt32[Array, "2 L"]:
    """Draw twice for this move of this game, whatever lane it is in: once for the spawn, once for the search."""

    def draw(number: Array, move: Array) -> Array:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), move)
        return jax.random.bits(key, (2,), jnp.uint32)

    return jax.vmap(draw, out_axes=1)(number, move)
