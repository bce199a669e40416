"""The n-tuple learner: online forward TD on afterstates, by threads that share one network without locks.

After the move t+1, chosen greedily, the afterstate before it learns from

    delta = r_{t+1} + V(as_{t+1}) - V(as_t),  at the end of a game  delta = -V(as_t).

The first (1 - P_TC) of the budget learns by TD(0), the rest by TC with fresh E = A = 0 (OTD+TC, Guei et al. 2022,
sec. III-C). Every thread has its own game, which goes on from call to call, so that one thread continues from a
checkpoint to the bit. Several threads write over each other now and then and cannot be reproduced.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ntuple.board import Board, Rules, make_rules, spawn
from ntuple.config import NTupleConfig
from ntuple.jit import kernel
from ntuple.network import Network, find_positions, make_network
from ntuple.patterns import parse_network
from ntuple.player import NTuplePlayer, opening, tile_of
from ntuple.policy import LAST, Scratch, best_move, make_scratch
from ntuple.prefetch import prefetch
from ntuple.rng import mix, step, stream
from ntuple.store import Tensors, fill, load_tensors, save_tensors, take
from ntuple.updates import tc_update, td_update

# Columns of a thread's row: its random stream, its board, its last afterstate, and the game's score and moves.
RNG, BOARD_LO, BOARD_HI, AFTER_LO, AFTER_HI, SCORE, MOVES = range(7)
# Columns of a thread's counts since the last report.
GAMES, SCORE_SUM, SCORE_MAX, MOVES_SUM, UPDATES, ERROR_SUM, REACH_2048, REACH_8192, REACH_32768 = range(9)

WEIGHTS_FILE = "weights.safetensors"
TRAINING_FILE = "training.safetensors"


@kernel
def start_games(rules: Rules, seed: np.uint64, rows: NDArray[np.uint64]) -> None:
    """Fill the rows uint64[T, 7] of all threads with fresh streams and first boards."""
    for thread in range(rows.shape[0]):
        board, rng = opening(rules, stream(seed, np.uint64(thread)))
        row = rows[thread]
        row[RNG], row[BOARD_LO], row[BOARD_HI] = rng, board.lo, board.hi


@kernel
def train(
    rules: Rules,
    network: Network,
    errors: NDArray[np.float32],
    coherent: bool,
    alpha: np.float32,
    num_moves: int,
    scratch: Scratch,
    row: NDArray[np.uint64],
    counts: NDArray[np.float64],
) -> None:
    """Learn for `num_moves` moves of one thread.

    Args:
        rules: the game.
        network: its weights are learned in place.
        errors: float32[N, 2], E and A of TC; empty for TD(0).
        coherent: True for TC, False for TD(0).
        alpha: learning rate.
        num_moves: how many moves to make.
        scratch: memory of the thread.
        row: uint64[7], the thread's state, read and written back.
        counts: float64[9], what happened.
    """
    positions = scratch.positions
    rng = row[RNG]
    board = Board(row[BOARD_LO], row[BOARD_HI])
    after = Board(row[AFTER_LO], row[AFTER_HI])
    score, moves = row[SCORE], row[MOVES]
    find_positions(rules, network, after, positions, LAST)
    made = 0
    while made < num_moves:
        move = best_move(rules, network, board, scratch)
        is_over = move.action < 0
        if moves > np.uint64(0):
            target = np.float32(0) if is_over else move.value
            if coherent:
                delta = tc_update(network.weights, errors, positions, LAST, target, alpha)
            else:
                delta = td_update(network.weights, positions, LAST, target, alpha)
            counts[ERROR_SUM] += abs(delta)
            counts[UPDATES] += 1
        if is_over:
            tile = tile_of(board)
            counts[GAMES] += 1
            counts[SCORE_SUM] += score
            counts[SCORE_MAX] = max(counts[SCORE_MAX], score)
            counts[MOVES_SUM] += moves
            counts[REACH_2048] += tile >= 2048
            counts[REACH_8192] += tile >= 8192
            counts[REACH_32768] += tile >= 32768
            board, rng = opening(rules, rng)
            score, moves = np.uint64(0), np.uint64(0)
            continue
        for i in range(positions.shape[1]):
            positions[LAST, i] = positions[move.action, i]
            if coherent:
                prefetch(errors, positions[LAST, i])
        after = move.after
        score += move.reward
        moves += np.uint64(1)
        made += 1
        rng = step(rng)
        board = spawn(rules, after, mix(rng))
    row[RNG], row[SCORE], row[MOVES] = rng, score, moves
    row[BOARD_LO], row[BOARD_HI], row[AFTER_LO], row[AFTER_HI] = board.lo, board.hi, after.lo, after.hi


class NTupleLearner:
    """Learns an n-tuple network; see the module for the rule and ntuple.config for its settings."""

    def __init__(self, config: NTupleConfig, seed: int) -> None:
        self.config = config
        self.env_steps_total = config.env_steps
        self._rules = make_rules(config.rows, config.columns)
        self._network = make_network(config.network, config.rows, config.columns, config.v_init)
        self._errors = _no_errors()
        self._rows = np.zeros((config.num_threads, 7), np.uint64)
        start_games(self._rules, np.uint64(seed), self._rows)
        self._progress = np.zeros(3, np.int64)  # env_steps, games, updates

    @property
    def progress(self) -> dict[str, int]:
        """Moves made, games finished, and afterstates learned from, so far."""
        env_steps, games, updates = self._progress.tolist()
        return {"env_steps": env_steps, "games": games, "updates": updates}

    def advance(self) -> dict[str, float]:
        """Learn until the next multiple of report_env_steps, the start of TC or the end of the budget.

        Returns:
            Metrics since the last report. Those of finished games are left out where no game was finished.
        """
        env_steps = int(self._progress[0])
        if env_steps >= self.config.tc_starts and not self._errors.size:
            self._errors = np.zeros((self._network.weights.size, 2), np.float32)
        coherent = self._errors.size > 0
        report = self.config.report_env_steps
        stops = [(env_steps // report + 1) * report, self.config.env_steps]
        if not coherent:
            stops.append(self.config.tc_starts)
        num_moves = min(stop for stop in stops if stop > env_steps) - env_steps
        alpha = self.config.tc_alpha if coherent else self.config.td_alpha

        began = time.perf_counter()
        counts = self._train(coherent, np.float32(alpha), num_moves)
        seconds = time.perf_counter() - began

        total = counts.sum(axis=0)
        self._progress += (num_moves, int(total[GAMES]), int(total[UPDATES]))
        metrics = {
            "td/error_abs_mean": total[ERROR_SUM] / max(total[UPDATES], 1),
            "td/learning_rate": alpha,
            "td/coherence": float(coherent),
            "perf/moves_per_second": num_moves / seconds,
            "perf/updates_per_second": total[UPDATES] / seconds,
            "train/games": total[GAMES],
        }
        if total[GAMES]:
            metrics |= {
                "train/score_mean": total[SCORE_SUM] / total[GAMES],
                "train/score_max": np.max(counts[:, SCORE_MAX]),
                "train/moves_mean": total[MOVES_SUM] / total[GAMES],
                "train/reach_2048": total[REACH_2048] / total[GAMES],
                "train/reach_8192": total[REACH_8192] / total[GAMES],
                "train/reach_32768": total[REACH_32768] / total[GAMES],
            }
        return {name: float(value) for name, value in metrics.items()}

    def _train(self, coherent: bool, alpha: np.float32, num_moves: int) -> NDArray[np.float64]:
        """Share the moves among the threads and wait for them; returns their counts [T, 9]."""
        threads = len(self._rows)
        shares = [num_moves // threads + (i < num_moves % threads) for i in range(threads)]
        counts = np.zeros((threads, 16))  # 128 bytes a row: no two threads write to one cache line

        def learn(i: int) -> None:
            scratch = make_scratch(self._network)
            row, count = self._rows[i], counts[i]
            train(self._rules, self._network, self._errors, coherent, alpha, shares[i], scratch, row, count)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(learn, range(threads)))
        return counts

    def player(self) -> NTuplePlayer:
        """A 1-ply player with the current weights, shared, not copied."""
        return NTuplePlayer(self._rules, self._network, self.config.num_threads)

    def probes(self) -> dict[str, NTuplePlayer]:
        """None: it plays by the rules of the game, with no learned model to be tested."""
        return {}

    def save(self, folder: Path) -> None:
        """Write all that is needed to go on: weights, E and A once TC has begun, games, and progress."""
        save_tensors(folder / WEIGHTS_FILE, {"weights": self._network.weights}, self.config)
        training: Tensors = {"threads": self._rows, "progress": self._progress, "errors": self._errors}
        save_tensors(folder / TRAINING_FILE, training, self.config)

    def restore(self, folder: Path) -> None:
        """Take over what `save` wrote.

        Raises:
            ValueError: a file is missing or damaged, or of another board, network or number of threads.
        """
        path = folder / TRAINING_FILE
        training = load_tensors(path, self.config)
        errors = training.get("errors")
        if errors is not None and errors.size:
            self._errors = np.zeros((self._network.weights.size, 2), np.float32)
        else:
            self._errors = _no_errors()
        fill(self._errors, training, "errors", path)
        fill(self._progress, training, "progress", path)
        saved_threads = len(training["threads"]) if "threads" in training else 0
        if saved_threads != len(self._rows):
            raise ValueError(f"{path}: saved by {saved_threads} threads: set threads to that, not {len(self._rows)}")
        fill(self._rows, training, "threads", path)
        path = folder / WEIGHTS_FILE
        fill(self._network.weights, load_tensors(path, self.config), "weights", path)


def _no_errors() -> NDArray[np.float32]:
    return np.zeros((0, 2), np.float32)


def load_weights(folder: Path, config: NTupleConfig) -> NDArray[np.float32]:
    """The weights float32[sum of 16^n] of a checkpoint folder, table behind table.

    Raises:
        ValueError: they are missing, damaged, or of another board or network than the config's.
    """
    path = folder / WEIGHTS_FILE
    patterns = parse_network(config.network, config.rows, config.columns)
    shape = (sum(16 ** len(pattern) for pattern in patterns),)
    return take(load_tensors(path, config), "weights", shape, np.float32, path).astype(np.float32, copy=False)


def load_player(folder: Path, config: NTupleConfig) -> NTuplePlayer:
    """The player of a checkpoint folder; it reads the weights and nothing else.

    Raises:
        ValueError: see `load_weights`.
    """
    network = make_network(config.network, config.rows, config.columns, 0.0)
    network.weights[:] = load_weights(folder, config)
    return NTuplePlayer(make_rules(config.rows, config.columns), network, config.num_threads)
