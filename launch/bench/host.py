"""The memory of the host, and the lines that a move touches: what limits n-tuple training and play.

Speeds of two hosts, or of two hours on one host, can be compared only beside these figures.
"""

import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from launch.bench.rows import Row, best_seconds
from ntuple.game.bitboard import Rules
from ntuple.game.episode import COLUMNS
from ntuple.players.greedy import make_scratch
from ntuple.players.memory_use import chase, gather, touch
from ntuple.tables.network import VIEWS, Network
from ntuple.tables.placement import LINE

LOADS = 2_000_000
LINES = 1 << 22  # of the table to load from: 256 MB, as 4x6 has
MOVES = 4_000  # counted, after as many that are not
NANOSECONDS = 1e9
HUGE, MAPPED = "AnonHugePages:", "Rss:"


def make_cycle(lines: int) -> NDArray[np.uint32]:
    """Return a table of cache lines whose first numbers are links: one cycle through all lines, in random order."""
    following = np.zeros(lines * LINE, np.uint32)
    order = np.random.default_rng(0).permutation(lines).astype(np.uint32) * np.uint32(LINE)
    following[order] = np.roll(order, -1)
    return following


def load_rows(lines: int = LINES, loads: int = LOADS) -> list[Row]:
    """Measure loads from a table: one after the other, and independent ones.

    Args:
        lines: cache lines of the table, a power of two.
        loads: number of loads.

    Returns:
        Two rows, in nanoseconds a load.
    """
    following = make_cycle(lines)
    kinds = {"one after the other": chase, "independent": gather}
    seconds = best_seconds({name: lambda load=load: load(following, loads) for name, load in kinds.items()})
    size = f"{following.nbytes / 2**20:.0f} MB"
    return [Row(f"host: a load from {size}, {name}", NANOSECONDS * seconds[name] / loads, "ns", {}) for name in kinds]


def table_rows(rules: Rules, network: Network, name: str) -> list[Row]:
    """Count the cache lines of weights that 1-ply play touches, and the share of the weights in huge pages.

    Args:
        rules: the game.
        network: a trained network.
        name: name of the network in the rows.

    Returns:
        Rows: lines of the four afterstates of a board, those of them that the previous board of the game did not touch,
        and huge pages, where the system reports them.
    """
    entries = np.zeros((2 * MOVES, 4 * VIEWS * network.tables.size), np.int64)
    touch(rules, network, make_scratch(network), np.zeros(COLUMNS, np.uint64), entries)
    lines = [np.unique(touched[touched >= 0] // LINE) for touched in entries[MOVES:]]
    new = [np.setdiff1d(after, before).size for before, after in itertools.pairwise(lines)]
    rows = [
        Row(f"lines a move, {name}", float(np.mean([touched.size for touched in lines])), "lines", {}),
        Row(f"lines that the previous move did not touch, {name}", float(np.mean(new)), "lines", {}),
    ]
    share = huge_page_share(network.weights)
    return rows if share is None else [*rows, Row(f"huge pages, {name}", 100 * share, "%", {})]


def huge_page_share(array: NDArray[np.float32]) -> float | None:
    """Return the share of the memory of an array that is in huge pages; None where the system does not report it."""
    try:
        lines = Path("/proc/self/smaps").read_text().splitlines()
    except OSError:
        return None
    middle, is_inside, sizes = array.ctypes.data + array.nbytes // 2, False, {}
    for line in lines:
        name, *rest = line.split()
        if not name.endswith(":"):
            begin, end = (int(part, 16) for part in name.split("-"))
            is_inside = begin <= middle < end
        elif is_inside and name in (HUGE, MAPPED):
            sizes[name] = int(rest[0])
    return sizes[HUGE] / sizes[MAPPED] if sizes.get(MAPPED) else None
