"""The board, and what a player says of it, as text for a terminal. Every tile shows its number, in colour or not."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from launch.evaluation.boards.analyse import NAMES, endgame_text
from launch.viewing.game import Spawn
from ntuple.core.games.definition import Board

ARROWS = {"up": "↑", "right": "→", "down": "↓", "left": "←"}
# Tiles 2, 4, ...: the colours of board.css on a dark page, oklch(L C h) as sRGB.
TILES = (
    *("#3f3724", "#4f3b24", "#613e28", "#724133", "#814345", "#8d475c", "#954c77", "#985596", "#9460b5", "#8970ce"),
    *("#7882e0", "#6094ea", "#40a7ee", "#00b8ea", "#00c8e1", "#00d6d2", "#3fe1bf", "#74e9aa"),
)
LIGHT, DARK, FIRST_DARK = "#e8ebef", "#16191d", 9  # numbers; from this level on the number is dark
RULE, SOFT, ACCENT = "#5b636e", "#9aa1ab", "#6ea8ff"
CELLS = ((11, 5), (7, 3), (7, 1))  # sizes of a cell: columns and lines of the terminal
BAR, HALF_BAR = "━", "╸"
NAME, REWARD, EFFORT = 8, 8, 10  # widths of the columns; the bar of the value is under reward and value
LEAST_BAR, MOST_BAR = 20, 40
MARK = "  ◄"  # of the move that the player makes


def board_size(rows: int, columns: int, cell: tuple[int, int]) -> tuple[int, int]:
    """Return columns and lines of the terminal that a board takes with a cell of `CELLS`."""
    return columns * (cell[0] + 1) + 1, rows * (cell[1] + 1) + 1


def board_text(levels: Board, tiles: Sequence[int], spawn: Spawn | None, cell: tuple[int, int]) -> Text:
    """Draw a board in lines of the size `board_size`; the number of the last spawn is underlined.

    `tiles` has the tile of each level.
    """
    width, height = cell
    columns = len(levels[0])
    text = Text(no_wrap=True)

    def rule(left: str, between: str, right: str) -> None:
        text.append(left + between.join(["─" * width] * columns) + right, RULE)

    for r, row in enumerate(levels):
        rule(*("┌┬┐" if r == 0 else "├┼┤"))
        for line in range(height):
            text.append("\n")
            for c, level in enumerate(row):
                text.append("│", RULE)
                is_new = spawn is not None and (spawn.row, spawn.column) == (r, c)
                number = str(tiles[level]) if line == height // 2 else ""
                _cell(text, shade(level, len(tiles)), number, width, is_new)
            text.append("│", RULE)
        text.append("\n")
    rule(*"└┴┘")
    return text


def shade(level: int, levels: int) -> int:
    """Return the number of a tile's colour, 0 = empty; of more levels than colours, neighbours share some."""
    return level if level < 2 or levels <= len(TILES) + 1 else 1 + (level - 1) * (len(TILES) - 1) // (levels - 2)


def _cell(text: Text, colour: int, number: str, width: int, is_new: bool) -> None:
    """Append one line of a cell; all but one are without its number."""
    if colour == 0:
        text.append(" " * width)
        return
    style = f"{LIGHT if colour < FIRST_DARK else DARK} on {TILES[colour - 1]}"
    left = (width - len(number)) // 2
    text.append(" " * left, style)
    text.append(number, f"bold {'underline ' if is_new else ''}{style}")
    text.append(" " * (width - left - len(number)), style)


def advice_text(advice: dict[str, Any], milliseconds: float, width: int, is_made: bool) -> Text:
    """Draw what a player says of a board (`Advice.to_json`), in `width` columns of the terminal.

    There are a heading, two lines for each move with reward, value and effort as numbers and bars, and what the player
    plays and expects. If the move `is_made`, the board after it is shown.
    """
    moves = advice["moves"]
    unit = "visits" if any("visits" in move for move in moves.values()) else "ply"
    values = [move["value"] for move in moves.values() if move["value"] is not None]
    low, high = scale_of(values) if values else (0.0, 1.0)
    efforts = [move[unit] for move in moves.values()]
    title = "depth" if unit == "ply" else "visits"
    value_bar = max(LEAST_BAR, min(MOST_BAR, width - NAME - EFFORT - len(MARK)))
    wide, effort_bar = value_bar - REWARD, EFFORT - 2
    text = Text()
    text.append(f"{'move':<{NAME}}{'reward':>{REWARD}}{'value':>{wide}}{title:>{EFFORT}}\n", SOFT)
    for name in NAMES:
        style = "bold" if name == advice["action"] else ""
        mark = f"{ARROWS[name]} {name}"
        if name not in moves:
            text.append(f"{mark:<{NAME}}{'not legal':>{value_bar}}\n\n", SOFT)
            continue
        move = moves[name]
        value = "unknown" if move["value"] is None else number(move["value"])
        text.append(f"{mark:<{NAME}}{move['reward']:>{REWARD},}{value:>{wide}}{move[unit]:>{EFFORT},}", style)
        text.append(f"{MARK}\n" if style else "\n", ACCENT)
        color = ACCENT if style else RULE
        share = 0.0 if move["value"] is None else (move["value"] - low) / (high - low)
        text.append(" " * NAME + f"{bar(share, value_bar):<{value_bar}}  ", color)
        if unit == "visits" and sum(efforts):
            text.append(bar(move[unit] / sum(efforts), effort_bar), color)
        text.append("\n")
    text.append("\n" + "\n".join(_notes(advice, milliseconds, unit, efforts, is_made)), SOFT)
    if values:
        text.append(f"\nbars of value from {number(low)} to {number(high)} points", SOFT)
    return text


def _notes(advice: dict[str, Any], milliseconds: float, unit: str, efforts: Sequence[int], is_made: bool) -> list[str]:
    if advice["action"] is None:
        return ["no move is legal: the game is over"]
    notes = [f"{'played' if is_made else 'plays'} {advice['action']}"]
    if unit == "visits":
        notes.append(f"{sum(efforts):,} visits")
    elif max(efforts):
        notes.append(f"depth {max(efforts)} ply")
    notes.append(f"{milliseconds:,.1f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:,.1f} s")
    line = [f"expects {', '.join(advice['line'])}"] if "line" in advice else []
    table = [endgame_text(**advice["endgame"])] if "endgame" in advice else []
    return [" · ".join(notes), *line, *table]


def scale_of(values: Sequence[float]) -> tuple[float, float]:
    """Return the values of an empty and of a full bar.

    Bars begin at 0 if they then differ enough to be seen, else a little below the lowest value.
    """
    low, high = min(values), max(values)
    if 0 <= low < 0.7 * high:
        return 0.0, high
    return (low - 0.2 * (high - low), high) if high > low else (low - 1, high)


def bar(share: float, width: int) -> str:
    """Return a bar of a share from 0 to 1 of `width` columns, in steps of half a column."""
    full, half = divmod(round(2 * width * max(0.0, min(1.0, share))), 2)
    return BAR * full + HALF_BAR * half


def number(value: float) -> str:
    """Return a value in points: with at most two decimals below 100, one below 1000, none above."""
    decimals = 2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0
    text = f"{value:z,.{decimals}f}"  # z: no -0
    return text.rstrip("0").rstrip(".") if decimals else text
