"""The state of a training: all that changes while it runs, and how a checkpoint stores it.

A checkpoint folder has two files. WEIGHTS_FILE holds the network to play with; TRAINING_FILE holds the rest:

    games, progress          the games of all threads; moves, games and updates so far
    boards.i, rewards.i, ..  what thread i remembers of its games (ntuple.learning.threads)
    first, second, log_rate  what the adaptive rule keeps for each weight, once it has begun
    averaged, learned        with a mean of networks: the number of networks in it, and the weights in training
"""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ntuple.files.checkpoint_file import fill, load_tensors, read_config, save_tensors, take
from ntuple.files.safetensors import Array, Parts, Tensors
from ntuple.files.stored_network import (
    MEMORY_FIELDS,
    TRAINING_FILE,
    WEIGHTS_FILE,
    StoredNetwork,
    Weights,
    check_beginning,
    filled_network,
    load_weights,
    new_network,
    read_memory,
    read_weights,
)
from ntuple.learning.config import NTupleConfig
from ntuple.learning.schedule import keeps_mean
from ntuple.learning.threads import ThreadGames, memory_arrays
from ntuple.tables.averaging import WeightMean
from ntuple.tables.cpu_placement import available_cores
from ntuple.tables.file_order import WEIGHT, read_field, write_field
from ntuple.tables.network import PROMOTIONS, Network
from ntuple.tables.patterns import Pattern
from ntuple.tables.promotion import promoted
from ntuple.td.step_sizes import MEMORY_BITS


@dataclass
class TrainingState:
    """All that changes in training."""

    network: Network
    mean: WeightMean  # its weights are in the order of the network's
    games: ThreadGames
    progress: NDArray[np.int64]  # [3] env_steps, games, updates

    @property
    def is_adaptive(self) -> bool:
        """Whether the adaptive rule has begun."""
        return self.network.memory.size > 0

    @property
    def played_network(self) -> Network:
        """The network to play with: the mean of networks if there is one, else the network in training."""
        if self.mean.weights is None:
            return self.network
        return self.network._replace(weights=self.mean.weights, promotion=PROMOTIONS["none"])


def begin_with(state: TrainingState, config: NTupleConfig, stored: StoredNetwork) -> None:
    """Replace the new network of a training by a stored one.

    - The stored network may have fewer tuples. The other tuples keep their initial weights.
    - It may have fewer stages. If weights are promoted from stage to stage, the later stages begin as copies of its
      last one. Nothing is promoted any more then, because looking promoted weights up is slow. Else the later stages
      begin with their initial weights.
    - If its untouched weights would have other values in this training, its promoted weights are written out.
    - What its adaptive rule keeps is taken over if this training has the same rule from the first move on, and the
      numbers mean the same in both.
    """
    check_beginning(stored.config, config)
    if (stored.config.promotion, stored.initial) != (config.promotion, state.network.initial):
        stored = stored.promoted()
    is_same_rule = _memory_keys(stored.config) == _memory_keys(config)
    has_memory = stored.memory.keys() == adaptive_fields(config).keys()
    keeps_memory = config.adaptive_starts == 0 and is_same_rule and has_memory
    del state.network  # else two networks would be in memory
    state.network = new_network(config, MEMORY_BITS[config.step_size.adaptive] if keeps_memory else None)
    _write_tables(state.network, config, stored, stored.weights, WEIGHT)
    for name, values in stored.memory.items() if keeps_memory else ():
        _write_tables(state.network, config, stored, values, MEMORY_FIELDS[name])
    if config.promotion in ("inter", "both") and config.num_parts > stored.config.num_parts:
        state.network = promoted(state.network)


def _write_tables(network: Network, config: NTupleConfig, stored: StoredNetwork, values: Weights, field: int) -> None:
    """Write the tables of a stored network into a network that may have more stages and tuples."""
    places = dict(zip(config.patterns, network.tables.tolist(), strict=True))

    def write(pattern: Pattern, table: Weights, part: int) -> None:
        write_field(network, table[part], field, part * int(network.part_size) + places[pattern])

    tables = zip(stored.patterns, stored.tables(values), strict=True)
    with ThreadPoolExecutor(available_cores()) as pool:
        for done in [pool.submit(write, *table, part) for table in tables for part in range(stored.config.num_parts)]:
            done.result()


def adaptive_fields(config: NTupleConfig) -> dict[str, int]:
    """Return the fields that the adaptive rule keeps, by their names in files; TC uses only two."""
    names = ("first", "second") if config.step_size.adaptive == "tc" else tuple(MEMORY_FIELDS)
    return {name: MEMORY_FIELDS[name] for name in names}


def _memory_keys(config: NTupleConfig) -> dict[str, str | float]:
    """Return the keys that determine what the numbers of the adaptive rule mean, with their values."""
    size = config.step_size
    if size.adaptive == "tc":
        return {"step_size.adaptive": "tc", "step_size.tc.sums": size.tc.sums}
    return {"step_size.adaptive": size.adaptive, "step_size.autostep.first": size.autostep.first}


def save_state(state: TrainingState, config: NTupleConfig, folder: Path) -> None:
    """Write a checkpoint."""
    played = state.played_network
    save_tensors(folder / WEIGHTS_FILE, {"weights": _by_part(played)}, _with_promotion_of(played, config))
    training: dict[str, Array | Parts] = {"games": state.games.rows, "progress": state.progress}
    training |= memory_arrays(state.games)
    if state.mean.count:
        training |= {"averaged": np.array([state.mean.count]), "learned": _by_part(state.network)}
    if state.is_adaptive:
        training |= {name: _by_part(state.network, field) for name, field in adaptive_fields(config).items()}
    save_tensors(folder / TRAINING_FILE, training, _with_promotion_of(state.network, config))


def _with_promotion_of(network: Network, config: NTupleConfig) -> NTupleConfig:
    """Return a config for a file with the weights of a network; they may be written out, as a mean is."""
    return dataclasses.replace(config, promotion="none") if network.promotion is None else config


def _by_part(network: Network, field: int = WEIGHT) -> Parts:
    """Return a field of the network for a file, one part in memory at a time."""
    parts = range(network.weights.size // int(network.part_size))
    return Parts(np.dtype(np.float32), network.weights.size, (read_field(network, field, part) for part in parts))


def restore_state(state: TrainingState, config: NTupleConfig, folder: Path) -> None:
    """Read a checkpoint into the state of a new training.

    A mean of networks is dropped if it does not belong to the budget of the config (`schedule.keeps_mean`).

    Raises:
        ValueError: a file is missing or damaged, or of another board, network or number of threads, or what it keeps
            of the games or for the adaptive rule is not what the config needs.
    """
    path = folder / TRAINING_FILE
    training, config = load_tensors(path, config)
    saved = read_config(path)
    fill(state.progress, training, "progress", path)
    _restore_games(state.games, training, path)
    memory = read_memory(training, config, path)
    if memory:
        _check_memory(saved, config, path)
    bits = MEMORY_BITS[config.step_size.adaptive] if memory else None
    weights = load_weights(folder, config)
    if "averaged" in training:
        count = int(take(training, "averaged", (1,), np.int64, path)[0])
        if keeps_mean(config, saved, int(state.progress[0])):
            state.mean = WeightMean(filled_network(config, weights).weights, count)
        weights = read_weights(training, "learned", config, path)
    del state.network  # else two networks would be in memory
    state.network = filled_network(config, weights, bits)
    for name, values in memory.items():
        write_field(state.network, values, MEMORY_FIELDS[name])


def _check_memory(saved: NTupleConfig, config: NTupleConfig, path: Path) -> None:
    """Check that the numbers of the adaptive rule mean the same in both; ValueError names the key that differs."""
    wanted = _memory_keys(config)
    for key, value in _memory_keys(saved).items():  # the rule first: the other key depends on it
        if wanted[key] != value:
            raise ValueError(
                f"{path}: saved with {key} = {value!r}, but the config says {wanted[key]!r}: set {value!r}"
            )


def _restore_games(games: ThreadGames, training: Tensors, path: Path) -> None:
    """Fill the arrays of the threads from a file; ValueError if it has other threads, or what they remember differs."""
    saved_threads, threads = len(training["games"]) if "games" in training else 0, len(games.rows)
    if saved_threads != threads:
        raise ValueError(f"{path}: saved by {saved_threads} threads: set threads to that, not {threads}")
    fill(games.rows, training, "games", path)
    for name, array in memory_arrays(games).items():
        try:
            fill(array, training, name, path)
        except ValueError as error:
            keys = "start" if name.startswith(("pools", "seen")) else "target and start"
            raise ValueError(f"{error}: set {keys} as in the training that was saved") from None
