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

from ntuple.board import ZERO, Rules, make_rules
from ntuple.config import NTupleConfig
from ntuple.game import COLUMNS, MOVES, RNG, SCORE, Row, begin_game, board_of, go_on, largest_tile, last_afterstate
from ntuple.jit import inline, kernel
from ntuple.network import Network, find_entries, make_network, num_weights, read_field, value_at, widen, write_field
from ntuple.patterns import parse_network
from ntuple.player import NTuplePlayer
from ntuple.policy import GAMES_A_THREAD, LEARN, Scratch, best_move, look_ahead, make_scratch, row_of
from ntuple.rng import stream
from ntuple.store import Tensors, fill, load_tensors, save_tensors, take
from ntuple.updates import ABSOLUTE, ERROR, TC_RECORD_BITS, WEIGHT, tc_update, td_update

# Columns of a thread's counts since the last report.
GAMES, SCORE_SUM, SCORE_MAX, MOVES_SUM, UPDATES, ERROR_SUM, REACH_2048, REACH_8192, REACH_32768 = range(9)
COUNTS_SIZE = 16  # 128 bytes a thread: no two threads write to one cache line

STEP_SIZE_FIELDS = {"errors": ERROR, "absolutes": ABSOLUTE}  # of TC, in the files of a checkpoint
WEIGHTS_FILE = "weights.safetensors"
TRAINING_FILE = "training.safetensors"


@kernel
def start_games(rules: Rules, seed: np.uint64, games: NDArray[np.uint64]) -> None:
    """Fill the rows uint64[G, 16] of the games of all threads with fresh streams and first boards."""
    for game in range(games.shape[0]):
        begin_game(rules, games[game], stream(seed, np.uint64(game)))


@kernel
def train(
    rules: Rules,
    network: Network,
    coherent: bool,
    alpha: np.float32,
    num_moves: int,
    scratch: Scratch,
    games: NDArray[np.uint64],
    counts: NDArray[np.float64],
) -> None:
    """Learn for `num_moves` moves of one thread, of its games in turn.

    Args:
        rules: the game.
        network: its weights are learned in place, with E and A in its records for TC.
        coherent: True for TC, False for TD(0).
        alpha: learning rate.
        num_moves: how many moves to make.
        scratch: memory of the thread.
        games: uint64[G, 16], the thread's games, read and written back.
        counts: float64[9], what happened.
    """
    entries = scratch.entries
    for game in range(games.shape[0]):
        look_ahead(rules, network, board_of(games[game]), scratch, game)
        find_entries(rules, network, last_afterstate(games[game]), entries, row_of(scratch, game, LEARN))
    made = 0
    while made < num_moves:
        for game in range(games.shape[0]):
            row = games[game]
            learned = row_of(scratch, game, LEARN)
            move = best_move(network, scratch, game)
            is_over = move.action < 0
            if row[MOVES] > ZERO:
                target = np.float32(0) if is_over else move.value
                delta = target - value_at(network, entries, learned)
                if coherent:
                    tc_update(network, entries, learned, delta, alpha)
                else:
                    td_update(network, entries, learned, delta, alpha)
                counts[ERROR_SUM] += abs(delta)
                counts[UPDATES] += 1
            if is_over:
                _count_game(row, counts)
                begin_game(rules, row, row[RNG])
            else:
                find_entries(rules, network, move.after, entries, learned)
                go_on(rules, row, move.after, np.uint64(move.reward))
                made += 1
            look_ahead(rules, network, board_of(row), scratch, game)
            if made == num_moves:
                break


@inline
def _count_game(row: Row, counts: NDArray[np.float64]) -> None:
    tile = largest_tile(row)
    counts[GAMES] += 1
    counts[SCORE_SUM] += row[SCORE]
    counts[SCORE_MAX] = max(counts[SCORE_MAX], np.float64(row[SCORE]))
    counts[MOVES_SUM] += row[MOVES]
    counts[REACH_2048] += tile >= 2048
    counts[REACH_8192] += tile >= 8192
    counts[REACH_32768] += tile >= 32768


class NTupleLearner:
    """Learns an n-tuple network; see the module for the rule and ntuple.config for its settings."""

    def __init__(self, config: NTupleConfig, seed: int, network: Network | None = None) -> None:
        """A learner at the start of its training, of a new network or of one to go on with."""
        self.config = config
        self.env_steps_total = config.env_steps
        self._rules = make_rules(config.rows, config.columns)
        self.network = network or make_network(config.network, config.rows, config.columns, config.v_init)
        self._games = np.zeros((config.num_threads, GAMES_A_THREAD, COLUMNS), np.uint64)
        start_games(self._rules, np.uint64(seed), self._games.reshape(-1, COLUMNS))
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
        if env_steps >= self.config.tc_starts and not self._is_coherent:
            self.network = widen(self.network, TC_RECORD_BITS)
        coherent = self._is_coherent
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

    @property
    def _is_coherent(self) -> bool:
        """Whether TC has begun."""
        return int(self.network.record_bits) == TC_RECORD_BITS

    def _train(self, coherent: bool, alpha: np.float32, num_moves: int) -> NDArray[np.float64]:
        """Share the moves among the threads and wait for them; returns their counts [T, 16]."""
        threads = len(self._games)
        shares = [num_moves // threads + (i < num_moves % threads) for i in range(threads)]
        counts = np.zeros((threads, COUNTS_SIZE))

        def learn(i: int) -> None:
            scratch = make_scratch(self.network)
            train(self._rules, self.network, coherent, alpha, shares[i], scratch, self._games[i], counts[i])

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(learn, range(threads)))
        return counts

    def player(self) -> NTuplePlayer:
        """A 1-ply player with the current weights, shared, not copied."""
        return NTuplePlayer(self._rules, self.network, self.config.num_threads)

    def probes(self) -> dict[str, NTuplePlayer]:
        """None: it plays by the rules of the game, with no learned model to be tested."""
        return {}

    def save(self, folder: Path) -> None:
        """Write all that is needed to go on: weights, E and A once TC has begun, games, and progress."""
        save_tensors(folder / WEIGHTS_FILE, {"weights": read_field(self.network, WEIGHT)}, self.config)
        training: Tensors = {"games": self._games, "progress": self._progress}
        if self._is_coherent:
            training |= {name: read_field(self.network, field) for name, field in STEP_SIZE_FIELDS.items()}
        save_tensors(folder / TRAINING_FILE, training, self.config)

    def restore(self, folder: Path) -> None:
        """Take over what `save` wrote.

        Raises:
            ValueError: a file is missing or damaged, or of another board, network or number of threads.
        """
        path = folder / TRAINING_FILE
        training = load_tensors(path, self.config)
        fill(self._progress, training, "progress", path)
        saved_threads = len(training["games"]) if "games" in training else 0
        if saved_threads != len(self._games):
            raise ValueError(f"{path}: saved by {saved_threads} threads: set threads to that, not {len(self._games)}")
        fill(self._games, training, "games", path)
        is_coherent = any(name in training for name in STEP_SIZE_FIELDS)
        board = (self.config.rows, self.config.columns)
        self.network = make_network(self.config.network, *board, 0.0, TC_RECORD_BITS if is_coherent else 0)
        write_field(self.network, load_weights(folder, self.config), WEIGHT)
        if is_coherent:
            size = (num_weights(self.network),)
            for name, field in STEP_SIZE_FIELDS.items():
                values = take(training, name, size, np.float32, path).astype(np.float32, copy=False)
                write_field(self.network, values, field)


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
    write_field(network, load_weights(folder, config))
    return NTuplePlayer(make_rules(config.rows, config.columns), network, config.num_threads)
