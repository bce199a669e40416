"""What limits n-tuple training and play: the host's memory, lines that a move touches, compile times, lost updates.

python -m benchmarks.ntuple_costs [--json]

Speeds of two hosts, or of two hours on one host, can be compared only beside these figures.
"""

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ntuple
from benchmarks.script import run_bench
from launch.bench.ntuple import METHODS, NETWORKS, THREADS, WARM_MOVES, going_on, warmed
from launch.bench.rows import REPEATS, BenchRow, best_seconds
from launch.quantities import counted
from ntuple import NTupleLearner, make_rules
from ntuple.core.settings import list_text
from ntuple.game.any_game import AnyRules
from ntuple.game.bitboard import Rules
from ntuple.game.episode import COLUMNS, RNG, Row, begin_game, board_of, go_on
from ntuple.game.jit import kernel
from ntuple.game.rng import stream
from ntuple.players.greedy import Scratch, best_move, look_ahead, make_scratch
from ntuple.tables.cpu_placement import LINE
from ntuple.tables.file_order import read_field
from ntuple.tables.network import VIEWS, Network
from ntuple.td.step_sizes import SECOND, forget

LOADS = 2_000_000
LINES = 1 << 22  # of the table to load from: 256 MB, as 4x6 has
MOVES = 4_000  # counted, after as many that are not
NANOSECONDS = 1e9
COUNTED_MOVES = 100_000  # moves in a repeat of `lost_updates`; few, so that float32 rounds little in the sums of TC
DRIFT_REPORTS = 20  # reports before that, so that games that began at the same time are in different phases
PER_MILLION = 1e6
HUGE, MAPPED = "AnonHugePages:", "Rss:"


def bench(networks: tuple[str, ...] = NETWORKS, warm_moves: int = WARM_MOVES) -> list[BenchRow]:
    """Measure loads from memory, compile times, and for each network the lines of a move and lost updates."""
    rows = [*load_rows(), *compile_times()]
    for network in networks:
        learner = warmed(network, METHODS["TD(0)"], warm_moves)
        rows += table_rows(make_rules(learner.config.rows, learner.config.columns), learner.network, network)
        rows += lost_updates(warmed(network, METHODS["TC"], warm_moves))
    return rows


def make_cycle(lines: int) -> NDArray[np.uint32]:
    """Return a table of cache lines whose first numbers are links: one cycle through all lines, in random order."""
    following = np.zeros(lines * LINE, np.uint32)
    order = np.random.default_rng(0).permutation(lines).astype(np.uint32) * np.uint32(LINE)
    following[order] = np.roll(order, -1)
    return following


def load_rows(lines: int = LINES, loads: int = LOADS) -> list[BenchRow]:
    """Measure the nanoseconds of loads, dependent and independent ones, from a table of `lines`, a power of two."""
    following = make_cycle(lines)
    kinds = {"one after the other": chase, "independent": gather}
    seconds = best_seconds({name: lambda load=load: load(following, loads) for name, load in kinds.items()})
    size = f"{following.nbytes / 2**20:.0f} MB"
    return [BenchRow(f"host: a load from {size}, {name}", NANOSECONDS * seconds[name] / loads, "ns") for name in kinds]


def table_rows(rules: Rules, network: Network, name: str) -> list[BenchRow]:
    """Count the cache lines of weights that 1-ply play touches, and the share of the weights in huge pages.

    The rows are the lines of the four afterstates of a board, those of them that the previous board of the game did not
    touch, and huge pages, where the system reports them.
    """
    entries = np.zeros((2 * MOVES, 4 * VIEWS * network.tables.size), np.int64)
    touch(rules, network, make_scratch(network), np.zeros(COLUMNS, np.uint64), entries)
    lines = [np.unique(touched[touched >= 0] // LINE) for touched in entries[MOVES:]]
    new = [np.setdiff1d(after, before).size for before, after in itertools.pairwise(lines)]
    rows = [
        BenchRow(f"lines a move, {name}", float(np.mean([touched.size for touched in lines])), "lines"),
        BenchRow(f"lines that the previous move did not touch, {name}", float(np.mean(new)), "lines"),
    ]
    share = huge_page_share(network.weights)
    return rows if share is None else [*rows, BenchRow(f"huge pages, {name}", 100 * share, "%")]


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


def lost_updates(learner: NTupleLearner) -> Iterator[BenchRow]:
    """Yield how many of a million updates of an entry are lost because threads write at the same time.

    An update of TC adds |delta| to the sum A of each of its entries. Without losses, the sum of A over all entries is
    the sum of |delta| over updates and their entries:

        lost = 1 - sum of A / (mean |delta| * updates * entries per update)

    The row of one thread shows the error by rounding of float32.
    """
    for threads in THREADS:
        sharing = going_on(learner, threads, COUNTED_MOVES)
        for _ in range(DRIFT_REPORTS):
            sharing.advance()
        expected = actual = 0.0
        for _ in range(REPEATS):
            forget(learner.network)
            before = sharing.progress["updates"]
            error = sharing.advance()["td/error_abs_mean"]
            entries = len(learner.network.symmetries) * len(learner.network.tables)
            expected += error * (sharing.progress["updates"] - before) * entries
            actual += float(read_field(learner.network, SECOND).sum(dtype=np.float64))
        name = f"lost of a million updates, {list_text(learner.config.network)}, TC, {counted(threads, 'thread')}"
        yield BenchRow(name, PER_MILLION * (1 - actual / expected), "updates")


def compile_times() -> list[BenchRow]:
    """Measure the seconds from the start of a process to its first update, with an empty and a filled kernel cache."""
    code = (
        "from ntuple import NTupleConfig, NTupleLearner;"
        "NTupleLearner(NTupleConfig(network='012345', env_steps=2, report_env_steps=2, threads=1), 1).advance()"
    )
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(Path(ntuple.__file__).parent.parent)}
        for name in ("compile training, first time", "compile training, from the cache"):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
            rows.append(BenchRow(name, time.perf_counter() - began, "s"))
    return rows


@kernel
def chase(following: NDArray[np.uint32], loads: int) -> int:
    """Follow `loads` links, each load waiting for the one before; return the last place."""
    at = np.uint32(0)
    for _ in range(loads):
        at = following[at]
    return int(at)


@kernel
def gather(following: NDArray[np.uint32], loads: int) -> int:
    """Load from `loads` places that do not depend on each other; return a sum of what is there."""
    mask, total, place = np.uint64(following.size - 1), np.uint64(0), np.uint64(1)
    for _ in range(loads):
        place = place * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        total += np.uint64(following[(place >> np.uint64(32)) & mask])
    return int(total)


@kernel
def touch(rules: AnyRules, network: Network, scratch: Scratch, row: Row, entries: NDArray[np.int64]) -> None:
    """Play games and write the entries of the four afterstates of each board, -1 for those of illegal moves.

    Args:
        entries: int64[moves, 4 * 8 M], filled with the numbers of weights.
    """
    lookup, views = scratch.lookup, len(network.symmetries)
    begin_game(rules, row, stream(np.uint64(1), np.uint64(0)))
    move = 0
    while move < entries.shape[0]:
        look_ahead(rules, network, board_of(row), scratch, 0)
        best = best_move(network, scratch, 0)
        if best.action < 0:
            begin_game(rules, row, row[RNG])
            continue
        for action in range(4):
            for m in range(network.tables.size):
                for view in range(VIEWS):
                    i = (action * network.tables.size + m) * VIEWS + view
                    entry = lookup.bases[action] + network.tables[m] + np.uint64(lookup.entries[i])
                    is_used = scratch.rewards[0, action] >= 0 and view < views
                    entries[move, i] = np.int64(entry) if is_used else -1
        go_on(rules, row, best.after, np.uint64(best.reward))
        move += 1


if __name__ == "__main__":
    sys.exit(run_bench("ntuple_costs", "Measure what limits n-tuple networks.", bench))
