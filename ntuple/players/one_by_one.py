"""A player whose games take long: each thread plays one game at a time, each game has its own memory."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path

import numpy as np

from ntuple.core.interfaces import Games, Watch, so_far, unwatched
from ntuple.files.stored_network import load_network
from ntuple.game.any_game import AnyRules, goals_of, has_move, make_game_rules
from ntuple.game.bitboard import Board
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS, Row
from ntuple.game.rollout import TRACE_COLUMNS, PlayedGame, Trace, close_game, open_game
from ntuple.learning.config import NTupleConfig
from ntuple.players.analysis import NO_BEST_MOVE
from ntuple.tables.network import Network

# Continues a game until the trace is full or the game is over, and returns the number of moves made. It is less than
# the length of the trace if the game is over, or if all values of the legal moves are NaN or -inf.
PlayOn = Callable[[Row, Trace], int]


class OneByOnePlayer(ABC):
    """Plays games one by one in each thread. The result of game i depends only on (seed, i), without a time limit."""

    plays_one_by_one = True

    def __init__(self, rules: AnyRules, moves_a_call: int, threads: int) -> None:
        """Make a player.

        Args:
            moves_a_call: moves made by one call of the kernel; a game can be stopped between calls.
        """
        self._rules, self._moves_a_call, self._threads = rules, moves_a_call, threads

    @abstractmethod
    def _begin(self, seed: int, number: int) -> PlayOn:
        """Return the kernel with new memory for a game, so that games do not depend on each other."""

    def play(self, num_games: int, seed: int, watch: Watch = unwatched) -> Games:
        """Play games 0..num_games - 1 of a seed."""
        self.prepare()
        return collect(self.play_each(range(num_games), seed), num_games, goals_of(self._rules), watch)

    def play_each(self, numbers: Iterable[int], seed: int) -> Iterator[PlayedGame]:
        """Play the games of these numbers and yield each when it ends.

        When the caller closes the iterator, running games are stopped after their current call of the kernel.
        """
        waiting, stopped = iter(numbers), threading.Event()
        with ThreadPoolExecutor(self._threads) as pool:

            def begin(count: int) -> set[Future[PlayedGame | None]]:
                return {pool.submit(self._play, number, seed, stopped) for number in islice(waiting, count)}

            try:
                playing = begin(self._threads)
                while playing:
                    done, playing = wait(playing, return_when=FIRST_COMPLETED)
                    playing |= begin(len(done))
                    yield from filter(None, (task.result() for task in done))
            finally:
                stopped.set()

    def prepare(self) -> None:
        """Compile or load the kernel before the time is measured."""
        self._begin(0, 0)(np.zeros(COLUMNS, np.uint64), np.zeros((0, TRACE_COLUMNS)))

    def _play(self, number: int, seed: int, stopped: threading.Event) -> PlayedGame | None:
        """Play one game; return None if it was stopped."""
        row, play_on = np.zeros(COLUMNS, np.uint64), self._begin(seed, number)
        opening = open_game(self._rules, seed, number, row)
        traces: list[Trace] = []
        while not traces or len(traces[-1]) == self._moves_a_call:
            if stopped.is_set():
                return None
            trace = np.zeros((self._moves_a_call, TRACE_COLUMNS))
            traces.append(trace[: play_on(row, trace)])
        if has_move(self._rules, Board(row[BOARD_LO], row[BOARD_HI])):
            raise ValueError(NO_BEST_MOVE)
        return close_game(self._rules, row, number, opening, np.concatenate(traces))


def in_parts(count: int, threads: int, work: Callable[[int, slice], None]) -> None:
    """Call a function for parts of `count` boards, each on a thread: with its number and the places of its boards."""
    bounds = np.linspace(0, count, threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads), map(slice, bounds[:-1], bounds[1:])))


def collect(played: Iterable[PlayedGame], count: int, goals: tuple[int, ...], watch: Watch) -> Games:
    """Return the results of numbered games that are played while they are read."""
    began = time.perf_counter()
    results = np.zeros((count, 3), np.int64)
    watch(lambda: so_far(results, time.perf_counter() - began, goals))
    for game in played:
        results[game.number] = game.score, game.max_tile, game.actions.size
    score, max_tile, moves = np.ascontiguousarray(results.T)
    return Games(score, max_tile, moves, time.perf_counter() - began, goals=goals)


def load_afterstate_values(folder: Path, config: NTupleConfig, search: str) -> tuple[AnyRules, Network]:
    """Load the values that a search works with; of the checkpoint only the weights are read.

    Raises:
        ValueError: see `load_weights`; or the network does not value afterstates.
    """
    if config.values != "afterstate":
        raise ValueError(f"{search} searches over values of afterstates, and this network values {config.values}s")
    return make_game_rules(config.game, config.rows, config.columns), load_network(folder, config)
