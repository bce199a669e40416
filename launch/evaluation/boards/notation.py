"""Boards and positions as text: "3x4"; rows of tiles such as "2 4 0 / 0 8 2"; a bitboard such as 0x130021.

In a game with hints the next tile follows the tiles, and the tiles of each kind in the bag may follow it, such as
"0 1 0 / 0 0 2 +3" and "0 1 0 / 0 0 2 +3 bag 1 1 0". In place of a bonus tile there is the number after that of the
largest tile of the bag, +4 in Threes!, as in records.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from launch.errors import UserError
from launch.quantities import counted
from ntuple.core.games.definition import Game, State
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import board_name, find_game

EMPTY = ("0", ".")
HEX = "0x"
DEFAULT_BOARD = "4x4"
HEX_DIGITS = "0123456789abcdef"


def parse_board(board: str) -> tuple[int, int]:
    """Return rows and columns of a board such as "3x4"; UserError if the text is not "HxW" with sides of 2 to 4."""
    sides = board.split("x")
    if len(sides) != 2 or not all(side in ("2", "3", "4") for side in sides):
        raise UserError(f"cannot read the board '{board}'; give rows x columns, each 2 to 4: 3x4, threes 4x4")
    return int(sides[0]), int(sides[1])


def parse_named_board(board: str) -> tuple[Game, int, int]:
    """Return game, rows and columns of a board by its name, such as "3x4" or "threes 4x4"; UserError if it has none."""
    *game, sides = board.split() or [board]
    rows, columns = parse_board(sides)
    try:
        return find_game(" ".join(game) or GAME_2048.name, rows, columns), rows, columns
    except ValueError as error:
        raise UserError(f"cannot read the board '{board}': {error}") from error


def named_board(board: str | None, game: str | None) -> str | None:
    """Return the name of a board of options; None if neither is given. A board alone is one of 2048."""
    return board if game is None else board_name(*parse_board(board or DEFAULT_BOARD), game)


def board_of(settings: Any) -> str:
    """Return the board of a learner's settings by its name."""
    return board_name(settings.rows, settings.columns, game_of(settings))


def game_of(settings: Any) -> str:
    """Return the game of a learner's settings; 2048 if they have no such key."""
    return getattr(settings, "game", GAME_2048.name)


def board_order(board: str) -> tuple[str, int, int]:
    """Return a key that sorts names of boards: 2048 first, and of a game the one with the most cells first."""
    *game, sides = board.split()
    rows, columns = map(int, sides.split("x"))
    return " ".join(game), -rows * columns, -rows


def parse_position(text: str, rows: int, columns: int, game: Game = GAME_2048) -> NDArray[np.int8]:
    """Return the levels int8[H, W] of a position.

    - Tiles: rows from the top, `/` between rows, blanks between tiles, 0 or . for an empty cell.
    - Bitboard: 0x and hex digits. Bits 4i .. 4i + 3 of the number are the level of cell i, row by row from the top
      left, so the last digit is the top left cell.

    Raises:
        UserError: the text is not a position of such a board; the message has the place.
    """
    stripped = text.strip()
    is_word = stripped[:2].lower() == HEX
    cells = _hex_levels(text, stripped, rows, columns) if is_word else _tiles(text, rows, columns, game)
    return np.array(cells, np.int8).reshape(rows, columns)


def parse_state(text: str, rows: int, columns: int, game: Game) -> State:
    """Return the state of a position: tiles as of `parse_position`, hint and bag in a game that has them.

    A bag that is left out is that of `Game.bag_of`.

    Raises:
        UserError: the text is not a position of such a board, or hint or bag are impossible.
    """
    tiles, has_hint, drawn = text.partition("+")
    levels = parse_position(tiles, rows, columns, game)
    board = tuple(map(tuple, levels.tolist()))
    if not (has_hint or game.bag):
        return State(board)
    hint, _, bag = drawn.partition("bag")
    words = [hint.strip(), *bag.split()]
    if not all(word.isdecimal() for word in words):
        wanted = f"the hint after the tiles, +1 to +{game.num_hints}, and perhaps the bag, such as +1 bag 3 4 4"
        raise _mistake(text, f"{game.name} tells the next tile; give {wanted}" if game.bag else "there is no hint")
    number, *counts = map(int, words)
    state = State(board, number, tuple(counts) or game.bag_of(board, number))
    if fault := game.fault_of(state):
        raise _mistake(text, fault)
    return state


def format_state(state: State, game: Game) -> str:
    """Return a state as `parse_state` reads it, without a bag that follows from the rest."""
    text = format_position(np.array(state.board), game)
    if not state.hint:
        return text
    bag = "" if state.bag == game.bag_of(state.board, state.hint) else " bag " + " ".join(map(str, state.bag))
    return f"{text} +{state.hint}{bag}"


def format_position(levels: NDArray[np.integer], game: Game = GAME_2048) -> str:
    """Return levels int[H, W] as rows of tiles, the inverse of `parse_position`."""
    return " / ".join(" ".join(str(game.tiles[level]) for level in row) for row in levels.tolist())


def tile_between(game: Game, least: int, most: int) -> str:
    """Return in words what the tiles of the levels from `least` to `most` are."""
    what = "a power of 2" if game is GAME_2048 else f"a tile of {game.name}"
    return f"{what} from {game.tiles[least]} to {game.tiles[most]}"


def _tiles(text: str, rows: int, columns: int, game: Game) -> list[list[int]]:
    most = game.largest_level
    known = {str(tile): level for level, tile in enumerate(game.tiles[: most + 1]) if level}
    board = [row.split() for row in text.split("/")]
    for r, row in enumerate(board[:rows], start=1):
        for c, word in enumerate(row[:columns], start=1):
            if word not in EMPTY and word not in known:
                wanted = f"{tile_between(game, 1, most)}, or 0 or . for an empty cell"
                raise _mistake(text, f"row {r}, column {c} is '{word}'; give {wanted}")
        if len(row) != columns:
            raise _mistake(text, f"row {r} has {counted(len(row), 'cell')}; give {columns}, with blanks between them")
    if len(board) != rows:
        raise _mistake(text, f"{counted(len(board), 'row')}; give {rows}, with / between them")
    return [[known.get(word, 0) for word in row] for row in board]


def _hex_levels(text: str, word: str, rows: int, columns: int) -> list[int]:
    digits = word[len(HEX) :].lower()
    for i, digit in enumerate(digits):
        if digit not in HEX_DIGITS:
            raise _mistake(text, f"character {len(HEX) + i + 1} is {digit!r}; give hex digits after 0x")
    cells = rows * columns
    if not 1 <= len(digits) <= cells:
        wanted = f"a {rows}x{columns} board has {cells} cells, give one digit each, without those of leading zeros"
        raise _mistake(text, f"{counted(len(digits), 'hex digit')}; {wanted}")
    return [int(digit, 16) for digit in reversed(digits.zfill(cells))]


def _mistake(text: str, place: str) -> UserError:
    return UserError(f"cannot read the position {text!r}: {place}")
