"""The player by expectimax search: each thread plays one game at a time, each game has its own memory."""

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
from ntuple.expectimax.memory import Memory, Search, make_memory, make_search
from ntuple.expectimax.search import TRACE_COLUMNS, analyse_boards, play_on
from ntuple.files.stored_network import load_network
from ntuple.game.bitboard import Board, Rules, has_move, make_rules
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS
from ntuple.game.interfaces import Analysis, Games
from ntuple.game.rollout import PlayedGame, close_game, open_game
from ntuple.learning.config import NTupleConfig
from ntuple.players.analysis import NO_BEST_MOVE, words_of
from ntuple.tables.network import Network
from ntuple.tables.placement import available_cores

# Moves made by one call of the kernel; a game can be stopped between calls. Deeper or timed searches make one.
TRACE_MOVES = 256  # for searches of up to QUICK_PLIES: 20 ms
QUICK_PLIES = 3


class ExpectimaxPlayer:
    """Plays the move of the highest value by expectimax search; leaves are valued by a network or a heuristic.

    The result of game i depends only on (seed, i), unless searches have a time limit.
    """

    effort_unit = "ply"
    plays_one_by_one = True

    def __init__(self, rules: Rules, values: Network | Heuristic, config: ExpectimaxConfig, threads: int) -> None:
        """Make a player.

        Args:
            rules: the game.
            values: of afterstates; the weights of a network must not change while the player exists.
            config: the settings of the search.
            threads: games played at a time.
        """
        self._rules, self._values, self._config, self._threads = rules, values, config, threads
        self._search = make_search(config)

    def play(self, num_games: int, seed: int) -> Games:
        """Play games 0..num_games - 1 of a seed.

        Raises:
            ValueError: see `play_each`.
        """
        self.prepare()
        began = time.perf_counter()
        games = sorted(self.play_each(range(num_games), seed), key=lambda game: game.number)
        columns = ((game.score, game.max_tile, game.actions.size) for game in games)
        score, max_tile, moves = np.array(list(columns), np.int64).reshape(-1, 3).T
        return Games(score, max_tile, moves, time.perf_counter() - began)

    def play_each(self, numbers: Iterable[int], seed: int) -> Iterator[PlayedGame]:
        """Play the games of these numbers and yield each when it ends.

        When the caller closes the iterator, running games are stopped after their current call of the kernel.

        Raises:
            ValueError: a board has legal moves but all their values are NaN or -inf.
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
        """Analyse boards [B, H, W]; the seeds [B] have no effect, since nothing is drawn.

        With tile-downgrading the values are those of the downgraded boards.

        Raises:
            ValueError: see `check_boards`; or values are NaN.
        """
        words = words_of(self._rules, boards, seeds)
        values, plies = np.empty((len(words), 4), np.float32), np.empty(len(words), np.int64)
        rewards = np.empty((len(words), 4), np.int64)

        def analyse_part(start: int, end: int) -> None:
            part = slice(start, end)
            analyse_boards(*self._kernel_arguments(), words[part], rewards[part], values[part], plies[part])

        bounds = np.linspace(0, len(words), self._threads + 1).astype(int)
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(analyse_part, bounds[:-1], bounds[1:]))
        if np.isnan(values).any():
            raise ValueError(NO_BEST_MOVE)
        is_legal = rewards >= 0
        action = np.where(is_legal.any(axis=1), values.argmax(axis=1), -1).astype(np.int8)
        return Analysis(action, rewards, values.astype(np.float64), plies[:, np.newaxis] * is_legal)

    def prepare(self) -> None:
        """Compile or load the kernel before the time is measured."""
        play_on(*self._kernel_arguments(), np.zeros(COLUMNS, np.uint64), np.zeros((0, TRACE_COLUMNS)))

    def _play(self, number: int, seed: int, stopped: threading.Event) -> PlayedGame | None:
        """Play one game; return None if it was stopped."""
        row, arguments = np.zeros(COLUMNS, np.uint64), self._kernel_arguments()
        opening = open_game(self._rules, seed, number, row)
        is_quick = self._config.plies <= QUICK_PLIES and not self._config.seconds
        moves = TRACE_MOVES if is_quick else 1
        traces: list[NDArray[np.float64]] = []
        while not traces or len(traces[-1]) == moves:
            if stopped.is_set():
                return None
            trace = np.zeros((moves, TRACE_COLUMNS))
            traces.append(trace[: play_on(*arguments, row, trace)])
        if has_move(self._rules, Board(row[BOARD_LO], row[BOARD_HI])):
            raise ValueError(NO_BEST_MOVE)
        return close_game(self._rules, row, number, opening, np.concatenate(traces))

    def _kernel_arguments(self) -> tuple[Rules, Network | None, Heuristic | None, Search, Memory]:
        """Return the first arguments of the kernels, with empty memory, so that games do not depend on each other."""
        network = self._values if isinstance(self._values, Network) else None
        heuristic = self._values if isinstance(self._values, Heuristic) else None
        memory = make_memory(self._rules, network, self._config.leaf_bits, self._config.node_bits)
        return self._rules, network, heuristic, self._search, memory


def load_expectimax_player(folder: Path, config: NTupleConfig, search: ExpectimaxConfig) -> ExpectimaxPlayer:
    """Load the player of a checkpoint folder, on all cores; only the weights are read.

    Args:
        folder: the checkpoint.
        config: the configuration of its training.
        search: the settings of the search.

    Returns:
        The player.

    Raises:
        ValueError: see `load_weights`; or the network does not value afterstates.
    """
    if config.values != "afterstate":
        raise ValueError(f"expectimax searches over values of afterstates, and this network values {config.values}s")
    network = load_network(folder, config)
    return ExpectimaxPlayer(make_rules(config.rows, config.columns), network, search, available_cores())


def make_heuristic_player(rows: int, columns: int, search: ExpectimaxConfig) -> ExpectimaxPlayer:
    """Return the player with the heuristic, on all cores.

    Args:
        rows: H.
        columns: W.
        search: the settings of the search and of the heuristic.

    Returns:
        The player.
    """
    heuristic = make_heuristic(search.heuristic, rows, columns)
    return ExpectimaxPlayer(make_rules(rows, columns), heuristic, search, available_cores())
