"""Games against an adversary: it places each tile after the first ones so that the best reply is worst.

It looks for the best reply by the search of ntuple/expectimax/opponent.py. With one ply it reads the values of the
afterstates of all replies to a placement (Guei 2023, sec. 5.4.5).
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ntuple.core.interfaces import Analysis, Games, Watch, unwatched
from ntuple.expectimax.config import LEAST_BITS, ExpectimaxConfig
from ntuple.expectimax.heuristic import Heuristic
from ntuple.expectimax.opponent import go_on_against, worst_placement
from ntuple.expectimax.search_memory import NO_BOARD, Search, make_search
from ntuple.game.any_game import AnyRules, afterstate, goals_of
from ntuple.game.bitboard import Board
from ntuple.game.episode import BOARD_HI, COLUMNS, board_of, spawn_code
from ntuple.game.family_events import draws_of
from ntuple.game.jit import kernel
from ntuple.game.rollout import PlayedGame, boards_of, open_game, play_by_analysis
from ntuple.players.one_by_one import collect, in_parts
from ntuple.tables.network import Network

NODE_BITS = 10  # log2 of the chance nodes that are remembered in one search


@kernel
def make_moves_against(
    search: Search,
    rows: NDArray[np.uint64],
    actions: NDArray[np.int8],
    spawns: NDArray[np.int64],
    points: NDArray[np.int64],
) -> None:
    """Make one legal move in each game, and place a tile by the adversary; arguments as of `make_moves`."""
    for i in range(rows.shape[0]):
        row = rows[i]
        after, reward = afterstate(search.rules, board_of(row), actions[i])
        search.memory.node_boards[:] = NO_BOARD  # so that a game does not depend on the games beside it
        go_on_against(search, row, after, reward)
        spawns[i], points[i] = spawn_code(search.rules, after, board_of(row)), np.int64(reward)


class Adversary:
    """Places tiles by a search over values of afterstates."""

    def __init__(self, rules: AnyRules, values: Network | Heuristic, config: ExpectimaxConfig, threads: int) -> None:
        """Make an adversary.

        Args:
            values: as of ExpectimaxPlayer.
            config: `opponent` says what it chooses, `plies` how deep it looks for the best reply.
        """
        config = dataclasses.replace(config, leaf_bits=LEAST_BITS, node_bits=NODE_BITS)
        self._searches = [make_search(rules, values, config) for _ in range(threads)]

    def place(self, after: Board, drawn: int) -> Board:
        """Place a tile on one afterstate; arguments as of `worst_placement`."""
        return worst_placement(self._searches[0], after, drawn)[0]

    def make_moves(
        self,
        rules: AnyRules,
        rows: NDArray[np.uint64],
        actions: NDArray[np.int8],
        spawns: NDArray[np.int64],
        points: NDArray[np.int64],
    ) -> None:
        """Make one legal move in each game, and place a tile; arguments as of `ntuple.game.rollout.make_moves`."""

        def move_part(number: int, part: slice) -> None:
            make_moves_against(self._searches[number], rows[part], actions[part], spawns[part], points[part])

        in_parts(len(rows), len(self._searches), move_part)


class Analyst(Protocol):
    """What a player needs to play against an adversary."""

    @property
    def effort_unit(self) -> str:
        """Unit of the search effort in its analysis."""

    def analyse(
        self, boards: NDArray[np.uint8], seeds: NDArray[np.uint32], draws: NDArray[np.uint16] | None = None
    ) -> Analysis:
        """Return the move that the player makes on each board."""


class PlayerAgainst:
    """A player whose games are against an adversary."""

    plays_one_by_one = True  # `play_each` yields its games; several are played at a time

    def __init__(self, rules: AnyRules, player: Analyst, adversary: Adversary) -> None:
        self._rules, self._player, self._adversary = rules, player, adversary
        self.effort_unit, self.analyse = player.effort_unit, player.analyse

    def prepare(self) -> None:
        """Compile or load the kernels of both, by the first move of a game."""
        row, none = np.zeros((1, COLUMNS), np.uint64), np.zeros(0, np.int64)
        open_game(self._rules, 0, 0, row[0])
        self._player.analyse(boards_of(self._rules, row), np.zeros(1, np.uint32), draws_of(row[:, BOARD_HI]))
        self._adversary.make_moves(self._rules, row[:0], none.astype(np.int8), none, none)

    def play(self, num_games: int, seed: int, watch: Watch = unwatched) -> Games:
        """Play games 0..num_games - 1 of a seed."""
        self.prepare()
        return collect(self.play_each(range(num_games), seed), num_games, goals_of(self._rules), watch)

    def play_each(self, numbers: Iterable[int], seed: int) -> Iterator[PlayedGame]:
        """Play the games of these numbers and yield each when it ends."""
        return play_by_analysis(
            self._rules,
            lambda *positions: self._player.analyse(*positions).action,
            numbers,
            seed,
            self._adversary.make_moves,
        )
