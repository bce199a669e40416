"""Boards as text and as pictures, drawn with numpy alone.

Shapes: `H, W` cells; a cell holds the level of its tile, in 2048 log2, 0 = empty.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import Game, State
from ntuple.core.games.game_2048 import GAME_2048

CELL, GAP = 48, 4  # pixels of a cell's side and of the lines between cells
BACKGROUND = (187, 173, 160)
EMPTY = (205, 193, 180)
INK = {True: (255, 255, 255), False: (90, 80, 70)}  # of the digits, by whether the tile is dark
DARK_FROM = 3  # levels from here on have light digits
# Colour of the tile of each level from 1 on; larger tiles have the last colour.
COLOURS = (
    (236, 228, 219), (233, 219, 190), (240, 172, 112), (242, 141, 88), (243, 115, 84), (240, 84, 50),
    (232, 202, 104), (230, 196, 84), (227, 190, 64), (224, 184, 44), (220, 178, 24), (90, 160, 90), (60, 130, 160),
    (50, 100, 180), (90, 70, 170), (120, 50, 140), (40, 40, 40),
)  # fmt: skip
# Digits and +, in 5 rows of 3 pixels: each text is one of them, row by row, # for ink.
GLYPHS = {
    name: np.array([[pixel == "#" for pixel in row] for row in text.split()])
    for name, text in zip("0123456789+", (
        "### #.# #.# #.# ###", ".#. ##. .#. .#. ###", "### ..# ### #.. ###", "### ..# .## ..# ###",
        "#.# #.# ### ..# ..#", "### #.. ### ..# ###", "### #.. ### #.# ###", "### ..# .#. .#. .#.",
        "### #.# ### #.# ###", "### #.# ### ..# ###", "... .#. ### .#. ...",
    ), strict=True)
}  # fmt: skip


def state_text(state: State, game: Game) -> str:
    """Return a board as H lines of its tiles, a dot for an empty cell; and the next tile, if the game tells it."""
    tiles = [[str(game.tiles[level]) if level else "." for level in row] for row in state.board]
    width = max(5, *(len(tile) + 1 for row in tiles for tile in row))
    lines = ["".join(tile.rjust(width) for tile in row) for row in tiles]
    return "\n".join([*lines, f" next {game.hint_name(state.hint)}"] if state.hint else lines)


def board_picture(levels: NDArray[np.integer], game: Game = GAME_2048, hint: int = 0) -> NDArray[np.uint8]:
    """Return a board int[H, W] as a picture uint8[H (CELL + GAP) + GAP, W (CELL + GAP) + GAP, 3], red, green, blue.

    With a hint the picture has one row more, which begins with the next tile; + is a bonus tile.
    """
    rows, columns = levels.shape
    tiles = [(place, int(level), str(game.tiles[level])) for place, level in np.ndenumerate(levels)]
    if hint:
        tiles.append(((rows, 0), hint, "+" if hint == game.bonus_hint else game.hint_name(hint)))
    picture = np.empty(((rows + (hint > 0)) * (CELL + GAP) + GAP, columns * (CELL + GAP) + GAP, 3), np.uint8)
    picture[:] = BACKGROUND
    for (row, column), level, text in tiles:
        top, left = GAP + row * (CELL + GAP), GAP + column * (CELL + GAP)
        picture[top : top + CELL, left : left + CELL] = _tile(level, text)
    return picture


def _tile(level: int, text: str) -> NDArray[np.uint8]:
    """Return the picture uint8[CELL, CELL, 3] of a tile; its text is as large as fits."""
    tile = np.empty((CELL, CELL, 3), np.uint8)
    tile[:] = COLOURS[min(level, len(COLOURS)) - 1] if level else EMPTY
    if level == 0:
        return tile
    digits = [np.pad(GLYPHS[digit], ((0, 0), (0, 1))) for digit in text]
    ink = np.concatenate(digits, axis=1)[:, :-1]
    scale = min(4, (CELL - GAP) // ink.shape[1])
    ink = np.kron(ink, np.ones((scale, scale), bool)).astype(bool)
    top, left = ((CELL - side) // 2 for side in ink.shape)
    tile[top : top + ink.shape[0], left : left + ink.shape[1]][ink] = INK[level >= DARK_FROM]
    return tile
