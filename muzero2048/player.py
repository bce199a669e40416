"""MuZero playing whole games: lanes side by side on the device, each taking the next game when its own is over."""

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Int, UInt32

from muzero2048.checkpoint import PARAMETERS, load_pytree
from muzero2048.config import MuZeroConfig
from muzero2048.env import Board, Game2048, where
from muzero2048.model import Model, make_model
from muzero2048.selfplay import search_move

LANES = 512  # games side by side
MOVES_A_CALL = 64  # moves of every lane in one call to the device


class Games(NamedTuple):
    """Finished games, in the order of their numbers."""

    score: np.ndarray  # int64[G]
    max_tile: np.ndarray  # int64[G], the tile itself, e.g. 2048
    moves: np.ndarray  # int64[G]
    seconds: float  # wall time of playing, without compiling


class Results(NamedTuple):
    """Games finished so far, on the device."""

    score: Int[Array, "G"]
    max_level: Int[Array, "G"]
    moves: Int[Array, "G"]


class Lanes(NamedTuple):
    """L games in progress."""

    board: Board  # words of [L]
    game: Int[Array, "L"]  # number of the game in the lane; G or more: none is left
    score: Int[Array, "L"]
    moves: Int[Array, "L"]
    next_game: Int[Array, ""]
    results: Results


class Program(NamedTuple):
    """Compiled play of a number of games."""

    open: Callable[[Array], Lanes]  # of a seed: every lane at the start of its first game
    play: Callable[[Lanes, Any, Array], Lanes]  # (lanes, params, seed): MOVES_A_CALL moves further


class MuZeroPlayer:
    """Plays with fixed parameters, without noise at the root, from normal starts."""

    def __init__(self, config: MuZeroConfig, graphdef: nnx.GraphDef[Any], params: Any):
        self._compile = _make_play(config, graphdef)
        self._params = params

    def play(self, num_games: int, seed: int) -> Games:
        """Play `num_games` games.

        The random numbers of game i come from (seed, i) alone. Its result can still depend on the number of lanes
        where two moves tie within float32 rounding, since matrix products of another batch size round otherwise.
        """
        program = self._compile(num_games)
        began = time.perf_counter()
        seed_word = jnp.asarray(seed, jnp.uint32)
        lanes = program.open(seed_word)
        # Back in Python every MOVES_A_CALL moves: only there can a signal be heard.
        while bool((lanes.game < num_games).any()):
            lanes = program.play(lanes, self._params, seed_word)
        results = jax.device_get(lanes.results)
        return Games(
            score=results.score.astype(np.int64),
            max_tile=1 << results.max_level.astype(np.int64),
            moves=results.moves.astype(np.int64),
            seconds=time.perf_counter() - began,
        )


def load_player(folder: Path, config: MuZeroConfig) -> MuZeroPlayer:
    """The player of a checkpoint folder; reads the parameters alone.

    Raises:
        ValueError: the parameters are damaged or belong to another network.
    """
    graphdef, like = nnx.split(nnx.eval_shape(lambda: make_model(config, seed=0)))
    return MuZeroPlayer(config, graphdef, load_pytree(folder / PARAMETERS, like))


@functools.cache
def _make_play(config: MuZeroConfig, graphdef: nnx.GraphDef[Any]) -> Callable[[int], Program]:
    """Number of games -> compiled program."""
    game = Game2048(config.rows, config.columns)

    def random_bits(seed: UInt32[Array, ""], number: Int[Array, "L"], move: Int[Array, "L"]) -> UInt32[Array, "L"]:
        """The draw for this move of this game, whatever lane it is in."""

        def draw(number: Array, move: Array) -> Array:
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), move)
            return jax.random.bits(key, (), jnp.uint32)

        return jax.vmap(draw)(number, move)

    def take_next(lanes: Lanes, free: Bool[Array, "L"], seed: UInt32[Array, ""]) -> Lanes:
        """Give the free lanes the next games in order."""
        number = jnp.where(free, lanes.next_game + jnp.cumsum(free) - 1, lanes.game)
        moves = jnp.where(free, 0, lanes.moves)
        opening = game.init_from_bits(random_bits(seed, number, moves))
        return lanes._replace(
            board=where(free, opening, lanes.board),
            game=number,
            score=jnp.where(free, 0, lanes.score),
            moves=moves,
            next_game=lanes.next_game + free.sum(),
        )

    def move(num_games: int, lanes: Lanes, model: Model, seed: UInt32[Array, ""]) -> Lanes:
        plan = search_move(model, jax.random.key(seed), game, lanes.board, config, gumbel_scale=0.0)
        after, reward = game.afterstate(lanes.board, plan.action)
        moves = lanes.moves + 1
        board, _ = game.spawn_from_bits(random_bits(seed, lanes.game, moves), after)
        score, over = lanes.score + reward, game.is_over(board)
        finished = jnp.where(over, lanes.game, num_games)  # rows beyond the results are dropped
        level = game.to_cells(board).max(axis=(-2, -1)).astype(jnp.int32)
        results = Results(
            score=lanes.results.score.at[finished].set(score, mode="drop"),
            max_level=lanes.results.max_level.at[finished].set(level, mode="drop"),
            moves=lanes.results.moves.at[finished].set(moves, mode="drop"),
        )
        return take_next(lanes._replace(board=board, score=score, moves=moves, results=results), over, seed)

    def open_lanes(num_games: int, seed: UInt32[Array, ""]) -> Lanes:
        num_lanes = min(LANES, num_games)
        zeros, blank = jnp.zeros((num_lanes,), jnp.int32), jnp.zeros((num_games,), jnp.int32)
        results = Results(blank, blank, blank)
        lanes = Lanes(game.empty((num_lanes,)), zeros, zeros, zeros, jnp.zeros((), jnp.int32), results)
        return take_next(lanes, jnp.ones((num_lanes,), bool), seed)

    def play(num_games: int, lanes: Lanes, params: Any, seed: UInt32[Array, ""]) -> Lanes:
        model = nnx.merge(graphdef, params)
        return jax.lax.fori_loop(0, MOVES_A_CALL, lambda _, lanes: move(num_games, lanes, model, seed), lanes)

    @functools.cache
    def compile_for(num_games: int) -> Program:
        params = nnx.state(nnx.eval_shape(lambda: make_model(config, seed=0)), nnx.Param)
        seed = jax.ShapeDtypeStruct((), jnp.uint32)
        opening = jax.jit(functools.partial(open_lanes, num_games)).lower(seed)
        playing = jax.jit(functools.partial(play, num_games)).lower(opening.out_info, params, seed)
        return Program(opening.compile(), playing.compile())

    return compile_for
