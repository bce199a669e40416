"""The numbers of chance events in records and analyses of games.

    2048           2 * cell + (1 if the tile is a 4 else 0)
    other games    (32 * cell + level) * 8 + next hint, 0 in a game without hints

Cells are numbered row by row from the top left.
"""

from typing import NamedTuple

from ntuple.core.games.definition import MOST_LEVELS, Game
from ntuple.core.games.game_2048 import GAME_2048

HINTS = 8  # numbers of a hint


class PlacedTile(NamedTuple):
    """A chance event."""

    cell: int
    level: int
    hint: int = 0  # of the tile after it; 0: none is told


def count_codes(game: Game, cells: int) -> int:
    """Return how many numbers a board of so many cells needs."""
    return cells * (2 if game is GAME_2048 else MOST_LEVELS * HINTS)


def event_code(game: Game, event: PlacedTile) -> int:
    """Return the number of a chance event."""
    if game is GAME_2048:
        return 2 * event.cell + event.level - 1
    return (event.cell * MOST_LEVELS + event.level) * HINTS + event.hint


def event_of(game: Game, code: int) -> PlacedTile:
    """Return the chance event of a number: the inverse of `event_code`."""
    if game is GAME_2048:
        return PlacedTile(code >> 1, 1 + (code & 1))
    place, hint = divmod(code, HINTS)
    return PlacedTile(*divmod(place, MOST_LEVELS), hint)


def event_text(game: Game, code: int, columns: int) -> str:
    """Return a chance event in words: "2@(1,3)", row and column from 1; with the next hint "3@(1,3)+2"."""
    event = event_of(game, code)
    row, column = divmod(event.cell, columns)
    return f"{game.tiles[event.level]}@({row + 1},{column + 1})" + (f"+{event.hint}" if event.hint else "")
