"""Players by search: lanes of games side by side on the device, each taking the next game when its own is over."""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Int, UInt32

from muzero2048.game.env import Board, Game2048, where
from muzero2048.models.make import make_model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.selfplay import search_move
from muzero2048.players.analysis import Analyse, Judge, Judgement, make_analyse
from muzero2048.search.base import Dynamics
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import make_dynamics
from muzero2048.training.array_files import PARAMETERS, load_pytree
from ntuple.game.interfaces import Analysis, Games

LANES = 512  # games side by side
TREE_NODES = 2**21  # most nodes of their trees together: 0.5 to 3 GB, which bounds the lanes of large searches
MOVES_A_CALL = 64  # moves of every lane in one call to the device


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


Params = Any  # pytree of arrays that a player's dynamics read


# (boards of the lanes, a seed of random numbers for each) -> legal actions
Policy = Callable[[Board, UInt32[Array, "L"]], Int[Array, "L"]]


@dataclass(frozen=True)
class Setting:
    """What a player plays with, but for its parameters; hashable, so that equal ones share a compiled program."""

    effort_unit: ClassVar[str]  # of its judgement
    game: Game2048

    @property
    def lanes(self) -> int:
        """Boards side by side, at most."""
        return LANES

    def judge(self, params: Params) -> Judge:
        """How it judges the four moves, and chooses."""
        raise NotImplementedError

    def policy(self, params: Params) -> Policy:
        """How it chooses; the compiler leaves out what only the judgement needs."""
        judge = self.judge(params)
        return lambda board, seeds: judge(board, seeds).action


@dataclass(frozen=True)
class SearchSetting(Setting):
    """Tree search, without noise at the root."""

    effort_unit = "visits"
    search: SearchConfig
    discount: float  # gamma, once a move

    @property
    def lanes(self) -> int:
        """Boards side by side whose trees have at most TREE_NODES nodes together, a power of 2."""
        most = max(1, TREE_NODES // self.search.simulations)
        return min(LANES, 1 << (most.bit_length() - 1))

    def judge(self, params: Params) -> Judge:
        """The action that the search finds, Q and visits of the root's actions; Q as the search counts rewards."""
        dynamics = self.dynamics(params)

        def judge(board: Board, seeds: UInt32[Array, "B"]) -> Judgement:
            _, plan = search_move(dynamics, self.game, board, seeds, None, self.search, self.discount)
            return Judgement(plan.action, jnp.where(plan.visits > 0, plan.q_values, jnp.nan), plan.visits)

        return judge

    def dynamics(self, params: Params) -> Dynamics:
        """The world that the search plans in."""
        raise NotImplementedError


@dataclass(frozen=True)
class NetworkSetting(SearchSetting):
    """A MuZero model: its learned dynamics, or the simulator with its values."""

    graphdef: nnx.GraphDef[Any]

    def dynamics(self, params: Params) -> Dynamics:
        """The world that the config of the search names."""
        return make_dynamics(nnx.merge(self.graphdef, params), self.game, self.search)


class SearchPlayer:
    """Plays with fixed parameters, without exploration, from normal starts."""

    plays_one_by_one = False

    def __init__(self, setting: Setting, params: Params):
        self.effort_unit = setting.effort_unit
        self._compile = _make_play(setting)
        self._analyse = _make_analyse(setting)
        self._params = params

    def play(self, num_games: int, seed: int) -> Games:
        """Play `num_games` games.

        The random numbers of game i come from (seed, i) alone. Its result can still depend on the number of lanes
        where two moves tie within float32 rounding, since matrix products of another batch size round otherwise.
        """
        program = self._compile(num_games, self._params)
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

    def analyse(self, boards: np.ndarray, seeds: np.ndarray) -> Analysis:
        """What it makes of boards uint8[B, H, W]; seeds uint32[B] are of the search, as `play` draws one for each move.

        Alone or in any batch a board gets the same analysis, but for float32 rounding as in `play`.

        Raises:
            ValueError: see `ntuple.game.interfaces.check_boards`.
        """
        return self._analyse(self._params, boards, seeds)


def make_player(config: MuZeroConfig, graphdef: nnx.GraphDef[Any], params: Params) -> SearchPlayer:
    """The player of a model, with the search of its config."""
    game = Game2048(config.rows, config.columns)
    return SearchPlayer(NetworkSetting(game, config.search, config.discount, graphdef), params)


def load_player(folder: Path, config: MuZeroConfig, search: SearchConfig | None = None) -> SearchPlayer:
    """The player of a checkpoint folder, with the search of its config or the one given; reads the parameters alone.

    Raises:
        ValueError: the parameters are damaged or belong to another network.
    """
    graphdef, like = nnx.split(nnx.eval_shape(lambda: make_model(config, seed=0)))
    if search is not None:
        config = replace(config, search=search)
    return make_player(config, graphdef, load_pytree(folder / PARAMETERS, like))


@functools.cache
def _make_analyse(setting: Setting) -> Analyse:
    return make_analyse(setting.game, setting.judge, setting.lanes)


@functools.cache
def _make_play(setting: Setting) -> Callable[[int, Params], Program]:
    """(number of games, parameters of the shapes to compile for) -> compiled program."""
    game = setting.game

    def random_bits(seed: UInt32[Array, ""], number: Int[Array, "L"], move: Int[Array, "L"]) -> UInt32[Array, "2 L"]:
        """Two draws for this move of this game, whatever lane it is in: for the game, and for the search."""

        def draw(number: Array, move: Array) -> Array:
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), move)
            return jax.random.bits(key, (2,), jnp.uint32)

        return jax.vmap(draw, out_axes=1)(number, move)

    def take_next(lanes: Lanes, free: Bool[Array, "L"], seed: UInt32[Array, ""]) -> Lanes:
        """Give the free lanes the next games in order."""
        number = jnp.where(free, lanes.next_game + jnp.cumsum(free) - 1, lanes.game)
        moves = jnp.where(free, 0, lanes.moves)
        opening = game.init_from_bits(random_bits(seed, number, moves)[0])
        return lanes._replace(
            board=where(free, opening, lanes.board),
            game=number,
            score=jnp.where(free, 0, lanes.score),
            moves=moves,
            next_game=lanes.next_game + free.sum(),
        )

    def move(num_games: int, lanes: Lanes, policy: Policy, seed: UInt32[Array, ""]) -> Lanes:
        moves = lanes.moves + 1
        spawn_bits, search_seeds = random_bits(seed, lanes.game, moves)
        after, reward = game.afterstate(lanes.board, policy(lanes.board, search_seeds))
        board, _ = game.spawn_from_bits(spawn_bits, after)
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
        num_lanes = min(setting.lanes, num_games)
        zeros, blank = jnp.zeros((num_lanes,), jnp.int32), jnp.zeros((num_games,), jnp.int32)
        results = Results(blank, blank, blank)
        lanes = Lanes(game.empty((num_lanes,)), zeros, zeros, zeros, jnp.zeros((), jnp.int32), results)
        return take_next(lanes, jnp.ones((num_lanes,), bool), seed)

    def play(num_games: int, lanes: Lanes, params: Any, seed: UInt32[Array, ""]) -> Lanes:
        policy = setting.policy(params)
        return jax.lax.fori_loop(0, MOVES_A_CALL, lambda _, lanes: move(num_games, lanes, policy, seed), lanes)

    programs: dict[int, Program] = {}

    def compile_for(num_games: int, params: Params) -> Program:
        if num_games not in programs:
            seed = jax.ShapeDtypeStruct((), jnp.uint32)
            opening = jax.jit(functools.partial(open_lanes, num_games)).lower(seed)
            playing = jax.jit(functools.partial(play, num_games)).lower(opening.out_info, params, seed)
            programs[num_games] = Program(opening.compile(), playing.compile())
        return programs[num_games]

    return compile_for
