"""Threads that learn one shared network without locks, each with its own games.

The games go on from call to call, so one thread continues from a checkpoint to the bit. Several threads sometimes
overwrite each other's updates, so their results cannot be reproduced.

Each thread makes its share of the moves in slices of SLICE_MOVES. A request to stop takes effect between two slices.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.opponents import CHANCE, OpponentName
from ntuple.expectimax.search_memory import make_one_ply
from ntuple.files.safetensors import Tensors
from ntuple.game.any_game import AnyRules
from ntuple.game.episode import COLUMNS
from ntuple.learning.config import NTupleConfig
from ntuple.learning.schedule import make_target
from ntuple.players.greedy import GAMES_A_THREAD, make_scratch
from ntuple.tables.cpu_placement import pin
from ntuple.tables.network import Network
from ntuple.td.config import TargetSearchConfig
from ntuple.td.exploration import Exploration
from ntuple.td.history import History, make_history
from ntuple.td.kernel import COUNTS_SIZE, ERROR_SUM, LearningRule, Training, start_games, train
from ntuple.td.mcts_target import make_target_search
from ntuple.td.starts import BOUNDARY, CAROUSEL_OF_STAGES, START_KINDS, Starts, make_starts
from ntuple.td.state_and_q import AFTERSTATES, train_values
from ntuple.td.targets import EXPECTED, history_length

# Moves of a thread between two checks whether to stop, about 0.25 s with 4x6 tuples; moves by search count by their
# simulations. The number is fixed: each call of
# the kernel begins with the thread's first game, so a resumed training must have the same slices to give the same bits.
SLICE_MOVES = 250_000
KINDS_WITH_MEMORY = (CAROUSEL_OF_STAGES, BOUNDARY)  # starts that keep boards of a thread's games
TICK_SECONDS = 0.5  # between two calls of `tick`


class ThreadGames(NamedTuple):
    """The games of T threads, G games each, and what the threads remember of them; made by `make_thread_games`."""

    rows: NDArray[np.uint64]  # [T, G, 16] games in progress, see ntuple.game.episode
    histories: list[History | None]  # [T]
    starts: list[Starts | None]  # [T]


class Stretch(NamedTuple):
    """What all threads do during one stretch."""

    rules: AnyRules
    network: Network
    kind: int  # what the network values, see ntuple.td.state_and_q
    method: LearningRule
    exploration: Exploration | None
    search: TargetSearchConfig  # of the target
    opponent: OpponentName  # who places the tiles


def make_thread_games(config: NTupleConfig, rules: AnyRules, seed: int) -> ThreadGames:
    """Start the games of all threads."""
    threads, kind = config.num_threads, config.start.kind
    rows = np.zeros((threads, GAMES_A_THREAD, COLUMNS), np.uint64)
    start_games(rules, np.uint64(seed), rows.reshape(-1, COLUMNS))
    length = history_length(make_target(config), kind == "restart")
    histories = [make_history(GAMES_A_THREAD, length) if length else None for _ in range(threads)]
    return ThreadGames(rows, histories, _starts_of_threads(config))


def _starts_of_threads(config: NTupleConfig) -> list[Starts | None]:
    """Make the starts of each thread; all threads share those that do not change, such as the positions of a file."""
    if config.start.kind == "normal":
        return [None] * config.num_threads
    if START_KINDS[config.start.kind] in KINDS_WITH_MEMORY:
        return [make_starts(config) for _ in range(config.num_threads)]
    return [make_starts(config)] * config.num_threads


def memory_arrays(games: ThreadGames) -> Tensors:
    """Return what the threads remember of their games, by the names in checkpoints, such as "boards.0"."""
    arrays: Tensors = {}
    for i, (history, starts) in enumerate(zip(games.histories, games.starts, strict=True)):
        if history:
            arrays |= {f"boards.{i}": history.boards, f"rewards.{i}": history.rewards, f"deltas.{i}": history.deltas}
        if starts and starts.kind in KINDS_WITH_MEMORY:
            arrays |= {f"pools.{i}": starts.pools, f"seen.{i}": starts.seen}
    return arrays


def run_threads(
    stretch: Stretch, games: ThreadGames, num_moves: int, tick: Callable[[int], bool]
) -> tuple[NDArray[np.float64], int]:
    """Learn for a number of moves, shared equally among the threads.

    Args:
        tick: called every TICK_SECONDS with the moves made so far. If it returns True, each thread stops at the end of
            its slice.

    Returns:
        Counts float64[T, 16] of the threads (ntuple.td.kernel), and the number of moves made.
    """
    threads = len(games.rows)
    shares = [num_moves // threads + (i < num_moves % threads) for i in range(threads)]
    slice_moves = max(SLICE_MOVES // stretch.search.simulations, 1)
    counts, moves_made, stop = np.zeros((threads, COUNTS_SIZE)), np.zeros(threads, np.int64), Event()

    def learn(i: int) -> None:
        pin(i, threads)
        learn_slice = _make_learn_slice(stretch, games, i, counts[i])
        while moves_made[i] < shares[i] and not stop.is_set():
            moves = min(slice_moves, shares[i] - int(moves_made[i]))
            learn_slice(moves)
            moves_made[i] += moves
            if np.isnan(counts[i, ERROR_SUM]):  # the network diverged
                stop.set()

    with ThreadPoolExecutor(threads) as pool:
        learning = [pool.submit(learn, i) for i in range(threads)]
        try:
            while wait(learning, TICK_SECONDS).not_done:
                if tick(int(moves_made.sum())):
                    stop.set()
        finally:
            stop.set()  # an exception must not wait for the end of the stretch
    for thread in learning:
        thread.result()
    return counts, int(moves_made.sum())


def _make_learn_slice(
    stretch: Stretch, games: ThreadGames, i: int, counts: NDArray[np.float64]
) -> Callable[[int], None]:
    """Return the function that lets thread i learn for a number of moves, with scratch memory of its own."""
    search, world = stretch.search, (stretch.rules, stretch.network)
    training = Training(
        rules=stretch.rules,
        network=stretch.network,
        method=stretch.method,
        games=games.rows[i],
        history=games.histories[i],
        exploration=stretch.exploration,
        starts=games.starts[i],
        target_search=make_target_search(*world, search.mcts, search.plays) if search.simulations > 1 else None,
        opponent=make_one_ply(*world, stretch.opponent) if stretch.opponent != CHANCE else None,
        expects=True if stretch.method.target.method == EXPECTED else None,
        scratch=make_scratch(stretch.network),
        counts=counts,
    )
    if stretch.kind == AFTERSTATES:
        return lambda moves: train(training, moves)
    return lambda moves: train_values(training, stretch.kind, moves)
