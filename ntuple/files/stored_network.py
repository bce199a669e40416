"""A network in the order of files, from a checkpoint or a .w file, to be played, averaged, folded or converted."""

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntuple.core.settings import list_text
from ntuple.files.checkpoint_file import differences, load_tensors, save_tensors, shape_of, take
from ntuple.files.safetensors import Tensors
from ntuple.learning.config import NTupleConfig
from ntuple.tables.file_order import read_field, write_field
from ntuple.tables.folding import fold
from ntuple.tables.network import Network, initial_weight, make_network
from ntuple.tables.patterns import Pattern, network_texts, view_cells
from ntuple.tables.promotion import promoted
from ntuple.td.step_sizes import FIRST, SECOND, THIRD

WEIGHTS_FILE = "weights.safetensors"
TRAINING_FILE = "training.safetensors"
# Names in files of the numbers that an adaptive rule keeps for each weight: E and A of TC, three of Autostep.
MEMORY_FIELDS = {"first": FIRST, "second": SECOND, "log_rate": THIRD}
ERRORS, ABSOLUTES = "first", "second"

Weights = NDArray[np.float32]  # [parts * sum of A R^n] part by part, table by table; first cell = lowest digit


@dataclass(frozen=True)
class StoredNetwork:
    """A network in the order of files, with its configuration."""

    config: NTupleConfig
    weights: Weights
    memory: dict[str, Weights] = field(default_factory=dict)  # state of the adaptive rule by MEMORY_FIELDS, if kept

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The M tuples, in the order of their tables."""
        return self.config.patterns

    @property
    def num_views(self) -> int:
        """S, the number of views that share the tables."""
        return len(view_cells(self.config.rows, self.config.columns, self.config.symmetry))

    @property
    def initial(self) -> np.float32:
        """The weight of an entry before its first update: v_init / (S M)."""
        return initial_weight(self.config.v_init, self.num_views, len(self.patterns))

    @property
    def table_sizes(self) -> list[int]:
        """The number of weights of each tuple in a part, A R^n."""
        return self.config.table_sizes

    def tables(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return `weights` or an array of `memory` as M views of shape [parts, A R^n]."""
        parts = values.reshape(self.config.num_parts, -1)
        starts = np.cumsum([0, *self.table_sizes])
        return [parts[:, start:end] for start, end in itertools.pairwise(starts)]

    def promoted(self) -> "StoredNetwork":
        """Return the same network without promotion: promoted weights are written into the entries."""
        if self.config.promotion == "none":
            return self
        weights = read_field(promoted(filled_network(self.config, self.weights)))
        return StoredNetwork(replace(self.config, promotion="none"), weights, self.memory)

    def folded(self) -> "StoredNetwork":
        """Return a network of the same values with every tuple that lies inside a larger one added to the larger one.

        The result has no memory, so training cannot continue. Its untouched entries are again v_init / (S M), where M
        counts the remaining tuples.

        Raises:
            ValueError: the network holds action values.
        """
        if self.config.values == "action":
            raise ValueError("a network of action values has one table for each action: it cannot be folded")
        views = view_cells(self.config.rows, self.config.columns, self.config.symmetry)
        plain = self.promoted()
        levels, weights = self.config.num_levels, plain.weights - self.initial
        patterns, tables = fold(self.patterns, plain.tables(weights), views, levels)
        folded = StoredNetwork(
            replace(plain.config, network=network_texts(patterns)), np.concatenate(tables, axis=1).ravel()
        )
        folded.weights[:] += folded.initial
        return folded


def load_stored(folder: Path, config: NTupleConfig, with_memory: bool = False) -> StoredNetwork:
    """Load the network of a checkpoint folder. Its arrays are private memory maps of the files (`map_safetensors`).

    `promotion` is read from the weights file: it is "none" for a mean of networks, whatever it was in training.

    Args:
        with_memory: also load the state of the adaptive rule, if the rule had begun.

    Raises:
        ValueError: the files are missing or damaged, or the board, network or stages differ from those of the config.
    """
    path = folder / WEIGHTS_FILE
    tensors, config = load_tensors(path, config)
    weights = read_weights(tensors, "weights", config, path)
    path = folder / TRAINING_FILE
    memory = read_memory(load_tensors(path, config)[0], config, path) if with_memory and path.exists() else {}
    return StoredNetwork(config, weights, memory)


def read_memory(training: Tensors, config: NTupleConfig, path: Path) -> dict[str, Weights]:
    """Return the state of the adaptive rule from the tensors of TRAINING_FILE.

    Returns:
        Arrays by MEMORY_FIELDS; empty if the rule had not begun.

    Raises:
        ValueError: the arrays do not fit the config.
    """
    return {name: read_weights(training, name, config, path) for name in MEMORY_FIELDS if name in training}


def read_weights(tensors: Tensors, name: str, config: NTupleConfig, path: Path) -> Weights:
    """Return a tensor with one number for each weight, stored in single or half precision, as float32.

    Raises:
        ValueError: the tensor does not fit the config.
    """
    dtype = tensors[name].dtype if name in tensors and tensors[name].dtype == np.float16 else np.dtype(np.float32)
    values = take(tensors, name, (sum(config.table_sizes) * config.num_parts,), dtype, path)
    return values.astype(np.float32, copy=False)


def in_half(weights: Weights) -> NDArray[np.float16]:
    """Round weights to half precision.

    Raises:
        ValueError: some are larger than its largest number.
    """
    largest = float(np.finfo(np.float16).max)
    count = np.count_nonzero(np.abs(weights) > largest)
    if count:
        raise ValueError(
            f"{count:,} of {weights.size:,} weights are above {largest:,.0f}, the largest number of half precision: "
            "leave out --half"
        )
    return weights.astype(np.float16)


def save_stored(stored: StoredNetwork, folder: Path, half: bool = False) -> None:
    """Write a network for play into a folder."""
    weights = in_half(stored.weights) if half else stored.weights
    save_tensors(folder / WEIGHTS_FILE, {"weights": weights}, stored.config)


def new_network(config: NTupleConfig, memory_bits: int | None = None) -> Network:
    """Return the network with which a training begins."""
    return make_network(
        config.network,
        config.rows,
        config.columns,
        config.v_init,
        memory_bits=memory_bits,
        stages=config.stages,
        promotion=config.promotion,
        symmetry=config.symmetry,
        values=config.values,
        frozen_stages=config.frozen_stages,
        frozen_tuples=config.frozen_tuples,
        game=config.game,
        levels=config.num_levels,
        hints=config.num_hints,
        places=config.places,
    )


def filled_network(config: NTupleConfig, weights: Weights, memory_bits: int | None = None) -> Network:
    """Return the network of a config for kernels, filled with weights."""
    network = new_network(replace(config, v_init=0.0), memory_bits)  # zeros: no page is touched before it is filled
    write_field(network, weights)
    return network._replace(initial=initial_weight(config.v_init, len(network.symmetries), len(network.tables)))


def check_beginning(stored: NTupleConfig, config: NTupleConfig) -> None:
    """Check that training with a config can begin from a stored network.

    Raises:
        ValueError: the board, the symmetry or the kind of values differs, the network has tuples that the config lacks,
            or its stages are not the first ones of the config.
    """
    for key, theirs, ours in differences(shape_of(stored), shape_of(config)):
        if key not in ("network", "stages"):  # these may differ in part; checked below
            raise ValueError(f"it has {key} = {theirs!r}, the config {ours!r}")
    if not set(stored.patterns) <= set(config.patterns):
        raise ValueError(f"it has network = {list_text(stored.network)}, the config {list_text(config.network)}")
    theirs, ours = stored.cut, config.cut
    count = theirs.thresholds.size
    if not np.array_equal(theirs.thresholds, ours.thresholds[:count]) or (
        count and theirs.counts_all != ours.counts_all
    ):
        first = list_text(stored.stages)
        raise ValueError(f"it has stages = {first}, which are not the first ones of {list_text(config.stages)}")


def load_weights(folder: Path, config: NTupleConfig) -> Weights:
    """Load the weights float32[parts * sum of A R^n] of a checkpoint folder, part by part, table by table.

    They are a private memory map: changes stay in this process, and the file may be deleted, but not changed in place.
    """
    return load_stored(folder, config).weights


def load_network(folder: Path, config: NTupleConfig) -> Network:
    """Load the network of a checkpoint folder for kernels that play; only the weights are read."""
    stored = load_stored(folder, config)
    return filled_network(stored.config, stored.weights)
