"""n-tuple networks in plain Python: slow, readable, and the truth that the kernels are tested against.

A table is a dict from indices to weights. Numbers are Python floats; the kernels agree to float32 rounding.
"""

from reference.rules import Board, cells, symmetries

Pattern = tuple[int, ...]
Entry = tuple[int, int]  # tuple m, index into its table


def index(pattern: Pattern, view: Board) -> int:
    """sum of cell[pattern[i]] * 16^i, tiles above 32768 taken for 32768."""
    tiles = cells(view)
    return sum(min(tiles[cell], 15) * 16**i for i, cell in enumerate(pattern))


class Network:
    def __init__(self, patterns: list[Pattern], num_symmetries: int, v_init: float = 0.0) -> None:
        self.patterns = patterns
        self.share = 1 / (num_symmetries * len(patterns))
        self.initial = v_init * self.share
        self.weights: dict[Entry, float] = {}
        self.errors: dict[Entry, float] = {}
        self.absolutes: dict[Entry, float] = {}

    def entries(self, board: Board) -> list[Entry]:
        return [(m, index(pattern, view)) for m, pattern in enumerate(self.patterns) for view in symmetries(board)]

    def value(self, board: Board) -> float:
        return sum(self.weights.get(entry, self.initial) for entry in self.entries(board))

    def td_update(self, board: Board, target: float, alpha: float) -> float:
        delta = target - self.value(board)
        for entry in self.entries(board):
            self.weights[entry] = self.weights.get(entry, self.initial) + alpha * self.share * delta
        return delta

    def tc_update(self, board: Board, target: float, alpha: float) -> float:
        delta = target - self.value(board)
        for entry in self.entries(board):
            error, absolute = self.errors.get(entry, 0.0), self.absolutes.get(entry, 0.0)
            beta = abs(error) / absolute if absolute else 1.0
            self.weights[entry] = self.weights.get(entry, self.initial) + alpha * self.share * delta * beta
            self.errors[entry] = error + delta
            self.absolutes[entry] = absolute + abs(delta)
        return delta
