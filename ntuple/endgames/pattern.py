"""Patterns of endgames: which cells hold large tiles, and which tile is to be built on the others.

A pattern is 16 letters, four rows from top to bottom, with or without `/` between rows:

    L   locked: holds a large tile, which stays there
    S   sliding: holds a large tile, which may slide along its row; one row may have such cells, side by side, and no L
    .   free: empty, or holds a tile below the target
    T   free, and the target counts here; if no cell is T, it counts in every free cell

A board fits if each locked cell holds the target's tile or a larger one, these tiles are all different, and each free
cell is empty or holds a tile below the target. Then no locked tile can merge before the target is built, so the value
of a board depends on its free cells alone: one table serves every game that fits.

Sliding tiles keep their order, and no move along their row puts a gap between them. So they may stand in the
arrangements SS.., .SS. and ..SS of a pattern SS.. Each is a pattern with locked tiles, and a board fits if it fits one
of them. A move along their row leads from one to another.

The free tiles of a board that builds the target sum to little more than the target. A pattern may have a largest sum:
boards above it count as lost, and are not in its table.
"""

from typing import NamedTuple

import numpy as np

SIDE = 4
CELLS = SIDE**2
EXAMPLE = "LLLL/LL../..../...."
LEAST_TARGET, MOST_TARGET = 3, 13  # levels: 8 to 8192
LEAST_FREE, MOST_FREE = 2, 12
SUM_BITS = 12  # of the halved sum of the tiles of half of the free cells (ntuple/endgames/layout.py)


class Pattern(NamedTuple):
    """A pattern with its target."""

    letters: str  # 16 of L, S, . and T
    target: int  # level of the tile to be built
    largest_sum: int  # of the free tiles

    @property
    def sliding_row(self) -> int:
        """The row whose tiles slide; 0 if there is none, since then it does not matter."""
        return max(self.letters.find("S"), 0) // SIDE

    @property
    def arrangements(self) -> tuple["Pattern", ...]:
        """The patterns of locked tiles into which the tiles may slide; the pattern alone if none slides."""
        if "S" not in self.letters:
            return (self,)
        rows = rows_of(self.letters.replace("S", "L"))
        above, row, below = rows[: self.sliding_row], rows[self.sliding_row], rows[self.sliding_row + 1 :]
        tiles, gaps = row.replace(".", ""), row.count(".")
        slid = ["." * at + tiles + "." * (gaps - at) for at in range(gaps + 1)]
        return tuple(self._replace(letters="".join([*above, letters, *below])) for letters in slid)

    @property
    def locked(self) -> tuple[int, ...]:
        """The cells of the large tiles, as 4 * row + column."""
        return tuple(cell for cell, letter in enumerate(self.letters) if letter in "LS")

    @property
    def free(self) -> tuple[int, ...]:
        """The free cells."""
        return tuple(cell for cell, letter in enumerate(self.letters) if letter not in "LS")

    @property
    def goals(self) -> tuple[int, ...]:
        """The free cells in which the target counts."""
        return tuple(cell for cell, letter in enumerate(self.letters) if letter == "T") or self.free

    @property
    def most_sum(self) -> int:
        """The sum of the free tiles if each is half of the target: no board has a larger one."""
        return (1 << self.target - 1) * len(self.free)

    @property
    def boards(self) -> int:
        """Number of boards up to the largest sum, in all arrangements."""
        halves = [0, *(1 << level for level in range(self.target - 1))]  # of the tile of a free cell
        contents = np.ones(1, np.int64)  # number of contents of some free cells, by half of their sum
        for _ in self.free:
            contents = np.sum([np.pad(contents, (half, halves[-1] - half)) for half in halves], axis=0)
        return int(contents[: self.largest_sum // 2 + 1].sum()) * len(self.arrangements)

    def __str__(self) -> str:
        """Return the letters in rows with the target's tile, such as LLLL/LL../..../.... to 256."""
        text = f"{'/'.join(rows_of(self.letters))} to {1 << self.target}"
        bound = f", sum to {self.largest_sum}" if self.largest_sum < self.most_sum else ""
        return text + bound


def rows_of(letters: str) -> list[str]:
    """Return the letters of each row."""
    return [letters[at : at + SIDE] for at in range(0, CELLS, SIDE)]


def parse_pattern(text: str, tile: int, largest_sum: int | None = None) -> Pattern:
    """Return the pattern of a text, of the tile to be built and of the largest sum; None: no board is above it.

    Raises:
        ValueError: it is no pattern; the text says what is wrong and what to give.
    """
    letters = text.replace("/", "").replace(" ", "")
    if len(letters) != CELLS or set(letters) - set("LS.T"):
        raise ValueError(f"{text!r} is no pattern: give {CELLS} letters of L, S, . and T, such as {EXAMPLE}")
    rows = rows_of(letters)
    if sum("S" in row for row in rows) > 1 or any("S" in row and set(row.strip(".")) - {"S"} for row in rows):
        raise ValueError(f"{text!r}: give S side by side in one row, beside free cells, such as LLLL/SS../..../....")
    target = max(tile, 1).bit_length() - 1
    if tile != 1 << target or not LEAST_TARGET <= target <= MOST_TARGET:
        raise ValueError(f"{tile} is no target: give a tile from {1 << LEAST_TARGET} to {1 << MOST_TARGET}")
    if largest_sum is not None and largest_sum < tile:
        raise ValueError(f"{largest_sum} is no largest sum: give {tile} or more, such as {tile * 5 // 4}")
    pattern = Pattern(letters, target, 0)
    if not LEAST_FREE <= len(pattern.free) <= MOST_FREE:
        free = f"{len(pattern.free)} free cells"
        raise ValueError(f"{text!r} has {free}: give {LEAST_FREE} to {MOST_FREE}, such as {EXAMPLE}")
    if len(pattern.free) > (most := 2 * (((1 << SUM_BITS) - 1) >> target - 2)):
        raise ValueError(f"{text!r} has {len(pattern.free)} free cells: give {most} at most with the target {tile}")
    return pattern._replace(largest_sum=min(largest_sum or pattern.most_sum, pattern.most_sum))
