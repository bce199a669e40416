"""Players: 1-ply greedy on an n-tuple network, and two that need no network, for scale."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ntuple.game.baselines import play_at_random
from ntuple.game.bitboard import Rules
from ntuple.game.episode import BROKEN, COLUMNS, NUMBER, Results, begin_game, board_of, go_on, write_result
from ntuple.game.interfaces import Analysis, Games
from ntuple.game.jit import kernel
from ntuple.game.rng import stream
from ntuple.learning.state_and_q import AFTERSTATES, play_values
from ntuple.players.analysis import NO_BEST_MOVE, analyse_at_random, analyse_by_network, words_of
from ntuple.players.greedy import GAMES_A_THREAD, Scratch, best_move, has_legal_move, look_ahead, make_scratch
from ntuple.tables.network import Network

TASKS_A_THREAD = 16  # parts of the work a thread takes at once: so many that none is left alone with a long tail


@kernel
def play_network(
    rules: Rules,
    network: Network,
    scratch: Scratch,
    games: NDArray[np.uint64],
    seed: np.uint64,
    start: int,
    results: Results,
) -> None:
    """Play games start, start + 1, ... of a seed by 1-ply search and fill `results`.

    As many are played in turn as `games`, uint64[G, 16], has rows; one that ends makes room for the next. Where a legal
    move is there and none is the best, since values are no numbers, the game's result is BROKEN and play stops.
    """
    begun = 0
    playing = 0
    for slot in range(games.shape[0]):
        games[slot, NUMBER] = np.uint64(begun)
        if begun < results.shape[0]:
            begin_game(rules, games[slot], stream(seed, np.uint64(start + begun)))
            look_ahead(rules, network, board_of(games[slot]), scratch, slot)
            playing += 1
        begun += 1
    while playing > 0:
        for slot in range(games.shape[0]):
            row = games[slot]
            number = row[NUMBER]
            if number >= np.uint64(results.shape[0]):
                continue
            move = best_move(network, scratch, slot)
            if move.action >= 0:
                go_on(rules, row, move.after, np.uint64(move.reward))
            elif has_legal_move(scratch, slot):
                results[number] = BROKEN
                return
            else:
                write_result(row, results[number])
                row[NUMBER] = np.uint64(begun)
                if begun < results.shape[0]:
                    begin_game(rules, row, stream(seed, np.uint64(start + begun)))
                else:
                    playing -= 1
                begun += 1
            look_ahead(rules, network, board_of(row), scratch, slot)


def _play(num_games: int, threads: int, play_some: Callable[[int, Results], None]) -> Games:
    """Play games on a pool of threads.

    Args:
        num_games: how many, numbered from 0.
        threads: of the pool.
        play_some: play_some(start, results) fills the results of the games from `start` on.

    Returns:
        The games.

    Raises:
        ValueError: values are no numbers.
    """
    results = np.zeros((num_games, 3), np.int64)
    play_some(0, results[:0])  # compiles the kernel, or loads it, before the clock runs
    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        size = -(-num_games // (TASKS_A_THREAD * threads))
        list(pool.map(lambda i: play_some(i, results[i : i + size]), range(0, num_games, size)))
    if (results == BROKEN).any():
        raise ValueError(NO_BEST_MOVE)
    score, max_tile, moves = np.ascontiguousarray(results.T)
    return Games(score, max_tile, moves, time.perf_counter() - began)


class NTuplePlayer:
    """Plays the best of the four moves. It shares the network's arrays: it plays as well as they are just then."""

    effort_unit = "ply"
    plays_one_by_one = False

    def __init__(self, rules: Rules, network: Network, threads: int, kind: int = AFTERSTATES) -> None:
        """A player; `kind` is what the network values (ntuple.state_action)."""
        self._rules, self._network, self._threads, self._kind = rules, network, threads, kind

    def play(self, num_games: int, seed: int) -> Games:
        """Play `num_games` games; the result of game i depends on (seed, i) alone, not on the threads.

        Raises:
            ValueError: values are no numbers.
        """

        def play_some(start: int, results: Results) -> None:
            games = np.zeros((GAMES_A_THREAD, COLUMNS), np.uint64)
            scratch, stream_seed = make_scratch(self._network), np.uint64(seed)
            if self._kind == AFTERSTATES:
                play_network(self._rules, self._network, scratch, games, stream_seed, start, results)
            else:
                play_values(self._rules, self._network, self._kind, scratch, games[0], stream_seed, start, results)

        return _play(num_games, self._threads, play_some)

    def analyse(self, boards: NDArray[np.uint8], seeds: NDArray[np.uint32]) -> Analysis:
        """What it makes of boards [B, H, W]; it draws nothing, so the seeds [B] do not matter.

        Raises:
            ValueError: see `check_boards`; or values are no numbers.
        """
        words = words_of(self._rules, boards, seeds)
        return analyse_by_network(self._rules, self._network, self._kind, words)


class RandomPlayer:
    """Plays uniformly random legal moves."""

    effort_unit = "ply"
    plays_one_by_one = False
    greedy = False

    def __init__(self, rules: Rules, threads: int) -> None:
        self._rules, self._threads = rules, threads

    def play(self, num_games: int, seed: int) -> Games:
        """Play `num_games` games; the result of game i depends on (seed, i) alone, not on the threads."""

        def play_some(start: int, results: Results) -> None:
            games = np.zeros((1, COLUMNS), np.uint64)
            play_at_random(self._rules, self.greedy, games, np.uint64(seed), start, results)

        return _play(num_games, self._threads, play_some)

    def analyse(self, boards: NDArray[np.uint8], seeds: NDArray[np.uint32]) -> Analysis:
        """Moves on boards [B, H, W] that are drawn by seeds [B]; it knows no values.

        Raises:
            ValueError: see `check_boards`.
        """
        words = words_of(self._rules, boards, seeds)
        return analyse_at_random(self._rules, self.greedy, words, seeds.astype(np.uint32, order="C"))


class GreedyPlayer(RandomPlayer):
    """Plays the legal move of the largest immediate reward, ties broken at random."""

    greedy = True
