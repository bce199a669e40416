"""What a benchmark prints, and how it times: interleaved, best of several, as ratios to peers of the same run."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

REPEATS = 5  # the best of them counts: other load on a machine only ever makes a run slower


class Row(NamedTuple):
    """One figure, and its ratio to the same figure of each peer."""

    name: str
    value: float
    unit: str
    ratio: Mapping[str, float]

    @property
    def text(self) -> str:
        """The value with as many digits as can be read."""
        return f"{self.value:,.0f}" if abs(self.value) >= 100 else f"{self.value:.3g}"


def best_seconds(runs: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """Least seconds of each run, taken in turn, so that a slow spell of the machine strikes all alike.

    A run returns when its work is done.
    """
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best
