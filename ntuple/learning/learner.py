"""The n-tuple learner: TD learning on afterstates by threads that share one network without locks.

The first part of the budget learns by TD at a given rate. The rest learns by an adaptive rule, which begins without
memory. With TC as the adaptive rule this is OTD+TC (Guei et al. 2022, sec. III-C).

    schedule        which rule applies at which move
    kernel          how a thread plays and learns; targets and step_sizes have the equations
    threads         how threads share the moves
    training_state  all that changes in training, and its checkpoints
    metrics         what a report contains
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ntuple.files.stored_network import StoredNetwork, load_stored, new_network
from ntuple.files.tdl import count_file_stages, read_w
from ntuple.files.tdl_network import from_w
from ntuple.game.any_game import make_game_rules
from ntuple.learning.config import NTupleConfig
from ntuple.learning.metrics import report_metrics
from ntuple.learning.schedule import (
    exploration_at,
    forgets_rates,
    is_averaged,
    learning_rate_at,
    method_at,
    stretch_of,
)
from ntuple.learning.threads import Stretch, make_thread_games, run_threads
from ntuple.learning.training_state import TrainingState, begin_with, restore_state, save_state
from ntuple.players.player import NTuplePlayer
from ntuple.tables.averaging import WeightMean
from ntuple.tables.network import Network, with_memory
from ntuple.tables.promotion import promoted
from ntuple.td.kernel import GAMES, UPDATES
from ntuple.td.state_and_q import KINDS
from ntuple.td.step_sizes import MEMORY_BITS, forget


class NTupleLearner:
    """Learns an n-tuple network; ntuple.learning.config describes its settings."""

    def __init__(self, config: NTupleConfig, seed: int, network: Network | None = None) -> None:
        """Start a training.

        Args:
            network: network to continue with; None: a new one.
        """
        self.config = config
        self.env_steps_total = config.env_steps
        self._rules, self._kind = make_game_rules(config.game, config.rows, config.columns), KINDS[config.values]
        self._state = TrainingState(
            network=network or new_network(config),
            mean=WeightMean(),
            games=make_thread_games(config, self._rules, seed),
            progress=np.zeros(3, np.int64),
        )

    @staticmethod
    def memory(config: NTupleConfig) -> dict[str, int]:
        """Return the bytes that a training takes, by what takes them."""
        size = config.step_size
        weights = config.num_parts * sum(config.table_sizes)
        is_adaptive = size.adaptive_fraction > 0
        entry = 4 + (4 << MEMORY_BITS[size.adaptive] if is_adaptive else 0)
        needs = {f"{weights:,} weights of {entry} bytes": entry * weights}
        if config.average.env_steps:
            needs["their mean"] = 4 * weights
            if config.promotion != "none":
                needs["promoted weights of one more"] = 4 * weights
        needs["one part while a checkpoint is written"] = 4 * weights // config.num_parts
        return needs

    @property
    def network(self) -> Network:
        """The network in training."""
        return self._state.network

    @property
    def progress(self) -> dict[str, int]:
        """Moves made, games finished, and updates of afterstates so far."""
        env_steps, games, updates = self._state.progress.tolist()
        return {"env_steps": env_steps, "games": games, "updates": updates}

    @property
    def within_report(self) -> bool:
        """Whether `tick` ended the last `advance` before the end of its stretch."""
        env_steps = int(self._state.progress[0])
        return env_steps < self.config.env_steps and stretch_of(self.config, env_steps)[0] != env_steps

    def advance(self, tick: Callable[[int], bool] = lambda moves: False) -> dict[str, float]:
        """Learn until the next multiple of report_env_steps, a change of the rule or the end of the budget.

        Args:
            tick: called every TICK_SECONDS with the moves made so far. If it returns True, each thread stops at the end
                of its slice. The next call continues from there to where this one would have ended.

        Returns:
            Metrics since the last report. Those of finished games are left out if no game finished. The mean error of a
            network that diverged is not finite.
        """
        config, state = self.config, self._state
        env_steps = int(state.progress[0])
        if env_steps >= config.adaptive_starts and not state.is_adaptive:
            state.network = with_memory(state.network, MEMORY_BITS[config.step_size.adaptive])
        if forgets_rates(config, env_steps):
            forget(state.network)
        start, stop = stretch_of(config, env_steps)
        method, exploration = method_at(config, start, state.is_adaptive), exploration_at(config, start)
        stretch = Stretch(
            rules=self._rules,
            network=state.network,
            kind=self._kind,
            method=method,
            exploration=exploration,
            search=config.target.search,
            opponent=config.opponent,
        )

        began = time.perf_counter()
        counts, num_moves = run_threads(stretch, state.games, stop - env_steps, tick)
        seconds = time.perf_counter() - began

        state.progress += (num_moves, int(counts[:, GAMES].sum()), int(counts[:, UPDATES].sum()))
        if is_averaged(config, env_steps + num_moves):
            state.mean.add(promoted(state.network).weights)
        learning_rate = learning_rate_at(config, env_steps, state.is_adaptive)
        return report_metrics(counts, num_moves, seconds, learning_rate, state.is_adaptive, config)

    def begin_with(self, stored: StoredNetwork) -> None:
        """Begin the training with a stored network instead of a new one; see `training_state.begin_with`."""
        begin_with(self._state, self.config, stored)

    def player(self) -> NTuplePlayer:
        """Return a 1-ply player that shares the mean of the weights if there is one, else the current weights."""
        return NTuplePlayer(self._rules, self._state.played_network, self.config.num_threads, self._kind)

    def probes(self) -> dict[str, NTuplePlayer]:
        """Return no player: the learner has no learned model of the game to test."""
        return {}

    def diagnose(self) -> dict[str, float]:
        """Return no metrics: there is no learned model."""
        return {}

    def save(self, folder: Path) -> None:
        """Write a checkpoint; see `save_state`."""
        save_state(self._state, self.config, folder)

    def restore(self, folder: Path) -> None:
        """Continue from a checkpoint; see `restore_state` for the errors."""
        restore_state(self._state, self.config, folder)


def begin_from(learner: NTupleLearner, path: Path, config: NTupleConfig | None) -> None:
    """Replace the new network of a learner by that of a checkpoint or of a .w file of TDL2048+ (`run.begin_from`).

    Args:
        path: folder of a checkpoint, or a .w file of one stage or of all stages of the learner's config.
        config: that the checkpoint was trained with; None for a .w file.

    Raises:
        ValueError: the file cannot be read, or the network does not fit the learner.
    """
    if config is not None:
        network = load_stored(path, config, with_memory=True)
    else:
        file = read_w(path)
        config = NTupleConfig(step_size=learner.config.step_size)  # the unit of E and A
        network = from_w(file, config, learner.config.stages if count_file_stages(file) > 1 else ())
    learner.begin_with(network)
