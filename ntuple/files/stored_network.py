"""Networks outside of training: what a checkpoint or a .w file holds, to be averaged, folded or converted."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntuple.files.safetensors import Tensors, differences, load_tensors, save_tensors, saved_promotion, shape_of, take
from ntuple.files.tdl import UNTOUCHED, Table, WeightFile, make_name, stage_and_pattern
from ntuple.game.bitboard import make_rules
from ntuple.learning.config import NTupleConfig, available_cores
from ntuple.learning.state_and_q import KINDS
from ntuple.learning.step_sizes import FIRST, SECOND, TD_RECORD_BITS, THIRD
from ntuple.lists import as_tuple, list_text
from ntuple.players.player import NTuplePlayer
from ntuple.tables.folding import fold
from ntuple.tables.network import Network, initial_weight, make_network, read_field, write_field
from ntuple.tables.patterns import Pattern, count_levels, network_texts, parse_network, table_sizes, view_cells
from ntuple.tables.promotion import promoted
from ntuple.tables.stages import count_stages, make_stages

WEIGHTS_FILE = "weights.safetensors"
STAGES_TYPE = tuple[int | str, ...]  # of NTupleConfig.stages
TRAINING_FILE = "training.safetensors"
# Names in files of what the adaptive rule keeps in a record beside the weight: E and A of TC, three of Autostep.
MEMORY_FIELDS = {"first": FIRST, "second": SECOND, "log_rate": THIRD}
# What older files of Autostep have in place of log_rate: their rates began with step_size.first, not divided by S M.
UNDIVIDED_RATE = "third"
ERRORS, ABSOLUTES = "first", "second"

Weights = NDArray[np.float32]  # [stages * sum of A R^n] stage by stage, table by table, first cell = lowest nibble


@dataclass(frozen=True)
class StoredNetwork:
    """A network in the order of files, with what it was trained by."""

    config: NTupleConfig
    weights: Weights
    memory: dict[str, Weights] = field(default_factory=dict)  # of the adaptive rule, if it was kept

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The tuples, in the order of their tables."""
        return parse_network(self.config.network, self.config.rows, self.config.columns)

    @property
    def num_views(self) -> int:
        """S."""
        return len(view_cells(self.config.rows, self.config.columns, self.config.symmetry))

    @property
    def initial(self) -> np.float32:
        """The weight of an entry that no update has touched: v_init / (S M)."""
        return initial_weight(self.config.v_init, self.num_views, len(self.patterns))

    @property
    def table_sizes(self) -> list[int]:
        """The weights of each tuple in a stage."""
        return table_sizes(self.patterns, self.config.rows, self.config.columns, self.config.values)

    def tables(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """One of the arrays as [M] views [stages, A R^n]."""
        stages = values.reshape(count_stages(self.config.stages), -1)
        starts = np.cumsum([0, *self.table_sizes])
        return [stages[:, start:end] for start, end in itertools.pairwise(starts)]

    def as_part_of(self, network: tuple[str, ...], initial: float = 0.0) -> "StoredNetwork":
        """The same tables in the order of a network that has all of its tuples; those of others hold `initial`."""
        config = replace(self.config, network=network)
        patterns = parse_network(network, config.rows, config.columns)
        sizes = table_sizes(patterns, config.rows, config.columns, config.values)
        stages = count_stages(config.stages)

        def ordered(values: Weights, others: float) -> Weights:
            mine = dict(zip(self.patterns, self.tables(values), strict=True))
            parts = [
                mine[pattern] if pattern in mine else np.full((stages, size), others, np.float32)
                for pattern, size in zip(patterns, sizes, strict=True)
            ]
            return np.concatenate(parts, axis=1).ravel()

        memory = {name: ordered(values, 0.0) for name, values in self.memory.items()}
        return StoredNetwork(config, ordered(self.weights, initial), memory)

    def promoted(self) -> "StoredNetwork":
        """The same values by weights alone: promoted weights are written out, and nothing is left to promote."""
        if self.config.promotion == "none":
            return self
        weights = read_field(promoted(filled_network(self.config, self.weights)))
        return StoredNetwork(replace(self.config, promotion="none"), weights, self.memory)

    def folded(self) -> "StoredNetwork":
        """The same values with every tuple that lies inside a larger one added to it; training cannot go on.

        The weights of untouched entries are v_init / (S M) again, M now the tuples that are left.

        Raises:
            ValueError: the network values actions.
        """
        if self.config.values == "action":
            raise ValueError("a network of action values has a table an action: it cannot be folded")
        views = view_cells(self.config.rows, self.config.columns, self.config.symmetry)
        levels = count_levels(self.config.rows, self.config.columns)
        whole = self.promoted()
        patterns, tables = fold(self.patterns, whole.tables(whole.weights - self.initial), views, levels)
        folded = StoredNetwork(
            replace(whole.config, network=network_texts(patterns)), np.concatenate(tables, axis=1).ravel()
        )
        folded.weights[:] += folded.initial
        return folded

    def to_w(self, half: bool = False) -> WeightFile:
        """As a file of TDL2048+, with E and A if they were kept and it is not `half`.

        It has no promotion: promoted weights are written out. Its E and A sum alpha delta / (S M) where ours sum delta
        (TDL2048+, `state::instruct` and `coherence::operator +=`); alpha is taken to be 1, as it is for TC.

        Raises:
            ValueError: a board or network that the program does not have, or weights that half precision does not have.
        """
        config = self.config
        if (config.rows, config.columns) != (4, 4) or not config.symmetry or config.values != "afterstate":
            raise ValueError(
                "TDL2048+ has afterstates of 4x4 boards and shared tables alone: this network cannot be a .w file"
            )
        weights = self.promoted().weights
        arrays = [self.tables(in_half(weights) if half else weights)]
        if not half and self.memory.keys() == {ERRORS, ABSOLUTES}:  # the program reads all blocks in one precision
            arrays += [self.tables(self.memory[name] / self.error_scale) for name in (ERRORS, ABSOLUTES)]
        stages = count_stages(config.stages)
        found = []
        for stage in range(stages):
            for m, pattern in enumerate(self.patterns):
                weights, *sums = (tables[m][stage] for tables in arrays)
                blocks = [weights]
                if sums:
                    untouched = sums[1] == 0
                    blocks.append(np.concatenate([np.where(untouched, UNTOUCHED, part) for part in sums]))
                found.append(Table(make_name(pattern, stage, stages), tuple(blocks)))
        return WeightFile(tuple(found), has_type_byte=False)

    @property
    def error_scale(self) -> np.float32:
        """Our E and A divided by those of TDL2048+: S M."""
        return np.float32(self.num_views * len(self.patterns))


def count_file_stages(file: WeightFile) -> int:
    """The stages of a file of TDL2048+."""
    return 1 + max(stage for stage, _ in map(stage_and_pattern, file.tables))


def from_w(file: WeightFile, config: NTupleConfig, stages: str | Sequence[int | str] = ()) -> StoredNetwork:
    """The network of a file of TDL2048+; its E and A are brought to our scale (see `StoredNetwork.to_w`).

    Args:
        file: the file's content.
        config: what else the network's config says.
        stages: where its stages begin, which the file does not say.

    Raises:
        ValueError: tables that are no tuples of cells, stages that differ, or another number of stages than `stages`.
    """
    found = {stage_and_pattern(table): table.blocks for table in file.tables}
    count = count_file_stages(file)
    patterns = list(dict.fromkeys(pattern for _, pattern in found))
    if count_stages(stages) != count:
        raise ValueError(
            f"the file has {count} stage(s), not {count_stages(stages)}: give the --stages it was trained with"
        )
    missing = [(stage, pattern) for stage in range(count) for pattern in patterns if (stage, pattern) not in found]
    if missing:
        raise ValueError(f"stage {missing[0][0]} of the file lacks the tuple {missing[0][1]}")
    blocks = [found[stage, pattern] for stage in range(count) for pattern in patterns]
    weights = np.concatenate([block[0].astype(np.float32) for block in blocks])
    stored = StoredNetwork(
        replace(config, network=network_texts(patterns), stages=as_tuple(STAGES_TYPE, stages)), weights
    )
    if all(len(block) > 1 and block[1].size == 2 * block[0].size for block in blocks):
        sums = [np.concatenate([_sums(block[1])[number] for block in blocks]) for number in range(2)]
        stored.memory.update(zip((ERRORS, ABSOLUTES), (part * stored.error_scale for part in sums), strict=True))
    return stored


def _sums(block: NDArray[np.generic]) -> NDArray[np.float32]:
    """E and A [2, L] of a table of a file, 0 where no update has touched them."""
    sums = block.astype(np.float32).reshape(2, -1)
    return np.where(sums[1] == UNTOUCHED, np.float32(0), sums)


def load_stored(folder: Path, config: NTupleConfig, with_memory: bool = False) -> StoredNetwork:
    """The network of a checkpoint folder, and on request what its adaptive rule knows, if it had begun.

    A mean of networks has no promotion, whatever that of its training was: the weights file says which it is.

    Raises:
        ValueError: the files are missing, damaged, or of another board, network or stages than the config's.
    """
    path = folder / WEIGHTS_FILE
    weights = read_weights(load_tensors(path, config), "weights", config, path)
    config = replace(config, promotion=saved_promotion(path))
    path = folder / TRAINING_FILE
    memory = read_memory(load_tensors(path, config), config, path) if with_memory and path.exists() else {}
    return StoredNetwork(config, weights, memory)


def read_memory(training: Tensors, config: NTupleConfig, path: Path) -> dict[str, Weights]:
    """What the adaptive rule knows, of the tensors of TRAINING_FILE; empty if it had not begun or is UNDIVIDED_RATE's.

    Raises:
        ValueError: it does not fit the config.
    """
    if UNDIVIDED_RATE in training:
        return {}
    return {name: read_weights(training, name, config, path) for name in MEMORY_FIELDS if name in training}


def read_weights(tensors: Tensors, name: str, config: NTupleConfig, path: Path) -> Weights:
    """A tensor of one number a weight, of single or half precision; ValueError if it does not fit the config."""
    patterns = parse_network(config.network, config.rows, config.columns)
    size = sum(table_sizes(patterns, config.rows, config.columns, config.values))
    dtype = tensors[name].dtype if name in tensors and tensors[name].dtype == np.float16 else np.dtype(np.float32)
    values = take(tensors, name, (size * count_stages(config.stages),), dtype, path)
    return values.astype(np.float32, copy=False)


def in_half(weights: Weights) -> NDArray[np.float16]:
    """The weights in half precision.

    Raises:
        ValueError: some are too large for it.
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
    """Write a network for play into a folder; `half` halves the file by half precision.

    Raises:
        ValueError: see `in_half`.
    """
    weights = in_half(stored.weights) if half else stored.weights
    save_tensors(folder / WEIGHTS_FILE, {"weights": weights}, stored.config)


def new_network(config: NTupleConfig, record_bits: int = TD_RECORD_BITS) -> Network:
    """The network with which a training begins."""
    return make_network(
        config.network,
        config.rows,
        config.columns,
        config.v_init,
        record_bits=record_bits,
        stages=config.stages,
        promotion=config.promotion,
        symmetry=config.symmetry,
        values=config.values,
        frozen_stages=config.frozen_stages,
        frozen_tuples=config.frozen_tuples,
    )


def filled_network(config: NTupleConfig, weights: Weights, record_bits: int = TD_RECORD_BITS) -> Network:
    """The network of a config with given weights, in the order of files."""
    network = new_network(replace(config, v_init=0.0), record_bits)  # zeros: no page is touched before it is filled
    write_field(network, weights)
    return network._replace(initial=initial_weight(config.v_init, len(network.symmetries), len(network.tables)))


def check_beginning(stored: NTupleConfig, config: NTupleConfig) -> None:
    """Refuse a network with which no training of the config can begin.

    Raises:
        ValueError: it differs in board, symmetry or value, has tuples that the config lacks, or stages that are not the
            first ones of the config.
    """
    for key, theirs, ours in differences(shape_of(stored), shape_of(config)):
        if key not in ("network", "stages"):  # these may differ in part, see below
            raise ValueError(f"it has {key} = {theirs!r}, the config {ours!r}")
    shape = (config.rows, config.columns)
    if not set(parse_network(stored.network, *shape)) <= set(parse_network(config.network, *shape)):
        raise ValueError(f"it has network = {list_text(stored.network)}, the config {list_text(config.network)}")
    theirs, ours = make_stages(stored.stages), make_stages(config.stages)
    count = theirs.thresholds.size
    if not np.array_equal(theirs.thresholds, ours.thresholds[:count]) or (
        count and theirs.counts_all != ours.counts_all
    ):
        first = list_text(stored.stages)
        raise ValueError(f"it has stages = {first}, which are not the first ones of {list_text(config.stages)}")


def load_weights(folder: Path, config: NTupleConfig) -> Weights:
    """The weights float32[stages * sum of A R^n] of a checkpoint folder, stage by stage, table by table.

    Raises:
        ValueError: they are missing, damaged, or of another board, network or stages than the config's.
    """
    return load_stored(folder, config).weights


def load_player(folder: Path, config: NTupleConfig) -> NTuplePlayer:
    """The player of a checkpoint folder, on all cores; it reads the weights and nothing else.

    Raises:
        ValueError: see `load_weights`.
    """
    stored = load_stored(folder, config)
    network = filled_network(stored.config, stored.weights)
    return NTuplePlayer(make_rules(config.rows, config.columns), network, available_cores(), KINDS[config.values])
