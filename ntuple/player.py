"""Players: 1-ply greedy on an n-tuple network, and two that need no network, for scale."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.board import Board, Rules, afterstate, is_same, max_cell, spawn
from ntuple.jit import inline, kernel
from ntuple.network import Network
from ntuple.policy import Scratch, best_move, make_scratch
from ntuple.rng import bounded, mix, step, stream

Results = NDArray[np.int64]  # [G, 3] score, largest tile and moves of each game
TASKS_A_THREAD = 16  # parts of the work a thread takes at once: so many that none is left alone with a long tail


class Games(NamedTuple):
    """Finished games."""

    score: NDArray[np.int64]  # [G] points
    max_tile: NDArray[np.int64]  # [G] largest tile, for example 2048
    moves: NDArray[np.int64]  # [G]
    seconds: float  # wall time of playing them all


@inline
def opening(rules: Rules, rng: np.uint64) -> tuple[Board, np.uint64]:
    """The empty board after two spawns, and the state of the stream."""
    first = step(rng)
    second = step(first)
    board = spawn(rules, Board(np.uint64(0), np.uint64(0)), mix(first))
    return spawn(rules, board, mix(second)), second


@inline
def tile_of(board: Board) -> np.int64:
    """The largest tile of a board."""
    return np.int64(1) << max_cell(board)


@kernel
def play_network(
    rules: Rules, network: Network, scratch: Scratch, seed: np.uint64, start: int, results: Results
) -> None:
    """Play games start, start + 1, ... of a seed by 1-ply search and fill `results`."""
    for game in range(results.shape[0]):
        board, rng = opening(rules, stream(seed, np.uint64(start + game)))
        score, moves = np.int64(0), 0
        move = best_move(rules, network, board, scratch)
        while move.action >= 0:
            score += np.int64(move.reward)
            moves += 1
            rng = step(rng)
            board = spawn(rules, move.after, mix(rng))
            move = best_move(rules, network, board, scratch)
        results[game, 0], results[game, 1], results[game, 2] = score, tile_of(board), moves


@kernel
def play_at_random(rules: Rules, greedy: bool, seed: np.uint64, start: int, results: Results) -> None:
    """Play by uniformly random legal moves; if `greedy`, only among those of the largest reward."""
    for game in range(results.shape[0]):
        board, rng = opening(rules, stream(seed, np.uint64(start + game)))
        score, moves = np.int64(0), 0
        while True:
            after, best, count = board, np.uint64(0), np.uint64(0)
            for action in range(4):
                candidate, reward = afterstate(rules, board, action)
                if is_same(candidate, board) or (greedy and reward < best):
                    continue
                if greedy and reward > best:
                    count = np.uint64(0)
                count += np.uint64(1)
                rng = step(rng)
                # The n-th candidate replaces the one before it with probability 1/n: uniform over all.
                if bounded(mix(rng), count) == np.uint64(0):
                    after, best = candidate, reward
            if count == np.uint64(0):
                break
            score += np.int64(best)
            moves += 1
            rng = step(rng)
            board = spawn(rules, after, mix(rng))
        results[game, 0], results[game, 1], results[game, 2] = score, tile_of(board), moves


def _play(num_games: int, threads: int, play_some: Callable[[int, Results], None]) -> Games:
    """Play games 0..num_games-1 on a pool of threads; play_some(start, results) fills the games from start on."""
    results = np.zeros((num_games, 3), np.int64)
    play_some(0, results[:0])  # compiles the kernel, or loads it, before the clock runs
    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        size = -(-num_games // (TASKS_A_THREAD * threads))
        list(pool.map(lambda i: play_some(i, results[i : i + size]), range(0, num_games, size)))
    score, max_tile, moves = np.ascontiguousarray(results.T)
    return Games(score, max_tile, moves, time.perf_counter() - began)


class NTuplePlayer:
    """Plays argmax r + V(afterstate). It shares the network's arrays: it plays as well as they are just then."""

    def __init__(self, rules: Rules, network: Network, threads: int) -> None:
        self._rules, self._network, self._threads = rules, network, threads

    def play(self, num_games: int, seed: int) -> Games:
        """Play `num_games` games; the result of game i depends on (seed, i) alone, not on the threads."""

        def play_some(start: int, results: Results) -> None:
            play_network(self._rules, self._network, make_scratch(self._network), np.uint64(seed), start, results)

        return _play(num_games, self._threads, play_some)


class RandomPlayer:
    """Plays uniformly random legal moves."""

    greedy = False

    def __init__(self, rules: Rules, threads: int) -> None:
        self._rules, self._threads = rules, threads

    def play(self, num_games: int, seed: int) -> Games:
        """Play `num_games` games; the result of game i depends on (seed, i) alone, not on the threads."""

        def play_some(start: int, results: Results) -> None:
            play_at_random(self._rules, self.greedy, np.uint64(seed), start, results)

        return _play(num_games, self._threads, play_some)


class GreedyPlayer(RandomPlayer):
    """Plays the legal move of the largest immediate reward, ties broken at random."""

    greedy = True
