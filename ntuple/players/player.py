"""Players: 1-ply greedy on an n-tuple network, and two without a network as baselines."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ntuple.core.interfaces import Analysis, Games, Watch, so_far, unwatched
from ntuple.files.stored_network import load_network
from ntuple.game.any_game import AnyRules, goals_of, make_game_rules
from ntuple.game.baselines import play_at_random
from ntuple.game.episode import BROKEN, COLUMNS, NUMBER, Results, begin_game, board_of, go_on, write_result
from ntuple.game.jit import kernel
from ntuple.game.rng import stream
from ntuple.learning.config import NTupleConfig
from ntuple.players.analysis import NO_BEST_MOVE, analyse_at_random, analyse_by_network, words_of
from ntuple.players.greedy import GAMES_A_THREAD, Scratch, best_move, has_legal_move, look_ahead, make_scratch
from ntuple.tables.cpu_placement import available_cores
from ntuple.tables.network import Network
from ntuple.td.state_and_q import AFTERSTATES, KINDS, play_values

TASKS_A_THREAD = 16  # tasks for each thread of the pool: enough that all threads finish at about the same time


@kernel
def play_network(
    rules: AnyRules,
    network: Network,
    scratch: Scratch,
    games: NDArray[np.uint64],
    seed: np.uint64,
    start: int,
    results: Results,
) -> None:
    """Play games start, start + 1, ... of a seed by 1-ply search.

    G games are played in turn; when one ends, the next begins in its row. If a board has a legal move but no best one,
    because values are NaN or -inf, the result of the game is BROKEN and the function returns.
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
                write_result(rules, row, results[number])
                row[NUMBER] = np.uint64(begun)
                if begun < results.shape[0]:
                    begin_game(rules, row, stream(seed, np.uint64(start + begun)))
                else:
                    playing -= 1
                begun += 1
            look_ahead(rules, network, board_of(row), scratch, slot)


def _play(
    rules: AnyRules, num_games: int, threads: int, play_some: Callable[[int, Results], None], watch: Watch
) -> Games:
    """Play games on a pool of threads.

    Args:
        play_some: play_some(start, results) fills the results of the games from `start` on.
        watch: see `Watch`.

    Raises:
        ValueError: a game is BROKEN.
    """
    results = np.zeros((num_games, 3), np.int64)
    play_some(0, results[:0])  # compile or load the kernel before the time is measured
    began = time.perf_counter()
    watch(lambda: so_far(results, time.perf_counter() - began, goals_of(rules)))
    with ThreadPoolExecutor(threads) as pool:
        size = -(-num_games // (TASKS_A_THREAD * threads))
        list(pool.map(lambda i: play_some(i, results[i : i + size]), range(0, num_games, size)))
    if (results == BROKEN).any():
        raise ValueError(NO_BEST_MOVE)
    score, max_tile, moves = np.ascontiguousarray(results.T)
    return Games(score, max_tile, moves, time.perf_counter() - began, goals=goals_of(rules))


class NTuplePlayer:
    """Plays the best of the four moves. It shares the arrays of the network and plays with their current weights."""

    effort_unit = "ply"
    plays_one_by_one = False

    def __init__(self, rules: AnyRules, network: Network, threads: int, kind: int = AFTERSTATES) -> None:
        self._rules, self._network, self._threads, self._kind = rules, network, threads, kind

    def play(self, num_games: int, seed: int, watch: Watch = unwatched) -> Games:
        """Play `num_games` games; the result of game i depends only on (seed, i), not on the threads."""

        def play_some(start: int, results: Results) -> None:
            games = np.zeros((GAMES_A_THREAD, COLUMNS), np.uint64)
            scratch, stream_seed = make_scratch(self._network), np.uint64(seed)
            if self._kind == AFTERSTATES:
                play_network(self._rules, self._network, scratch, games, stream_seed, start, results)
            else:
                play_values(self._rules, self._network, self._kind, scratch, games[0], stream_seed, start, results)

        return _play(self._rules, num_games, self._threads, play_some, watch)

    def analyse(
        self, boards: NDArray[np.uint8], seeds: NDArray[np.uint32], draws: NDArray[np.uint16] | None = None
    ) -> Analysis:
        """Analyse boards [B, H, W]; the seeds [B] have no effect, since nothing is drawn."""
        words = words_of(self._rules, boards, seeds, draws)
        return analyse_by_network(self._rules, self._network, self._kind, words)


class RandomPlayer:
    """Plays uniformly random legal moves."""

    effort_unit = "ply"
    plays_one_by_one = False
    greedy = False

    def __init__(self, rules: AnyRules, threads: int) -> None:
        self._rules, self._threads = rules, threads

    def play(self, num_games: int, seed: int, watch: Watch = unwatched) -> Games:
        """Play `num_games` games; the result of game i depends only on (seed, i), not on the threads."""

        def play_some(start: int, results: Results) -> None:
            games = np.zeros((1, COLUMNS), np.uint64)
            play_at_random(self._rules, self.greedy, games, np.uint64(seed), start, results)

        return _play(self._rules, num_games, self._threads, play_some, watch)

    def analyse(
        self, boards: NDArray[np.uint8], seeds: NDArray[np.uint32], draws: NDArray[np.uint16] | None = None
    ) -> Analysis:
        """Draw a move on each of the boards [B, H, W] by its seed [B]; the values are NaN."""
        words = words_of(self._rules, boards, seeds, draws)
        return analyse_at_random(self._rules, self.greedy, words, seeds.astype(np.uint32, order="C"))


class GreedyPlayer(RandomPlayer):
    """Plays the legal move of the largest immediate reward; ties are broken at random."""

    greedy = True


def load_ntuple_player(folder: Path, config: NTupleConfig) -> NTuplePlayer:
    """Load the player of a checkpoint folder, on all cores; only the weights are read."""
    network = load_network(folder, config)
    return NTuplePlayer(
        make_game_rules(config.game, config.rows, config.columns), network, available_cores(), KINDS[config.values]
    )
