"""The player by expectimax search: many games over threads, each with a search of its own."""

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.heuristic import Heuristic, make_heuristic
from ntuple.expectimax.leaves import Memory, Search, make_memory
from ntuple.expectimax.search import TRACE_COLUMNS, judge_boards, play_on
from ntuple.files.stored_network import filled_network, load_stored
from ntuple.game.bitboard import Board, Rules, has_move, make_rules
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS
from ntuple.game.interfaces import Analysis, Games
from ntuple.game.rollout import PlayedGame, close_game, open_game
from ntuple.learning.config import NTupleConfig, available_cores
from ntuple.players.analysis import NO_BEST_MOVE, words_of
from ntuple.tables.network import Network

# Moves of one call of the kernel, behind which a thread can be stopped.
TRACE_MOVES = 256  # of searches of up to QUICK_PLIES: 20 ms
QUICK_PLIES = 3


class ExpectimaxPlayer:
    """Plays the move of the highest value by expectimax search over a network's values or hand-made ones.

    The result of game i depends on (seed, i) alone, unless a time limit ends searches.
    """

    effort_unit = "ply"
    plays_one_by_one = True

    def __init__(self, rules: Rules, values: Network | Heuristic, config: ExpectimaxConfig, threads: int) -> None:
        """A player; a network's values are of afterstates, and do not change from now on."""
        self._rules, self._values, self._config, self._threads = rules, values, config, threads
        self._search = make_search(config)

    def play(self, num_games: int, seed: int) -> Games:
        """Play games 0..num_games - 1 of a seed."""
        self.prepare()
        began = time.perf_counter()
        games = sorted(self.play_each(range(num_games), seed), key=lambda game: game.number)
        columns = ((game.score, game.max_tile, game.actions.size) for game in games)
        score, max_tile, moves = np.array(list(columns), np.int64).reshape(-1, 3).T
        return Games(score, max_tile, moves, time.perf_counter() - began)

    def play_each(self, numbers: Iterable[int], seed: int) -> Iterator[PlayedGame]:
        """Play the games of these numbers, and hand over each as it ends; games under way end when nobody asks on.

        Raises:
            ValueError: values are no numbers.
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

    def analyse(self, boards: NDArray[np.uint8], seeds: NDArray[np.uint32]) -> Analysis:
        """What it makes of boards [B, H, W], see launch.contracts; `seeds` [B] are not needed.

        With tile-downgrading the values are of the boards with smaller tiles.

        Raises:
            ValueError: see `check_boards`; or values are no numbers.
        """
        words = words_of(self._rules, boards, seeds)
        values, plies = np.empty((len(words), 4), np.float32), np.empty(len(words), np.int64)
        rewards = np.empty((len(words), 4), np.int64)

        def judge(start: int, end: int) -> None:
            part = slice(start, end)
            judge_boards(*self._mind(), words[part], rewards[part], values[part], plies[part])

        bounds = np.linspace(0, len(words), self._threads + 1).astype(int)
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(judge, bounds[:-1], bounds[1:]))
        if np.isnan(values).any():
            raise ValueError(NO_BEST_MOVE)
        is_legal = rewards >= 0
        action = np.where(is_legal.any(axis=1), values.argmax(axis=1), -1).astype(np.int8)
        return Analysis(action, rewards, values.astype(np.float64), plies[:, np.newaxis] * is_legal)

    def prepare(self) -> None:
        """Compile the kernel, or load it, before a clock runs."""
        play_on(*self._mind(), np.zeros(COLUMNS, np.uint64), np.zeros((0, TRACE_COLUMNS)))

    def _play(self, number: int, seed: int, stopped: threading.Event) -> PlayedGame | None:
        """One game from its start, or None if it was stopped."""
        row, mind = np.zeros(COLUMNS, np.uint64), self._mind()
        opening = open_game(self._rules, seed, number, row)
        is_quick = self._config.plies <= QUICK_PLIES and not self._config.seconds
        moves = TRACE_MOVES if is_quick else 1
        traces: list[NDArray[np.float64]] = []
        while not traces or len(traces[-1]) == moves:
            if stopped.is_set():
                return None
            trace = np.zeros((moves, TRACE_COLUMNS))
            traces.append(trace[: play_on(*mind, row, trace)])
        if has_move(self._rules, Board(row[BOARD_LO], row[BOARD_HI])):
            raise ValueError(NO_BEST_MOVE)
        return close_game(self._rules, row, number, opening, np.concatenate(traces))

    def _mind(self) -> tuple[Rules, Network | None, Heuristic | None, Search, Memory]:
        """What a thread thinks with, nothing remembered yet: so a game does not depend on those before it."""
        network = self._values if isinstance(self._values, Network) else None
        heuristic = self._values if isinstance(self._values, Heuristic) else None
        memory = make_memory(self._rules, network, self._config.leaf_bits, self._config.node_bits)
        return self._rules, network, heuristic, self._search, memory


def make_search(config: ExpectimaxConfig) -> Search:
    """The search of a config."""
    return Search(
        plies=config.plies,
        most_plies=np.array(config.most_plies, np.int8) - np.int8(1),
        rectified=config.rectified,
        least_probability=np.float32(config.least_probability),
        takes_deeper=config.takes_deeper,
        seconds=config.seconds,
        downgrades_from=np.uint64(config.downgrades_from),
    )


def load_expectimax_player(folder: Path, config: NTupleConfig, search: ExpectimaxConfig) -> ExpectimaxPlayer:
    """The player of a checkpoint folder, on all cores; it reads the weights and nothing else.

    Raises:
        ValueError: see `load_weights`, or the network does not value afterstates.
    """
    if config.values != "afterstate":
        raise ValueError(f"expectimax searches over values of afterstates, and this network values {config.values}s")
    stored = load_stored(folder, config)
    network = filled_network(stored.config, stored.weights)
    return ExpectimaxPlayer(make_rules(config.rows, config.columns), network, search, available_cores())


def make_heuristic_player(rows: int, columns: int, search: ExpectimaxConfig) -> ExpectimaxPlayer:
    """The player by hand-made values, on all cores."""
    heuristic = make_heuristic(search.heuristic, rows, columns)
    return ExpectimaxPlayer(make_rules(rows, columns), heuristic, search, available_cores())
