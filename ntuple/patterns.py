"""The n-tuples of a network: names of the literature, or any list of cells in hex.

Cells are numbered row by row of the H x W board from the top left. The first cell of a pattern is the lowest
nibble of its index: index = sum of cell[pattern[i]] * 16^i.
"""

Pattern = tuple[int, ...]

YEH = ("012345", "456789", "012456", "45689a")
MATSUZAKI = ("012456", "456789", "012345", "234569", "01259a", "345678", "134567", "01489a")

# Sources: Guei 2023, figure 4 (Yeh's 4x6, and the 5x6 of Jaskowski) and figure 5 (Matsuzaki, in his order).
NETWORKS = {
    "4x6": YEH,
    "5x6": (*YEH, "89abcd"),
    "4x6-matsuzaki": MATSUZAKI[:4],
    "5x6-matsuzaki": MATSUZAKI[:5],
    "6x6": MATSUZAKI[:6],
    "7x6": MATSUZAKI[:7],
    "8x6": MATSUZAKI[:8],
}


def parse_network(network: str, rows: int, columns: int) -> tuple[Pattern, ...]:
    """The M patterns of a named network or of a comma-separated list of hex patterns.

    Args:
        network: a key of NETWORKS (4 x 4 boards), or for example "0123,4567".
        rows: H of the board.
        columns: W of the board.

    Raises:
        ValueError: an unknown name, or a pattern with a cell twice, none, more than 8, or one off the board.
    """
    texts = NETWORKS.get(network) or tuple(network.split(","))
    return tuple(_parse_pattern(text, network, rows, columns) for text in texts)


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


def cell_runs(pattern: Pattern, columns: int) -> list[tuple[int, int, int]]:
    """Cut a pattern into runs of cells that lie side by side in the board's word, to be moved as one.

    Returns:
        (right, mask, left) a run: its share of the index is ((word >> right) & mask) << left.
    """
    nibbles = [4 * (cell // columns) + cell % columns for cell in pattern]
    starts = [i for i, nibble in enumerate(nibbles) if i == 0 or nibble != nibbles[i - 1] + 1]
    ends = [*starts[1:], len(nibbles)]
    return [(4 * nibbles[start], 16 ** (end - start) - 1, 4 * start) for start, end in zip(starts, ends, strict=True)]
