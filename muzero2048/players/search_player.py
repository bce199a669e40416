"""Players on the device: they play many games at a time and analyse given boards.

A `PlayerSetting` defines how a player chooses its moves; each learner's room has its own settings.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from muzero2048.game.env import Board, BoardGame
from muzero2048.players.analysis import Analyse, Judge, JudgedBoards, make_analyse, read_outlook, with_event_codes
from muzero2048.players.lanes import MOVES_A_CALL, Lanes, Policy, open_lanes, play_lanes
from muzero2048.players.moves_left import moves_left
from muzero2048.search.base import Dynamics, Plan
from muzero2048.search.config import SearchConfig
from muzero2048.search.plan_move import make_root, plan
from muzero2048.search.tree import Trees
from muzero2048.search.views import plan_views
from ntuple.core.interfaces import Analysis, Games, Marks, SoFar, Watch, unwatched

LANES = 512  # games played at a time, at most
TREE_NODES = 2**21  # nodes of all their trees together, at most: 0.5 to 3 GB; limits the lanes of large searches

Params = Any  # pytree of arrays that a player's dynamics read


class CompiledPlay(NamedTuple):
    """Compiled play of a number of games."""

    open: Callable[[Array], Lanes]  # seed -> every lane at the start of its first game
    play: Callable[[Lanes, Params, Array], Lanes]  # (lanes, params, seed) -> lanes after MOVES_A_CALL moves


@dataclass(frozen=True)
class PlayerSetting:
    """How a player chooses, without its parameters. Hashable: equal settings share a compiled program."""

    effort_unit: ClassVar[str]  # unit of the effort in its analysis
    game: BoardGame
    discount: float  # gamma, once a move

    @property
    def names_spawns(self) -> bool:
        """Return whether the chance codes in an analysis are those of spawns; else a learned model chose them."""
        return True

    @property
    def lanes(self) -> int:
        """Return how many boards are processed at a time, at most."""
        return LANES

    def judge(self, params: Params) -> Judge:
        """Return the function that values the four moves of boards and chooses one."""
        raise NotImplementedError

    def policy(self, params: Params) -> Policy:
        """Return the function that chooses; the compiler removes what the other values need."""
        judge = self.judge(params)

        def choose(board: Board, seeds: UInt32[Array, "L"]) -> tuple[Array, Array]:
            judged = judge(board, seeds)
            return judged.action, jnp.take_along_axis(judged.value, judged.action[:, None], axis=-1)[:, 0]

        return choose


@dataclass(frozen=True)
class SearchSetting(PlayerSetting):
    """Tree search without noise at the root."""

    effort_unit = "visits"
    search: SearchConfig

    @property
    def names_spawns(self) -> bool:
        """Return whether the search plans in the rules of the game."""
        return self.search.model == "simulator"

    @property
    def lanes(self) -> int:
        """Return the largest power of 2 for which all trees together have at most TREE_NODES nodes; at most LANES."""
        most = max(1, TREE_NODES // (self.search.simulations * self.search.views))
        return min(LANES, 1 << (most.bit_length() - 1))

    def judge(self, params: Params) -> Judge:
        """Return the judge that searches: its action, and Q and visits of the root's actions."""
        dynamics = self.dynamics(params)

        def judge(board: Board, seeds: UInt32[Array, "B"]) -> JudgedBoards:
            result, tree = self.search_boards(dynamics, board, seeds)
            value = jnp.where(result.visits > 0, result.q_values, jnp.nan)
            outlook = None if tree is None else read_outlook(tree, result.action, dynamics.codes)
            return JudgedBoards(result.action, value, result.visits, result.policy_target, outlook)

        return judge

    def search_boards(self, dynamics: Dynamics, board: Board, seeds: UInt32[Array, "B"]) -> tuple[Plan, Trees | None]:
        """Search without noise, averaged over the views that `search.views` names.

        The tree is None after a search of several views, and where `plan` returns none.
        """
        views = self.search.views

        def search(board: Board, seeds: UInt32[Array, "M"]) -> tuple[Plan, Trees | None]:
            root = make_root(dynamics, self.game, board, seeds, None, self.search)
            return plan(dynamics, root, self.search, self.discount)

        if views == 1:
            return search(board, seeds)
        return plan_views(self.game, views, lambda *view: search(*view)[0], board, seeds), None

    def dynamics(self, params: Params) -> Dynamics:
        """Return the model of the game that the search plans with."""
        raise NotImplementedError


class SearchPlayer:
    """Plays with fixed parameters, without exploration, from normal starts."""

    plays_one_by_one = False

    def __init__(self, setting: PlayerSetting, params: Params):
        self.effort_unit = setting.effort_unit
        self._game, self._compile = setting.game, _make_play(setting)
        self._analyse = _make_analyse(setting)
        self._names_spawns = setting.names_spawns
        self._params = params

    def play(self, num_games: int, seed: int, watch: Watch = unwatched) -> Games:
        """Play `num_games` games.

        The random numbers of game i depend on (seed, i) alone. The result of a game can still depend on the number of
        lanes where two moves tie within float32 rounding, because matrix products of another batch size round
        differently.
        """
        program = self._compile(num_games, self._params)
        began = time.perf_counter()
        seed_word = jnp.asarray(seed, jnp.uint32)
        lanes, calls = program.open(seed_word), 0
        # Between two calls the results so far can be read, and Python can handle signals.
        watch(lambda: _so_far(self._game, lanes, calls, time.perf_counter() - began))
        while bool((lanes.game < num_games).any()):
            lanes, calls = program.play(lanes, self._params, seed_word), calls + 1
        return _games(self._game, jax.device_get(lanes.results), time.perf_counter() - began)

    def analyse(self, boards: np.ndarray, seeds: np.ndarray, draws: np.ndarray | None = None) -> Analysis:
        """Analyse boards uint8[B, H, W]; arguments and errors as of `ntuple.core.interfaces.check_boards`.

        `seeds` uint32[B] are the seeds of the search; `play` draws one for each move. The analysis of a board does not
        depend on the other boards of the batch, except for float32 rounding as in `play`.
        """
        analysis = self._analyse(self._params, boards, seeds, draws)
        if not self._names_spawns:
            return analysis._replace(names_spawns=False)
        return with_event_codes(analysis, self._game.event_codes)


def _games(game: BoardGame, results: Any, seconds: float) -> Games:
    """Return the games of `Results` on the host."""
    return Games(
        score=results.score.astype(np.int64),
        max_tile=np.array(game.tiles, np.int64)[results.max_level],
        moves=results.moves.astype(np.int64),
        seconds=seconds,
        marks=Marks(results.marked_value.astype(np.float64), results.marked_gain.astype(np.float64)),
        goals=game.goals,
    )


def _so_far(game: BoardGame, lanes: Lanes, calls: int, seconds: float) -> SoFar:
    """Return what is played after some calls of the program, which took some seconds."""
    now: Any = jax.device_get(lanes)  # waits for the call that is under way
    finished = jax.tree.map(lambda result: result[now.results.moves > 0], now.results)
    num_games = len(now.results.moves)
    left = moves_left(finished.moves, now.moves[now.game < num_games], max(0, num_games - int(now.next_game)))
    return SoFar(_games(game, finished, seconds), left and left / (calls * MOVES_A_CALL) * seconds)


@functools.cache
def _make_analyse(setting: PlayerSetting) -> Analyse:
    return make_analyse(setting.game, setting.judge, setting.lanes)


@functools.cache
def _make_play(setting: PlayerSetting) -> Callable[[int, Params], CompiledPlay]:
    """Return (number of games, parameters) -> program, compiled once for each number; only the shapes are used."""
    programs: dict[int, CompiledPlay] = {}

    def compile_for(num_games: int, params: Params) -> CompiledPlay:
        if num_games not in programs:
            programs[num_games] = compile_play(setting, num_games, params, min(setting.lanes, num_games))
        return programs[num_games]

    return compile_for


def compile_play(setting: PlayerSetting, num_games: int, params: Params, num_lanes: int) -> CompiledPlay:
    """Compile the play of games.

    Of `params` only the shapes are used.
    """

    def play(lanes: Lanes, params: Params, seed: UInt32[Array, ""]) -> Lanes:
        return play_lanes(setting.game, setting.policy(params), lanes, seed, setting.discount)

    seed = jax.ShapeDtypeStruct((), jnp.uint32)
    opening = jax.jit(functools.partial(open_lanes, setting.game, num_lanes, num_games)).lower(seed)
    playing = jax.jit(play).lower(opening.out_info, params, seed)
    return CompiledPlay(opening.compile(), playing.compile())
