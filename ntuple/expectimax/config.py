"""The configuration of expectimax search, and of the hand-made evaluation."""

from dataclasses import dataclass
from typing import ClassVar

from ntuple.settings import Settings, group, setting

MOST_PLIES = 16
MOST_CELLS = 16
DOWNGRADED_TILES = {2**level for level in range(1, 18)}
LEAST_BITS, MOST_BITS = 4, 28  # log2 of the entries of a table: 16 to 268 million
MOST_WEIGHT = 1e6  # of a hand-made feature; a value is single precision


@dataclass(frozen=True)
class HeuristicConfig(Settings, prefix="search.heuristic"):
    """Weights of the hand-made evaluation, in points (ntuple.heuristic); found by five minutes of random search.

    Raises:
        ValueError: a weight is not finite, or a power not above 0.
    """

    empty: float = setting(
        70.0,
        "Weight of an empty cell, once in its row and once in its column.",
        at_least=-MOST_WEIGHT,
        at_most=MOST_WEIGHT,
    )
    merges: float = setting(90.0, "Weight of a pair of equal neighbours.", at_least=-MOST_WEIGHT, at_most=MOST_WEIGHT)
    monotonicity: float = setting(
        2.5, "Weight of the tiles that break a monotone line.", at_least=-MOST_WEIGHT, at_most=MOST_WEIGHT
    )
    monotonicity_power: float = setting(2.7, "Power of log2 of these tiles.", above=0, at_most=8)
    sum: float = setting(0.4, "Weight of all tiles.", at_least=-MOST_WEIGHT, at_most=MOST_WEIGHT)
    sum_power: float = setting(1.2, "Power of log2 of these tiles.", above=0, at_most=8)


@dataclass(frozen=True)
class ExpectimaxConfig(Settings, prefix="search"):
    """How far and how an expectimax search looks ahead (ntuple.expectimax).

    Raises:
        ValueError: a value that no search can have; the line names it.
    """

    MOST_PLIES: ClassVar[int] = MOST_PLIES

    plies: int = setting(
        3, "Layers of afterstates; with a time limit the most that are searched.", at_least=1, at_most=MOST_PLIES
    )
    limits: tuple[tuple[int, int], ...] = setting(
        (),
        "Plies by empty cells: [[6, 2], [10, 1]] searches 2 plies in all below afterstates of 6 to 9 empty cells, and "
        "1 below those of 10 and more.",
    )
    seconds: float = setting(
        0.0, "Time limit of a move: search one ply deeper while time is left; 0: none.", at_least=0, at_most=3600
    )
    rectified: bool = setting(
        False, "Values below 0 count as 0 and each move counts a point more (Guei 2023, appendix B.2)."
    )
    least_probability: float = setting(
        0.0, "Prune branches below this cumulative probability; 0: exact.", at_least=0, below=1
    )
    takes_deeper: bool = setting(
        False, "Use a remembered value of a deeper search in place of one of the wanted depth: other values."
    )
    downgrade: tuple[int, ...] = setting(
        (), "Tile-downgrading of boards that hold these tiles or more, such as [32768, 8192] (Guei 2023, sec. 3.4.3)."
    )
    leaf_bits: int = setting(
        12, "log2 of the leaves remembered by a thread, 12 bytes each.", at_least=LEAST_BITS, at_most=MOST_BITS
    )
    node_bits: int = setting(
        14, "log2 of the chance nodes remembered by a thread, 13 bytes each.", at_least=LEAST_BITS, at_most=MOST_BITS
    )
    heuristic: HeuristicConfig = group(HeuristicConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        cells = [empty for empty, _ in self.limits]
        if cells != sorted(set(cells)) or not all(
            0 <= empty <= MOST_CELLS and 1 <= plies <= MOST_PLIES for empty, plies in self.limits
        ):
            self.refuse(
                "limits", f"pairs [empty cells up to {MOST_CELLS}, plies], ascending, such as [[6, 2], [10, 1]]"
            )
        if not all(tile in DOWNGRADED_TILES for tile in self.downgrade) or len(set(self.downgrade)) < len(
            self.downgrade
        ):
            self.refuse("downgrade", "different tiles, such as [32768] or [32768, 8192]")

    @property
    def most_plies(self) -> tuple[int, ...]:
        """Largest number of plies in all at and below an afterstate with 0, 1, .. 16 empty cells."""
        most = [MOST_PLIES] * (MOST_CELLS + 1)
        for empty, plies in self.limits:
            most[empty:] = [plies] * (MOST_CELLS + 1 - empty)
        return tuple(most)

    @property
    def downgrades_from(self) -> int:
        """The tiles from which a root is downgraded, as bits of one number; 0: never."""
        return sum(self.downgrade)
