"""The configuration of expectimax search, and of the hand-made evaluation."""

import math
from dataclasses import asdict, dataclass, field
from typing import ClassVar

from ntuple.stages import make_stages

MOST_PLIES = 16
MOST_CELLS = 16
TABLE_BITS = (4, 28)  # log2 of the entries of a table: 16 to 268 million


@dataclass(frozen=True)
class HeuristicConfig:
    """Weights of the hand-made evaluation, in points (ntuple.heuristic); found by five minutes of random search.

    Raises:
        ValueError: a weight is not finite, or a power not above 0.
    """

    empty: float = 70.0  # an empty cell, in its row and again in its column
    merges: float = 90.0  # a pair of equal neighbours
    monotonicity: float = 2.5
    monotonicity_power: float = 2.7
    sum: float = 0.4
    sum_power: float = 1.2

    def __post_init__(self) -> None:
        for name, weight in asdict(self).items():
            if not math.isfinite(weight):
                raise ValueError(f"heuristic.{name} = {weight}: must be finite")
            if name.endswith("_power") and not 0 < weight <= 8:
                raise ValueError(f"heuristic.{name} = {weight}: must be above 0 and at most 8")


@dataclass(frozen=True)
class ExpectimaxConfig:
    """How far and how an expectimax search looks ahead (ntuple.expectimax).

    Raises:
        ValueError: a value that no search can have; the line names it.
    """

    MOST_PLIES: ClassVar[int] = MOST_PLIES

    plies: int = 3  # layers of afterstates; with a time limit the most that are searched
    limits: str = (
        ""  # by empty cells: "6:2 10:1" = below afterstates of 6 and more empty cells 2 plies in all, of 10 one
    )
    seconds: float = 0.0  # a move: search one ply deeper, and deeper, while time is left; 0: to `plies`
    rectified: bool = False  # values below 0 count 0, a move is worth a point more (Guei 2023, appendix B.2)
    least_probability: float = 0.0  # of a line of spawns that is searched on; 0: all of them, exact
    takes_deeper: bool = False  # a remembered value of a deeper search serves too: no longer the same values
    downgrade: str = ""  # tile-downgrading from such tiles on, like 32768 or 32768+8192 (Guei 2023, sec. 3.4.3)
    leaf_bits: int = 12  # log2 of the leaves remembered by a thread, 12 bytes each
    node_bits: int = 14  # log2 of the chance nodes remembered by a thread, 13 bytes each
    heuristic: HeuristicConfig = field(default_factory=HeuristicConfig)  # for the player of that name alone

    def __post_init__(self) -> None:
        if not 1 <= self.plies <= MOST_PLIES:
            raise ValueError(f"plies = {self.plies}: must be between 1 and {MOST_PLIES}")
        if not 0 <= self.seconds <= 3600:
            raise ValueError(f"seconds = {self.seconds}: must be between 0 and 3600")
        if not 0 <= self.least_probability < 1:
            raise ValueError(f"least_probability = {self.least_probability}: must be at least 0 and below 1")
        for name in ("leaf_bits", "node_bits"):
            if not TABLE_BITS[0] <= getattr(self, name) <= TABLE_BITS[1]:
                raise ValueError(f"{name} = {getattr(self, name)}: must be between {TABLE_BITS[0]} and {TABLE_BITS[1]}")
        _ = self.most_plies, self.downgrades_from

    @property
    def most_plies(self) -> tuple[int, ...]:
        """The most plies in all at and below an afterstate with 0, 1, .. 16 empty cells."""
        mistake = f"limits = {self.limits!r}: give ascending empty:plies pairs like 6:2 10:1, cells up to 16"
        try:
            pairs = [(int(cells), int(plies)) for cells, plies in (word.split(":") for word in self.limits.split())]
        except ValueError as error:
            raise ValueError(mistake) from error
        cells = [empty for empty, _ in pairs]
        if cells != sorted(set(cells)) or not all(
            0 <= empty <= MOST_CELLS and 1 <= plies <= MOST_PLIES for empty, plies in pairs
        ):
            raise ValueError(mistake)
        most = [MOST_PLIES] * (MOST_CELLS + 1)
        for empty, plies in pairs:
            most[empty:] = [plies] * (MOST_CELLS + 1 - empty)
        return tuple(most)

    @property
    def downgrades_from(self) -> int:
        """The tiles from which a root is downgraded, as bits of one number; 0: never."""
        if not self.downgrade:
            return 0
        mistake = f"downgrade = {self.downgrade!r}: give a sum of tiles like 32768 or 32768+8192"
        try:
            thresholds = make_stages(self.downgrade).thresholds
        except ValueError as error:
            raise ValueError(mistake) from error
        if len(thresholds) != 1 or not self.downgrade[0].isdecimal():
            raise ValueError(mistake)
        return int(thresholds[0])
