"""Values of many similar boards: sums of entries are remembered by the lines of the board that they read.

Most tuples lie in two adjacent rows or columns, in every view. So V is a sum of a few parts, each of which depends on two
lines alone (a window; of three where a tuple needs them): six parts for the named networks of 4+2 and 2x3 tuples. The boards
of a search tree share most of their lines, and its next tree too, so nine of ten parts are found where they were left, in
tables that stay in the second-level cache, and a board costs six look-ups there in place of 32 in the network: searches of
2 and 3 plies became twice as fast. A part's key holds its lines whole, so nothing is ever taken for something else.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.board import U32, ZERO, Board, Rules, index_word, transpose
from ntuple.jit import inline, kernel
from ntuple.network import NO_CELL, VIEWS, Lookup, Network, find_entries, make_lookup, weight_of
from ntuple.stages import stage_of

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
STAGE_SHIFT = np.uint64(48)  # of a key, above three lines
NO_KEY = np.uint64(2**64 - 1)
PART_BITS = 12  # log2 of the remembered sums of a window: 48 KiB
SIDE = 4  # lines of a word, and cells of a line
LINE_BITS = 16


class Windows(NamedTuple):
    """The parts of a network's values, and sums that were needed before; of one thread, made by `make_windows`."""

    turned: NDArray[np.bool_]  # [W] whether its lines are columns
    shifts: NDArray[np.uint64]  # [W] of its first line in the word, or in the transposed word
    masks: NDArray[np.uint64]  # [W] of its lines
    starts: NDArray[np.int64]  # [W + 1] its entries lie from start w to start w + 1
    entries: NDArray[np.int64]  # 8 m + view of each
    keys: NDArray[np.uint64]  # [W, 2^n]
    sums: NDArray[np.float32]  # [W, 2^n]


def make_windows(network: Network, part_bits: int = PART_BITS) -> Windows:
    """The windows of a network, each entry in the narrowest one that holds its cells; nothing is remembered yet."""
    cells = network.shuffles.reshape(network.tables.size, 2, VIEWS, 4)
    found: dict[tuple[int, bool, int], list[int]] = {}  # lines, turned, first line -> entries
    for m, v in itertools.product(range(network.tables.size), network.symmetries):
        places = [divmod(int(cell), SIDE) for cell in cells[m, :, v].ravel() if cell != NO_CELL]
        spans = []
        for turned in (False, True):
            lines = [place[turned] for place in places]
            spans.append((max(lines) - min(lines) + 1, turned, min(lines)))
        count, turned, first = min(spans)
        if count == 1:  # no window of its own: with the line inside
            count, first = 2, min(max(first - (first > 1), 0), SIDE - 2)
        found.setdefault((count, turned, first), []).append(VIEWS * m + v)
    keys = sorted(found, key=lambda window: window[1])
    sizes = [len(found[key]) for key in keys]
    return Windows(
        turned=np.array([turned for _, turned, _ in keys]),
        shifts=np.array([LINE_BITS * first for _, _, first in keys], np.uint64),
        masks=np.array([2 ** (LINE_BITS * count) - 1 for count, _, _ in keys], np.uint64),
        starts=np.cumsum([0, *sizes]),
        entries=np.concatenate([found[key] for key in keys]),
        keys=np.full((len(keys), 1 << part_bits), NO_KEY, np.uint64),
        sums=np.zeros((len(keys), 1 << part_bits), np.float32),
    )


class Windowed(NamedTuple):
    """A network whose values are remembered by parts; of one thread, made by `make_windowed`."""

    network: Network
    windows: Windows
    lookup: Lookup  # of one row


def make_windowed(network: Network) -> Windowed:
    """A network with nothing remembered yet; its weights must not change from now on."""
    return Windowed(network, make_windows(network), make_lookup(network, 1))


@inline
def windowed_value(rules: Rules, values: Windowed, board: Board) -> np.float32:
    """V of a board; it differs from `ntuple.network.value_at` by the order of the sum."""
    network, windows = values.network, values.windows
    word = index_word(board)
    turned = transpose(word)
    stage = stage_of(network.stages, board) if network.stages.thresholds.size else ZERO
    total = np.float32(0)
    for w in range(windows.masks.size):
        source = turned if windows.turned[w] else word
        key = ((source >> windows.shifts[w]) & windows.masks[w]) | stage << STAGE_SHIFT
        slot = ((key * MULTIPLIER) >> U32) & np.uint64(windows.keys.shape[1] - 1)
        if windows.keys[w, slot] != key:
            remember_part(rules, values, w, source, stage, slot, key)
        total += windows.sums[w, slot]
    return total


@kernel
def remember_part(
    rules: Rules, values: Windowed, w: int, source: np.uint64, stage: np.uint64, slot: np.uint64, key: np.uint64
) -> None:
    """Add the entries of a window up; its lines are in `source`, a word or a transposed one."""
    network, windows, lookup = values
    lines = source & (windows.masks[w] << windows.shifts[w])
    find_entries(rules, network, Board(transpose(lines) if windows.turned[w] else lines, ZERO), lookup, 0)
    base = stage * network.stage_size
    total = np.float32(0)
    for k in range(windows.starts[w], windows.starts[w + 1]):
        at = windows.entries[k]
        m, entry = at // VIEWS, lookup.entries[at]
        if network.promotion:
            total += weight_of(network, base, m, entry)
        else:
            total += network.weights[(base + network.tables[m] + np.uint64(entry)) << network.record_bits]
    # With all four lines a key has no room for the stage: then the sum serves this board alone.
    has_room = windows.masks[w] >> STAGE_SHIFT == ZERO or network.stages.thresholds.size == 0
    windows.keys[w, slot] = key if has_room else NO_KEY
    windows.sums[w, slot] = total
