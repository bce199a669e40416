"""Convert networks to and from files of TDL2048+ (`.w`).

TDL2048+ sums alpha delta / (S M) in E and A (`state::instruct` and `coherence::operator +=`). This project sums delta
if `step_size.tc.sums` is `errors`. The E and A of TDL2048+ are then ours divided by S M, taking alpha = 1, its value
for TC. With `steps` this project sums the changes of the weights, which have the unit of TDL2048+.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.known import find_game
from ntuple.files.stored_network import ABSOLUTES, ERRORS, StoredNetwork, in_half
from ntuple.files.tdl import UNTOUCHED, FileTable, WeightFile, count_file_stages, make_name, stage_and_pattern
from ntuple.learning.config import NTupleConfig
from ntuple.tables.patterns import network_texts
from ntuple.tables.stages import count_stages


def to_w(stored: StoredNetwork, half: bool = False) -> WeightFile:
    """Return a network as a file of TDL2048+.

    The format has no promotion, so promoted weights are written into the entries. E and A are included if the network
    has them and `half` is False: TDL2048+ reads all blocks of a file in one precision.

    Raises:
        ValueError: TDL2048+ does not have this board or kind of network, or a weight is too large for half precision.
    """
    config = stored.config
    is_plain = find_game(config.game).doubles and (config.rows, config.columns) == (4, 4)
    if not is_plain or not config.symmetry or config.values != "afterstate":
        raise ValueError(
            "TDL2048+ has afterstates of 2048 on 4x4 boards and shared tables alone: this network cannot be a .w file"
        )
    weights = stored.promoted().weights
    arrays = [stored.tables(in_half(weights) if half else weights)]
    if not half and stored.memory.keys() == {ERRORS, ABSOLUTES}:
        arrays += [stored.tables(stored.memory[name] / _error_scale(stored)) for name in (ERRORS, ABSOLUTES)]
    stages = count_stages(config.stages)
    found = []
    for stage in range(stages):
        for m, pattern in enumerate(stored.patterns):
            weights, *sums = (tables[m][stage] for tables in arrays)
            blocks = [weights]
            if sums:
                untouched = sums[1] == 0
                blocks.append(np.concatenate([np.where(untouched, UNTOUCHED, part) for part in sums]))
            found.append(FileTable(make_name(pattern, stage, stages), tuple(blocks)))
    return WeightFile(tuple(found), has_type_byte=False)


def from_w(file: WeightFile, config: NTupleConfig, stages: str | Sequence[int | str] = ()) -> StoredNetwork:
    """Return the network of a file of TDL2048+, its E and A in the unit of `step_size.tc.sums`.

    Args:
        config: its `network` and `stages` are replaced by those of the file.
        stages: the thresholds of the stages, which the file does not contain.

    Raises:
        ValueError: a table does not belong to a tuple of cells, the stages have different tuples, or their number is
            not that of `stages`.
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
    if isinstance(stages, str):
        stages = [int(word) if word.isdecimal() else word for word in stages.split(",") if word]
    stored = StoredNetwork(replace(config, network=network_texts(patterns), stages=tuple(stages)), weights)
    if all(len(block) > 1 and block[1].size == 2 * block[0].size for block in blocks):
        sums = [np.concatenate([_sums(block[1])[number] for block in blocks]) for number in range(2)]
        stored.memory.update(zip((ERRORS, ABSOLUTES), (part * _error_scale(stored) for part in sums), strict=True))
    return stored


def _sums(block: NDArray[np.generic]) -> NDArray[np.float32]:
    """Return E and A [2, L] of a table of a file, 0 where no update has touched them."""
    sums = block.astype(np.float32).reshape(2, -1)
    return np.where(sums[1] == UNTOUCHED, np.float32(0), sums)


def _error_scale(stored: StoredNetwork) -> np.float32:
    """Return our E and A divided by those of TDL2048+."""
    if stored.config.step_size.tc.sums == "steps":
        return np.float32(1)
    return np.float32(stored.num_views * len(stored.patterns))
