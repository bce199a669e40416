"""The HTML page of a replay: one file with its data, its style and its one script, and no request to anywhere.

What the page shows is stored for each of its N positions, because the script does not know the rules of the game. A
game of T moves has T + 1 positions, the last board included. An array is base64 of its bytes, in the smallest type that
holds its numbers exactly.
"""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.evaluation.boards.notation import parse_named_board
from launch.evaluation.boards.views import View, losses
from launch.evaluation.records.played import Game, gather
from launch.evaluation.summary import by_tile
from launch.quantities import counted
from launch.viewing import BASE_STYLE, BOARD_SCRIPT, BOARD_STYLE, one_file
from launch.viewing.replay.summary import Bin, last_moves
from ntuple.core.games.definition import HINT_BITS
from ntuple.core.games.event_codes import event_of
from ntuple.core.interfaces import Games

HERE = Path(__file__).parent
MOST_LISTED = 300  # mistakes
INTEGERS = ("Uint8Array", "Int8Array", "Int16Array", "Int32Array", "Float64Array")  # types of JavaScript
FLOATS = ("Float32Array", "Float64Array")
DTYPES = dict(zip((*INTEGERS[:4], *FLOATS), ("<u1", "<i1", "<i2", "<i4", "<f4", "<f8"), strict=True))


class ReplayContent(NamedTuple):
    """What the page shows."""

    origin: str  # where the games are from, in words
    board: str
    all_games: list[Game]
    games: list[Game]  # those that the page holds
    first: int  # index of the one among them that opens first
    own: View | None  # what the player says of the N positions of `games`
    judge: View | None
    judge_every: int  # it was asked at every such move
    bins: list[Bin]  # the player's values against the rest of the score
    stride: int  # of the moves that the bins are made of


def render(content: ReplayContent) -> str:
    """Return the text of the page."""
    script = one_file.read(BOARD_SCRIPT, HERE / "page.js")
    style = one_file.read(BASE_STYLE, HERE / "page.css", BOARD_STYLE)
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        head=one_file.head(f"{parse_named_board(content.board)[0].name}: replay of {content.origin}", [script], style),
        origin=escape(_subtitle(content)),
        mistakes=escape(_about_mistakes(content)),
        ends=escape(_about_ends(content.all_games)),
        tiles=_tiles(content.all_games),
        calibration=_calibration(content),
        data=one_file.json_text(page_data(content)),
        script=script,
    )


def page_data(content: ReplayContent) -> dict[str, Any]:
    """Return what the script of the page reads: JSON values, and arrays as `pack` returns them."""
    games, made = content.games, _made(content)
    starts = np.cumsum([0, *(len(game.boards) for game in games)]).tolist()
    arrays: dict[str, NDArray[Any]] = {
        "cells": gather(games, lambda game: game.boards).ravel(),
        "made": made,
        "spawn": gather(games, _spawn_cells),  # where a tile was placed before each position, -1 at the start
        "reward": gather(games, lambda game: game.rewards).ravel(),
        "gain": gather(games, lambda game: np.append(game.points, 0)),  # of the move made, with that of the placed tile
        "hint": gather(games, lambda game: game.draws & ((1 << HINT_BITS) - 1)),
    }
    views = {name: view for name, view in (("own", content.own), ("judge", content.judge)) if view is not None}
    kind, rows, columns = parse_named_board(content.board)
    return {
        "tiles": kind.analysed_tiles,
        "hints": [kind.hint_name(hint) for hint in range(kind.num_hints + 1)],
        "rows": rows,
        "columns": columns,
        "games": [_entry(game, start) for game, start in zip(games, starts, strict=False)],
        "first": content.first,
        "arrays": {name: pack(array) for name, array in arrays.items()},
        "views": {name: _packed(view) for name, view in views.items()},
        "mistakes": _mistakes(content.judge or content.own, made),
        "bins": [interval._asdict() for interval in content.bins],
        "last": [board._asdict() for board in last_moves(content.all_games)],
    }


def _entry(game: Game, start: int) -> dict[str, Any]:
    """Return a game of the list; `start` is the index of its first position."""
    return {
        "number": game.number,
        "start": start,
        "moves": game.moves,
        "score": game.score,
        "opening": int(game.placed[0]),
        "tile": game.max_tile,
        "over": game.is_over,
    }


def _spawn_cells(game: Game) -> NDArray[np.int64]:
    return np.array([-1, *(event_of(game.kind, code).cell for code in game.spawns.tolist())])


def _packed(view: View) -> dict[str, Any]:
    arrays: dict[str, NDArray[Any]] = {"action": view.action, "value": view.value, "effort": view.effort}
    packed: dict[str, Any] = {"name": view.name, "unit": view.unit}
    if view.endgames is not None:
        packed["tables"] = view.endgames.names
        arrays |= {"table": view.endgames.number, "probability": view.endgames.probability}
    return packed | {name: pack(array.ravel()) for name, array in arrays.items()}


def pack(array: NDArray[Any]) -> dict[str, str]:
    """Return an array as base64 of little-endian bytes, and the type of JavaScript that holds its numbers exactly."""
    kinds = INTEGERS if np.issubdtype(array.dtype, np.integer) else FLOATS
    for kind in kinds:
        small = array.astype(DTYPES[kind])
        if np.array_equal(small, array, equal_nan=kind in FLOATS):
            break
    return {"type": kind, "data": base64.b64encode(small.tobytes()).decode()}


def _made(content: ReplayContent) -> NDArray[np.int8]:
    """Return the move made in each position; -1 on the last board of a game."""
    return gather(content.games, lambda game: np.append(game.actions, np.int8(-1))).astype(np.int8)


def _mistakes(view: View | None, made: NDArray[np.int8]) -> list[dict[str, Any]]:
    """Return the moves that lose most by the values of a view: index of the position, better move, points lost."""
    if view is None:
        return []
    lost = losses(view.value, made)
    order = np.argsort(-np.nan_to_num(lost), kind="stable")[:MOST_LISTED]
    better = np.nan_to_num(view.value, nan=-np.inf).argmax(axis=1)
    return [{"at": int(i), "better": int(better[i]), "loss": float(lost[i])} for i in order if lost[i] > 0]


def _about_mistakes(content: ReplayContent) -> str:
    """Return what the mistakes are, in words."""
    view = content.judge or content.own
    if view is None:
        return "Nobody values these positions: give --judge, a solution or a player, or --player."
    lost = losses(view.value, _made(content))
    known = lost[np.isfinite(lost)]
    if not len(known):
        return f"{view.name} gives no values of these moves: give --judge, a solution or a player."
    moves = sum(game.moves for game in content.games)
    is_whole = len(known) == moves
    which = f"all {moves:,} moves" if is_whole else f"{len(known):,} of {moves:,} moves"
    a_game = f"{known.sum() / len(content.games):,.2f} a game, " if is_whole else ""
    lossy = (
        f"{int((known > 0).sum()):,} lose points: {known.sum():,.1f} in all, {a_game}{known.mean():,.3f} a move, "
        f"the worst {known.max():,.1f}."
    )
    if content.judge is None:
        return (
            f"There is no judge: these are the player's own values. By {view.name}, {which} have values, and {lossy} "
            "Most players make the move of the highest value, so their own games have few mistakes or none here: "
            "--judge gives another opinion."
        )
    every = f", asked at {_every(content.judge_every)}" if content.judge_every > 1 else ""
    return (
        f"Judged by {view.name}{every}. Of {which}, {lossy} Loss is the judge's value of its best move minus its "
        "value of the move made, in points that it expects from this position to the end of the game."
    )


def _subtitle(content: ReplayContent) -> str:
    shown, count = len(content.games), len(content.all_games)
    which = "" if shown == count else f", {shown:,} of them on this page"
    return f"{content.origin}: {counted(count, 'game')} on {content.board}{which}"


def _about_ends(games: Sequence[Game]) -> str:
    """Return the statistics of scores and moves, in words."""
    score, moves = (np.array([getattr(game, name) for game in games]) for name in ("score", "moves"))
    stopped = sum(not game.is_over for game in games)
    text = (
        f"Score: mean {score.mean():,.1f}, median {np.median(score):,.1f}, from {score.min():,} to {score.max():,}. "
        f"Moves: mean {moves.mean():,.1f}, from {moves.min():,} to {moves.max():,}."
    )
    return f"{text} {stopped:,} of {len(games):,} games stop before they are over." if stopped else text


def _tiles(games: Sequence[Game]) -> str:
    """Return the table of games by their largest tile."""
    titles = ("largest tile", "games", "share", "mean score", "mean moves")
    score, max_tile, moves = np.array([(game.score, game.max_tile, game.moves) for game in games], np.int64).T
    rows = [
        (f"{row.tile}", f"{row.games:,}", f"{row.games / len(games):.1%}", f"{row.score:,.0f}", f"{row.moves:,.0f}")
        for row in reversed(by_tile(Games(score, max_tile, moves, 0.0)))
    ]
    return _table("tiles", titles, rows)


def _calibration(content: ReplayContent) -> str:
    """Return the table of values against the rest of the score."""
    if content.own is None:
        return "<p>There is no player: --player PATH shows the values of one.</p>"
    bins = content.bins
    if not bins:
        return "<p>The player gives no values, or no game is over.</p>"
    which = _every(content.stride) if content.stride > 1 else "all moves"
    count = sum(interval.positions for interval in bins)
    predicted = sum(interval.positions * interval.predicted for interval in bins) / count
    actual = sum(interval.positions * interval.actual for interval in bins) / count
    text = (
        f"{count:,} positions: {which} of the games that are over. The mean value is {_points(predicted)}, the mean "
        f"rest of the score {_points(actual)}. Positions of one game share its end, so a row with few games is "
        "uncertain."
    )
    titles = ("value", "positions", "games", "mean value", "mean rest", "difference")
    rows = [
        (
            f"{_points(interval.low)} to {_points(interval.high)}",
            f"{interval.positions:,}",
            f"{interval.games:,}",
            _points(interval.predicted),
            _points(interval.actual),
            _points(interval.predicted - interval.actual, "+"),
        )
        for interval in bins
    ]
    return (
        f'<p>{escape(text)}</p>\n<div class="pair">\n'
        + _table("bins", titles, rows)
        + '\n<figure><div id="calibration" class="chart"></div><figcaption>Mean value and mean rest of the score of '
        "each row. On the line both are equal; below it the value is too high.</figcaption></figure>\n</div>"
    )


def _table(name: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is the title of its row."""
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="table"><table class="plain" id="{name}-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _every(stride: int) -> str:
    return f"moves 0, {stride}, {2 * stride}, ..."


def _points(value: float, sign: str = "") -> str:
    return f"{value:{sign},.{0 if abs(value) >= 1000 else 1}f}"
