"""n-tuple networks in plain Python: the slow, readable reference for the kernels.

A table is a dict from entries to weights. An entry that is not in the dict has never been updated. Numbers are Python
floats; the kernels agree with them up to float32 rounding.
"""

import math
from collections import Counter
from collections.abc import Callable

from reference.rules import Board, cells, symmetries

Pattern = tuple[int, ...]
Entry = tuple[int, int, int]  # stage, tuple m, index into its table
Move = tuple[Board, float]  # an afterstate, and the reward of the move that led to it


def index(pattern: Pattern, view: Board) -> int:
    """Return sum_i cell[pattern[i]] * R^i for R levels of tiles; a tile above level R - 1 counts as level R - 1."""
    tiles = cells(view)
    levels = min(16, len(tiles) + 2)  # the largest tile of k cells is 2^(k + 1)
    return sum(min(tiles[cell], levels - 1) * levels**i for i, cell in enumerate(pattern))


def halved(number: int, levels: int = 16) -> int:
    """Return the index with all tiles halved: every digit decreases by one, and 0 stays 0."""
    digits = [number // levels**i % levels for i in range(8)]
    return sum(max(digit - 1, 0) * levels**i for i, digit in enumerate(digits))


class Network:
    """An n-tuple network with the updates of TD, TC and Autostep."""

    def __init__(
        self,
        patterns: list[Pattern],
        num_symmetries: int,
        v_init: float = 0.0,
        stage: Callable[[Board], int] = lambda board: 0,
        promotion: str = "none",
    ) -> None:
        self.patterns, self.num_symmetries = patterns, num_symmetries
        self.levels = 16  # R, set from the size of the boards that are looked up
        self.share = 1 / (num_symmetries * len(patterns))
        self.initial = v_init * self.share
        self.stage, self.promotion = stage, promotion
        self.weights: dict[Entry, float] = {}
        self.errors: dict[Entry, float] = {}
        self.absolutes: dict[Entry, float] = {}
        self.rates: dict[Entry, float] = {}  # Autostep: rates a, traces h, scales v
        self.traces: dict[Entry, float] = {}
        self.scales: dict[Entry, float] = {}

    def entries(self, board: Board) -> list[Entry]:
        stage = self.stage(board)
        views = symmetries(board)[: self.num_symmetries]  # a single view is the board itself
        self.levels = min(16, len(cells(board)) + 2)
        return [(stage, m, index(pattern, view)) for m, pattern in enumerate(self.patterns) for view in views]

    def weight(self, entry: Entry) -> float:
        """Return the weight, or the weight that is promoted to an untouched entry (Matsuzaki 2017, sec. 4.2).

        A weight promoted from the previous stage may itself be a promoted one.
        """
        stage, m, number = entry
        if entry in self.weights:
            return self.weights[entry]
        smaller = (stage, m, halved(number, self.levels))
        if self.promotion in ("intra", "both") and smaller in self.weights:
            return self.weights[smaller]
        if self.promotion in ("inter", "both") and stage > 0:
            return self.weight((stage - 1, m, number))
        return self.initial

    def value(self, board: Board) -> float:
        return sum(self.weight(entry) for entry in self.entries(board))

    def td_update(self, board: Board, target: float, alpha: float) -> float:
        delta = target - self.value(board)
        self.td_error(board, delta, alpha)
        return delta

    def tc_update(self, board: Board, target: float, alpha: float) -> float:
        delta = target - self.value(board)
        self.tc_error(board, delta, alpha)
        return delta

    def td_error(self, board: Board, delta: float, alpha: float, decay: float = 1.0) -> None:
        for entry in self.entries(board):
            self.weights[entry] = self.weight(entry) + alpha * self.share * delta * decay

    def tc_error(self, board: Board, delta: float, alpha: float, decay: float = 1.0, sums: str = "errors") -> None:
        for entry in self.entries(board):
            error, absolute = self.errors.get(entry, 0.0), self.absolutes.get(entry, 0.0)
            beta = abs(error) / absolute if absolute else 1.0
            step = alpha * self.share * delta * beta * decay
            self.weights[entry] = self.weight(entry) + step
            summed = delta if sums == "errors" else step
            self.errors[entry] = error + summed
            self.absolutes[entry] = absolute + abs(summed)

    def autostep_error(self, board: Board, delta: float, mu: float, tau: float, first: float) -> None:
        """Update the weights by Autostep (Mahmood et al. 2012, table 1).

        The feature x of an entry is the number of times that it occurs on the board. Rates begin with first / (S M), as
        the alpha of TD is divided by S views times M tuples (Jaskowski 2017, sec. IV-D).
        """
        features = Counter(self.entries(board))
        for entry, x in features.items():
            rate, scale = self.rates.get(entry, first * self.share), self.scales.get(entry, 0.0)
            gain = delta * x * self.traces.get(entry, 0.0)
            scale = max(abs(gain), scale + tau * rate * x**2 * (abs(gain) - scale))
            self.scales[entry] = scale
            self.rates[entry] = rate * math.exp(mu * gain / scale) if scale else rate
        total = max(1.0, sum(self.rates[entry] * x**2 for entry, x in features.items()))
        for entry, x in features.items():
            self.rates[entry] /= total
            step = self.rates[entry] * delta * x
            self.weights[entry] = self.weight(entry) + step
            self.traces[entry] = self.traces.get(entry, 0.0) * (1 - self.rates[entry] * x**2) + step
