"""Configuration of the expectimax search and of the hand-made evaluation."""

from typing import ClassVar

from ntuple.core.opponents import CHANCE, OpponentName
from ntuple.core.settings import Settings, group, setting
from ntuple.endgames.config import EndgamesConfig

MOST_PLIES = 16
MOST_CELLS = 16
DOWNGRADES = "search.downgrade!="  # condition under which keys have an effect
DOWNGRADED_TILES = {2**level for level in range(1, 18)}
LEAST_BITS, MOST_BITS = 4, 28  # range of log2 of the entries of a transposition table: 16 to 268 million entries
MOST_WEIGHT = 1e6  # of a hand-made feature; a value is single precision


class HeuristicConfig(Settings, prefix="search.heuristic"):
    """Weights of the hand-made evaluation, in points (ntuple/expectimax/heuristic.py).

    The defaults were found by five minutes of random search.
    """

    empty: float = setting(
        70.0,
        "Weight of an empty cell; it counts once in its row and once in its column.",
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


class ExpectimaxConfig(EndgamesConfig, prefix="search"):
    """Depth, pruning and transposition tables of an expectimax search (ntuple/expectimax/search.py)."""

    MOST_PLIES: ClassVar[int] = MOST_PLIES

    plies: int = setting(
        3, "Depth in layers of afterstates; with a time limit, the largest depth.", at_least=1, at_most=MOST_PLIES
    )
    limits: tuple[tuple[int, int], ...] = setting(
        (),
        "Largest depth by the number of cells that may get a tile: [[6, 2], [10, 1]] searches at most 2 layers of "
        "afterstates where there are 6 to 9, and 1 where there are 10 or more; the afterstate itself is the first.",
    )
    seconds: float = setting(
        0.0, "Time limit of a move: search one ply deeper while time is left; 0: none.", at_least=0, at_most=3600
    )
    opponent: OpponentName = setting(CHANCE, "Who places the tiles in the tree (ntuple/core/opponents.py).")
    rectified: bool = setting(
        False, "Values below 0 count as 0, and each move adds one more point (Guei 2023, appendix B.2)."
    )
    least_probability: float = setting(
        0.0, "Prune branches below this cumulative probability; 0: exact.", at_least=0, below=1
    )
    takes_deeper: bool = setting(
        False, "Use a remembered value of a deeper search instead of a search of the given depth; this changes values."
    )
    downgrade: tuple[int, ...] = setting(
        (), "Tile-downgrading of boards with these tiles or larger ones, such as [32768, 8192] (Guei 2023, sec. 3.4.3)."
    )
    downgrade_except: tuple[int, ...] = setting(
        (),
        "No tile-downgrading of boards that hold all these tiles and none above the largest of them, such as "
        "[16384, 8192]: for a stage of the network that is trained there.",
        only_if=DOWNGRADES,
    )
    downgrade_repeats: bool = setting(
        False,
        "Downgrade a downgraded board again while it has tiles of `downgrade`; false: once, as published.",
        only_if=DOWNGRADES,
    )
    leaf_bits: int = setting(
        12, "log2 of the leaves that a thread remembers, 12 bytes each.", at_least=LEAST_BITS, at_most=MOST_BITS
    )
    node_bits: int = setting(
        14, "log2 of the chance nodes that a thread remembers, 13 bytes each.", at_least=LEAST_BITS, at_most=MOST_BITS
    )
    heuristic: HeuristicConfig = group(HeuristicConfig)

    def __post_init__(self) -> None:
        cells = [empty for empty, _ in self.limits]
        if cells != sorted(set(cells)) or not all(
            0 <= empty <= MOST_CELLS and 1 <= plies <= MOST_PLIES for empty, plies in self.limits
        ):
            self.refuse(
                "limits", f"pairs [empty cells up to {MOST_CELLS}, plies], ascending, such as [[6, 2], [10, 1]]"
            )
        for name in ("downgrade", "downgrade_except"):
            tiles = getattr(self, name)
            if not {*tiles} <= DOWNGRADED_TILES or len({*tiles}) < len(tiles):
                self.refuse(name, "different tiles, such as [32768] or [32768, 8192]")
        if self.opponent != CHANCE:
            for name, usual in (("rectified", False), ("least_probability", 0.0), ("endgames", ())):
                if getattr(self, name) != usual:
                    self.refuse(name, f"{usual!r} with search.opponent={self.opponent}: it is of drawn tiles")

    @property
    def most_plies(self) -> tuple[int, ...]:
        """Largest number of plies at and below an afterstate with 0, 1, .., 16 empty cells."""
        most = [MOST_PLIES] * (MOST_CELLS + 1)
        for empty, plies in self.limits:
            most[empty:] = [plies] * (MOST_CELLS + 1 - empty)
        return tuple(most)
