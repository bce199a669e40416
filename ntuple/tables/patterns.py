"""The n-tuples of a network: named networks of the literature, or any list of tuples with cells in hex.

Cells are numbered row by row of the H x W board from the top left. The first cell of a pattern is the lowest digit of
its index: index = sum of cell[pattern[i]] * R^i, with R = 16 for 2048 on the 4 x 4 board (`count_levels`).
"""

from collections.abc import Iterable, Sequence

from ntuple.core.games.known import find_game

Pattern = tuple[int, ...]

NIBBLE_LEVELS = 16  # R of the layout with one nibble for each cell (ntuple.tables.layout)

YEH = ("012345", "456789", "012456", "45689a")
MATSUZAKI = ("012456", "456789", "012345", "234569", "01259a", "345678", "134567", "01489a")
LINES = ("0123", "4567")  # their views are all rows and columns; likewise for the groups below
BOXES = ("0145", "1256", "569a")
THREES = ("012", "456")
RECTANGLES = ("012456", "45689a")

# Sources:
#   4x6 (Yeh), 5x6 (Jaskowski)      Guei 2023, figure 4
#   4x6-matsuzaki .. 8x6            Guei 2023, figure 5, tuples in Matsuzaki's order
#   lines .. axes+rects             Guei 2023, figure 37
#   42-33 .. 43-421                 Jaskowski 2017, figure 3; a name gives the shapes of the tuples, row by row
#   17x4                            Horban 2022, figure 8, to be used with symmetry = false
#   others                          aliases of TDL2048+
NETWORKS = {
    "4x6": YEH,
    "5x6": (*YEH, "89abcd"),
    "4x6-matsuzaki": MATSUZAKI[:4],
    "5x6-matsuzaki": MATSUZAKI[:5],
    "6x6": MATSUZAKI[:6],
    "7x6": MATSUZAKI[:7],
    "8x6": MATSUZAKI[:8],
    "42-33": (*YEH, "89abcd"),
    "42-33-4-22": (*YEH, "89abcd", *LINES, *BOXES),
    "42-33-4-22-3": (*YEH, "89abcd", *LINES, *BOXES, *THREES),
    "43-421": ("0123456", "456789a", "89abcde", "0123458", "456789c"),
    "lines": LINES,
    "lines+boxes": (*LINES, *BOXES),
    "lines+rects": (*LINES, *RECTANGLES),
    "axes+rects": YEH,
    "17x4": (
        *("0123", "4567", "89ab", "cdef", "048c", "159d", "26ae", "37bf"),
        *("0145", "1256", "2367", "4589", "569a", "67ab", "89cd", "9ade", "abef"),
    ),
    "2x4": LINES,
    "5x4": (*LINES, *BOXES),
    "4x5": ("01234", "45678", "01245", "45689"),
    "2x7": ("0123456", "456789a"),
    "3x7": ("0123456", "456789a", "89abcde"),
    "1x8": ("01234567",),
    "2x8": ("01234567", "456789ab"),
}


def parse_network(network: str | Sequence[str], rows: int, columns: int) -> tuple[Pattern, ...]:
    """Return the M patterns of a named network or of a list of hex patterns.

    Args:
        network: a key of NETWORKS (4 x 4 boards), such as ("4x6",), or hex patterns, such as ("0123", "4567"); as one
            text "4x6" or "0123,4567".

    Raises:
        ValueError: an unknown name, or a pattern with a cell twice, none, more than 8, or one off the board.
    """
    name = network if isinstance(network, str) else ",".join(network)
    texts = NETWORKS.get(name) or tuple(name.split(","))
    return tuple(_parse_pattern(text, name, rows, columns) for text in texts)


def _parse_pattern(text: str, network: str, rows: int, columns: int) -> Pattern:
    try:
        pattern = tuple(int(digit, 16) for digit in text)
    except ValueError:
        names = ", ".join(NETWORKS)
        raise ValueError(
            f"network {network!r}: {text!r} is neither a name ({names}) nor hex cells like 0123,4567"
        ) from None
    if not 1 <= len(pattern) <= 8 or len(set(pattern)) < len(pattern):
        raise ValueError(f"network {network!r}: pattern {text!r} must list 1 to 8 different cells")
    if max(pattern) >= rows * columns:
        raise ValueError(
            f"network {network!r}: pattern {text!r} leaves the {rows}x{columns} board, "
            f"whose cells are 0..{rows * columns - 1:x}"
        )
    return pattern


def pattern_text(pattern: Pattern) -> str:
    """Return the hex cells of a pattern, as `parse_network` reads them."""
    return "".join(f"{cell:x}" for cell in pattern)


def network_texts(patterns: Iterable[Pattern]) -> tuple[str, ...]:
    """Return the list of patterns that `parse_network` reads back."""
    return tuple(map(pattern_text, patterns))


def view_cells(rows: int, columns: int, symmetry: bool = True) -> list[tuple[int, ...]]:
    """Return the views of a board that share tables.

    The views are the board itself, mirrored, flipped, and both. On a square board the same four with rows and columns
    exchanged follow.

    Args:
        symmetry: False: the first view alone.

    Returns:
        [S] views; view v has the board's cell v[c] at cell c.
    """
    grid = [list(range(row * columns, (row + 1) * columns)) for row in range(rows)]
    upright = [grid, [row[::-1] for row in grid], grid[::-1], [row[::-1] for row in grid[::-1]]]
    if not symmetry:
        upright = upright[:1]
    elif rows == columns:
        upright += [[list(column) for column in zip(*view, strict=True)] for view in upright]
    return [tuple(cell for row in view for cell in row) for view in upright]


def view_actions(rows: int, columns: int, symmetry: bool = True) -> list[tuple[int, ...]]:
    """Return the image of each action on each view of `view_cells`.

    Args:
        symmetry: False: the first view alone.

    Returns:
        [S] tuples of four actions: what up, right, down and left become on the view.
    """
    mirrored, flipped, exchanged = (0, 3, 2, 1), (2, 1, 0, 3), (3, 2, 1, 0)
    upright = [(0, 1, 2, 3), mirrored, flipped, tuple(flipped[action] for action in mirrored)]
    if not symmetry:
        return upright[:1]
    turned = [tuple(exchanged[action] for action in view) for view in upright]
    return upright + turned if rows == columns else upright


def count_levels(rows: int, columns: int, game: str = "2048") -> int:
    """Return R, the number of different values of a cell in an index.

    The values are empty and the tiles that are possible on the board, at most `Game.index_levels`; in 2048 H W + 2 on
    boards below 4x4.
    """
    found = find_game(game, rows, columns)
    return min(found.index_levels, found.levels_a_cell * rows * columns + 2)


def count_actions(values: str) -> int:
    """Return A, the number of tables of a tuple: one for each action if the network values actions, else 1."""
    return 4 if values == "action" else 1


def table_sizes(patterns: Iterable[Pattern], levels: int, values: str = "afterstate") -> list[int]:
    """Return the number of weights of each tuple in one part, A R^n with R = `levels`."""
    return [count_actions(values) * levels ** len(pattern) for pattern in patterns]


def cell_runs(pattern: Pattern, columns: int) -> list[tuple[int, int, int]]:
    """Cut a pattern into runs of cells that are adjacent in the word of the board, so that each run moves in one step.

    Returns:
        (right, mask, left) for each run: its part of the index is ((word >> right) & mask) << left.
    """
    nibbles = [4 * (cell // columns) + cell % columns for cell in pattern]
    starts = [i for i, nibble in enumerate(nibbles) if i == 0 or nibble != nibbles[i - 1] + 1]
    ends = [*starts[1:], len(nibbles)]
    return [(4 * nibbles[start], 16 ** (end - start) - 1, 4 * start) for start, end in zip(starts, ends, strict=True)]
