"""Rows of a benchmark, and timing: runs are interleaved, the best of several repeats counts, ratios are to peers."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from launch.output import print_json
from launch.progress import say

REPEATS = 5  # the best repeat counts, since other load on the machine can only slow a run down


class BenchRow(NamedTuple):
    """A figure, and its ratio to the same figure of each peer."""

    name: str
    value: float
    unit: str
    ratio: Mapping[str, float] = MappingProxyType({})  # by peer

    @property
    def text(self) -> str:
        """Return the value as text: no decimals from 100 on, three significant digits below."""
        return f"{self.value:,.0f}" if abs(self.value) >= 100 else f"{self.value:.3g}"


def show(rows: Sequence[BenchRow], as_json: bool) -> None:
    """Print a table of the rows, and with `as_json` one JSON object."""
    peers = list(dict.fromkeys(peer for row in rows for peer in row.ratio))
    table = Table("", "value", "unit", *(f"x {peer}" for peer in peers))
    for row in rows:
        ratios = (f"{row.ratio[peer]:.1f}" if peer in row.ratio else "" for peer in peers)
        table.add_row(row.name, row.text, row.unit, *ratios)
    Console().print(table)
    if as_json:
        print_json({"rows": [row._asdict() | {"ratio": dict(row.ratio)} for row in rows]})


def best_seconds(runs: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """Return the least seconds of each run.

    Runs are called in turn, so that other load on the machine slows all of them alike. A run must return only when its
    work is done.
    """
    best = dict.fromkeys(runs, float("inf"))
    for repeat in range(repeats):
        for name, run in runs.items():
            say(f"{name}, repeat {repeat + 1} of {repeats}")
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best
