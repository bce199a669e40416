"""The carousel of TDL2048+ (option -b) in plain Python: the general change of a board's set of tiles.

The program writes the set of tiles of a board as the bits of one number, 1 for an empty cell. A block begins on the
last afterstate that entered a block, changed so that its set is that of this afterstate plus the block tile.
"""

Cells = list[int]  # tiles in a row, 0 = empty


def tiles_of(cells: Cells) -> set[int]:
    """Return the set of tiles, with 1 for an empty cell."""
    return {cell or 1 for cell in cells}


def next_tiles(cells: Cells, block: int) -> set[int]:
    """Return the set after the binary addition of the block tile; one cell must be empty."""
    number = sum(tiles_of(cells)) + block | 1
    return {1 << bit for bit in range(20) if number >> bit & 1}


def with_tiles(cells: Cells, wanted: set[int]) -> Cells:
    """Change a board so that its set of tiles is the given one, from the largest difference to the smallest one.

    A missing tile takes the first cell of the largest smaller tile. A tile that should not be there becomes the largest
    smaller tile of the wanted set.
    """
    cells = [cell or 1 for cell in cells]
    for tile in sorted((1 << bit for bit in range(20)), reverse=True):
        if tile in wanted and tile not in cells:
            smaller = [cell for cell in cells if cell < tile]
            if smaller:
                cells[cells.index(max(smaller))] = tile
            else:  # no cell is empty
                cells[cells.index(min(cells))] = tile
        elif tile in cells and tile not in wanted:
            smaller = max(other for other in wanted if other < tile)
            cells = [smaller if cell == tile else cell for cell in cells]
    return [0 if cell == 1 else cell for cell in cells]
