"""The n-tuple learner: TD learning on afterstates by threads that share one network without locks.

The first part of the budget learns by TD at a given rate, the rest by an adaptive rule that begins without memory: with
TC this is OTD+TC (Guei et al. 2022, sec. III-C). Every thread has its own games, which go on from call to call, so that
one thread continues from a checkpoint to the bit. Several threads write over each other now and then and cannot be
reproduced. ntuple.targets and ntuple.updates have the rules, ntuple.config their settings.

A stretch of moves has one rule: from one report, or change of the rule, to the next. Each thread makes its share of a
stretch in slices of SLICE_MOVES, and a learner that is asked to stop does so between two slices.
"""

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

import numpy as np
from numpy.typing import NDArray

from ntuple.files.safetensors import Tensors, fill, load_tensors, save_tensors, take
from ntuple.files.stored_network import (
    MEMORY_FIELDS,
    TRAINING_FILE,
    UNDIVIDED_RATE,
    WEIGHTS_FILE,
    StoredNetwork,
    check_beginning,
    filled_network,
    load_weights,
    new_network,
    read_memory,
    read_weights,
)
from ntuple.game.bitboard import make_rules
from ntuple.game.episode import COLUMNS
from ntuple.learning.config import NTupleConfig
from ntuple.learning.exploration import Exploration
from ntuple.learning.kernel import (
    COUNTS_SIZE,
    ERROR_SUM,
    GAMES,
    MOVES_SUM,
    REACH_2048,
    REACH_8192,
    REACH_32768,
    SCORE_MAX,
    SCORE_SUM,
    UPDATES,
    WHOLE_GAMES,
    Method,
    start_games,
    train,
)
from ntuple.learning.starts import Starts, make_starts
from ntuple.learning.state_and_q import AFTERSTATES, KINDS, train_values
from ntuple.learning.step_sizes import ADAPTIVE_RECORD_BITS, RULES, TD, TD_RECORD_BITS, StepSize, forget
from ntuple.learning.targets import EXPECTED, METHODS, RECTIFICATIONS, History, Target, history_length, make_history
from ntuple.players.greedy import GAMES_A_THREAD, make_scratch
from ntuple.players.player import NTuplePlayer
from ntuple.tables.averaging import WeightMean
from ntuple.tables.network import PROMOTIONS, Network, read_field, widen, write_field
from ntuple.tables.patterns import parse_network, table_sizes
from ntuple.tables.placement import pin
from ntuple.tables.promotion import promoted
from ntuple.tables.stages import count_stages, make_stages

# Moves of a thread between two looks at whether to stop: a quarter of a second of 4x6 tuples. A fixed number, since the
# kernel begins with the thread's first game: a resumed training must meet the same boundaries to have the same bits.
SLICE_MOVES = 250_000
TICK_SECONDS = 0.5  # between two calls of `tick`


class NTupleLearner:
    """Learns an n-tuple network; see the module for the rule and ntuple.config for its settings."""

    def __init__(self, config: NTupleConfig, seed: int, network: Network | None = None) -> None:
        """A learner at the start of its training, of a new network or of one to go on with."""
        self.config = config
        self.env_steps_total = config.env_steps
        self.network = network or new_network(config)
        self._mean = WeightMean()  # in the order of the records
        self._rules = make_rules(config.rows, config.columns)
        self._target, self._kind = _make_target(config), KINDS[config.values]
        threads, length = config.num_threads, history_length(self._target, config.start.kind == "restart")
        self._games = np.zeros((threads, GAMES_A_THREAD, COLUMNS), np.uint64)
        start_games(self._rules, np.uint64(seed), self._games.reshape(-1, COLUMNS))
        self._histories = [make_history(GAMES_A_THREAD, length) if length else None for _ in range(threads)]
        self._starts = [None if config.start.kind == "normal" else _make_starts(config) for _ in range(threads)]
        self._progress = np.zeros(3, np.int64)  # env_steps, games, updates

    @staticmethod
    def memory(config: NTupleConfig) -> dict[str, int]:
        """Bytes that a training takes, by what takes them."""
        board, size = (config.rows, config.columns), config.step_size
        weights = count_stages(config.stages) * sum(
            table_sizes(parse_network(config.network, *board), *board, config.values)
        )
        is_adaptive = size.adaptive_fraction > 0
        record = 4 << (ADAPTIVE_RECORD_BITS if is_adaptive else TD_RECORD_BITS)
        needs = {f"{weights:,} weights of {record} bytes": record * weights}
        if config.average.env_steps:
            needs["their mean"] = 4 * weights
            if config.promotion != "none":
                needs["promoted weights of one more"] = 4 * weights
        # Of a checkpoint that is read all lies in memory once more: the weights, and what the rule keeps beside them.
        kept = 1 + ({"tc": 2, "autostep": 3}[size.adaptive] if is_adaptive else 0) + (config.average.env_steps > 0)
        needs["a checkpoint while it is written or read"] = 4 * kept * weights
        return needs

    @property
    def progress(self) -> dict[str, int]:
        """Moves made, games finished, and afterstates learned from, so far."""
        env_steps, games, updates = self._progress.tolist()
        return {"env_steps": env_steps, "games": games, "updates": updates}

    @property
    def within_report(self) -> bool:
        """Whether the last `advance` was ended by its `tick`: training stands between two ends of stretches."""
        env_steps = int(self._progress[0])
        return env_steps < self.config.env_steps and self._stretch(env_steps)[0] != env_steps

    def advance(self, tick: Callable[[int], bool] = lambda moves: False) -> dict[str, float]:
        """Learn until the next multiple of report_env_steps, a change of the rule or the end of the budget.

        Args:
            tick: called every TICK_SECONDS with the moves made so far; if it returns True, each thread stops at the
                end of its slice. The next call goes on from there to where this one would have ended.

        Returns:
            Metrics since the last report. Those of finished games are left out where no game was finished. The mean
            error of a network that diverged is not finite.
        """
        env_steps = int(self._progress[0])
        if env_steps >= self.config.adaptive_starts and not self._is_adaptive:
            self.network = widen(self.network, ADAPTIVE_RECORD_BITS)
        reset, adaptive_moves = self.config.step_size.reset_env_steps, env_steps - self.config.adaptive_starts
        if reset and adaptive_moves > 0 and adaptive_moves % reset == 0:
            forget(self.network)
        start, stop = self._stretch(env_steps)

        began = time.perf_counter()
        counts, num_moves = self._train(self._method(start), self._exploration(start), stop - env_steps, tick)
        seconds = time.perf_counter() - began

        total = counts.sum(axis=0)
        self._progress += (num_moves, int(total[GAMES]), int(total[UPDATES]))
        if self.config.is_averaged(env_steps + num_moves):
            averaged = promoted(self.network)
            self._mean.add(averaged.weights[:: 1 << int(averaged.record_bits)])
        metrics = {
            "td/error_abs_mean": total[ERROR_SUM] / max(total[UPDATES], 1),
            "td/learning_rate": self._alpha(env_steps),
            "td/coherence": float(self._is_adaptive),
            "perf/moves_per_second": num_moves / seconds,
            "perf/updates_per_second": total[UPDATES] / seconds,
            "train/games": total[WHOLE_GAMES],
        }
        if games := total[WHOLE_GAMES]:
            metrics |= {
                "train/score_mean": total[SCORE_SUM] / games,
                "train/score_max": np.max(counts[:, SCORE_MAX]),
                "train/moves_mean": total[MOVES_SUM] / games,
                "train/reach_2048": total[REACH_2048] / games,
                "train/reach_8192": total[REACH_8192] / games,
                "train/reach_32768": total[REACH_32768] / games,
            }
        return {name: float(value) for name, value in metrics.items()}

    @property
    def _is_adaptive(self) -> bool:
        """Whether the adaptive rule has begun."""
        return int(self.network.record_bits) == ADAPTIVE_RECORD_BITS

    def _stretch(self, env_steps: int) -> tuple[int, int]:
        """The first move of the stretch that move `env_steps` is in, and the first move after it."""
        config = self.config
        points = [0, config.env_steps, config.adaptive_starts]
        points += [round(share * config.env_steps) for share, _ in config.step_size.alpha_steps]
        grids = [(0, config.report_env_steps), (0, config.average.env_steps)]
        if env_steps >= config.adaptive_starts:
            grids.append((config.adaptive_starts, config.step_size.reset_env_steps))
        for first, every in grids:
            if every:
                last = first + (env_steps - first) // every * every
                points += [last, last + every]
        return max(point for point in points if point <= env_steps), min(point for point in points if point > env_steps)

    def _method(self, env_steps: int) -> Method:
        """The rule of learning from a move on."""
        size = self.config.step_size
        return Method(
            self._target,
            StepSize(
                RULES[size.adaptive] if self._is_adaptive else TD,
                np.float32(self._alpha(env_steps)),
                size.tc.sums == "steps",
                np.float32(size.autostep.mu),
                np.float32(size.autostep.tau),
                np.float32(size.autostep.first),
            ),
        )

    def _alpha(self, env_steps: int) -> float:
        return self.config.step_size.tc.alpha if self._is_adaptive else self.config.alpha_at(env_steps)

    def _exploration(self, env_steps: int) -> Exploration | None:
        """How moves are explored from a move on."""
        exploration, left = self.config.exploration, self.config.exploration_at(env_steps)
        if not (exploration.epsilon or exploration.temperature):
            return None
        return Exploration(exploration.epsilon * left, exploration.temperature * left)

    def _train(
        self, method: Method, exploration: Exploration | None, num_moves: int, tick: Callable[[int], bool]
    ) -> tuple[NDArray[np.float64], int]:
        """Share the moves among the threads; returns their counts [T, 16], and the moves made until `tick` was True."""
        threads = len(self._games)
        shares = [num_moves // threads + (i < num_moves % threads) for i in range(threads)]
        counts, made, stop = np.zeros((threads, COUNTS_SIZE)), np.zeros(threads, np.int64), Event()

        def learn(i: int) -> None:
            pin(i, threads)
            learn_slice = self._make_learn_slice(i, method, exploration, counts[i])
            while made[i] < shares[i] and not stop.is_set():
                moves = min(SLICE_MOVES, shares[i] - int(made[i]))
                learn_slice(moves)
                made[i] += moves
                if np.isnan(counts[i, ERROR_SUM]):  # the network diverged
                    stop.set()

        with ThreadPoolExecutor(threads) as pool:
            learning = [pool.submit(learn, i) for i in range(threads)]
            try:
                while wait(learning, TICK_SECONDS).not_done:
                    if tick(int(made.sum())):
                        stop.set()
            finally:
                stop.set()  # an exception must not wait for the end of the stretch
        for thread in learning:
            thread.result()
        return counts, int(made.sum())

    def _make_learn_slice(
        self, i: int, method: Method, exploration: Exploration | None, counts: NDArray[np.float64]
    ) -> Callable[[int], None]:
        """What thread i does for a number of moves, with memory of its own."""
        rules, network, games, scratch = self._rules, self.network, self._games[i], make_scratch(self.network)
        if self._kind == AFTERSTATES:
            expecting = scratch if method.target.method == EXPECTED else None
            memory = (games, self._histories[i], exploration, self._starts[i], expecting, scratch)
            return lambda moves: train(rules, network, method, moves, *memory, counts)
        kind = self._kind
        return lambda moves: train_values(rules, network, kind, method, moves, games, exploration, scratch, counts)

    def begin_with(self, stored: StoredNetwork) -> None:
        """Begin the training with a network in place of a new one.

        It may have fewer tuples: the others begin new. It may have fewer stages: the later ones begin as copies of its
        last one if weights are promoted from stage to stage, else new. Where its untouched weights would count as
        others here, it is taken with its promoted weights written out. What its adaptive rule knows is kept if training
        has the same rule from the first move on.

        Raises:
            ValueError: see `check_beginning`.
        """
        check_beginning(stored.config, self.config)
        if (stored.config.promotion, stored.initial) != (self.config.promotion, self.network.initial):
            stored = stored.promoted()
        stored = stored.as_part_of(self.config.network, float(self.network.initial))
        is_known = self.config.adaptive_starts == 0 and stored.memory.keys() == self._fields.keys()
        self.network = new_network(self.config, ADAPTIVE_RECORD_BITS if is_known else TD_RECORD_BITS)
        write_field(self.network, stored.weights)
        if self.config.promotion in ("inter", "both"):
            first, stages = count_stages(stored.config.stages), count_stages(self.config.stages)
            for stage in range(first, stages):
                write_field(self.network, stored.weights.reshape(first, -1)[-1], stage=stage)
        for name, values in stored.memory.items() if is_known else ():
            write_field(self.network, values, MEMORY_FIELDS[name])

    def player(self) -> NTuplePlayer:
        """A 1-ply player with the mean of the weights, if there is one, or the current weights, shared, not copied."""
        return NTuplePlayer(self._rules, self._played, self.config.num_threads, self._kind)

    @property
    def _played(self) -> Network:
        """The network to be played with."""
        if self._mean.weights is None:
            return self.network
        weights, bits = self._mean.weights, np.uint64(TD_RECORD_BITS)
        return self.network._replace(weights=weights, record_bits=bits, promotion=PROMOTIONS["none"])

    def probes(self) -> dict[str, NTuplePlayer]:
        """None: it plays by the rules of the game, with no learned model to be tested."""
        return {}

    def save(self, folder: Path) -> None:
        """Write all that is needed to go on: weights, what the adaptive rule knows, games, and progress."""
        played = self._played
        promotion = self.config.promotion if played.promotion else "none"
        config = dataclasses.replace(self.config, promotion=promotion)
        save_tensors(folder / WEIGHTS_FILE, {"weights": read_field(played)}, config)
        training: Tensors = {"games": self._games, "progress": self._progress}
        if self._mean.count:
            training |= {"averaged": np.array([self._mean.count]), "learned": read_field(self.network)}
        for i, memory in enumerate(zip(self._histories, self._starts, strict=True)):
            training |= {f"{name}.{i}": array for name, array in _arrays(*memory).items()}
        if self._is_adaptive:
            training |= {name: read_field(self.network, field) for name, field in self._fields.items()}
        save_tensors(folder / TRAINING_FILE, training, self.config)

    @property
    def _fields(self) -> dict[str, int]:
        """What the adaptive rule keeps in a record: TC has no third number."""
        names = ("first", "second") if self.config.step_size.adaptive == "tc" else tuple(MEMORY_FIELDS)
        return {name: MEMORY_FIELDS[name] for name in names}

    def restore(self, folder: Path) -> None:
        """Take over what `save` wrote.

        Raises:
            ValueError: a file is missing or damaged, or of another board, network or number of threads, or Autostep
                wrote it with rates that began undivided.
        """
        path = folder / TRAINING_FILE
        training = load_tensors(path, self.config)
        if UNDIVIDED_RATE in training:
            raise ValueError(
                f"{path}: an older version's Autostep, whose rates began with step_size.first, not divided by S M: "
                "begin a new run with its weights by run.begin_from"
            )
        fill(self._progress, training, "progress", path)
        saved_threads = len(training["games"]) if "games" in training else 0
        if saved_threads != len(self._games):
            raise ValueError(f"{path}: saved by {saved_threads} threads: set threads to that, not {len(self._games)}")
        fill(self._games, training, "games", path)
        for i, thread in enumerate(zip(self._histories, self._starts, strict=True)):
            for name, array in _arrays(*thread).items():
                fill(array, training, f"{name}.{i}", path)
        memory = read_memory(training, self.config, path)
        bits = ADAPTIVE_RECORD_BITS if memory else TD_RECORD_BITS
        weights = load_weights(folder, self.config)
        if "averaged" in training:
            count = int(take(training, "averaged", (1,), np.int64, path)[0])
            self._mean = WeightMean(filled_network(self.config, weights).weights, count)
            weights = read_weights(training, "learned", self.config, path)
        del self.network  # or there would be two of them
        self.network = filled_network(self.config, weights, bits)
        for name, values in memory.items():
            write_field(self.network, values, MEMORY_FIELDS[name])


def _make_target(config: NTupleConfig) -> Target:
    target = config.target
    return Target(
        METHODS[target.method],
        target.direction == "backward",
        target.steps,
        np.float32(target.decay),
        target.horizon,
        RECTIFICATIONS[target.rectified],
    )


def _make_starts(config: NTupleConfig) -> Starts:
    start = config.start
    stages = make_stages(start.carousel.stages or config.stages)
    numbers = (start.carousel.size, start.jump_start.fraction, start.jump_start.levels)
    return make_starts(start.kind, start.restart.moves, stages, *numbers)


def _arrays(history: History | None, starts: Starts | None) -> Tensors:
    """What a thread remembers of its games."""
    arrays: Tensors = {}
    if history:
        arrays |= {"boards": history.boards, "rewards": history.rewards, "deltas": history.deltas}
    if starts:
        arrays |= {"pools": starts.pools, "seen": starts.seen}
    return arrays
