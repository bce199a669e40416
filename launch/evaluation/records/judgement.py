"""The judge of a game record: replay it by the rules, up to its end or to its first mistake.

Shapes: `T` moves, `N` cells of the board, `C` codes of chance events.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int8, Int64, UInt8, UInt16

from launch.arguments import checked
from launch.evaluation.records.record import ACTIONS, CELLS, GameRecord, Kind, Mistake, Reading, read_line, spawn_text
from ntuple.core.games.definition import Game
from ntuple.core.games.event_codes import count_codes, event_of
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.game import replay_check
from ntuple.game.any_game import make_game_rules

# The kernel numbers its faults under the names of the kinds.
_FAULTS = {getattr(replay_check, kind.name): kind for kind in Kind if hasattr(replay_check, kind.name)}


class Judgement(NamedTuple):
    """The result of replaying a game by the rules, up to its end or to its first mistake."""

    score: int  # points, computed by the replay
    max_tile: int  # the largest tile on the board, e.g. 2048; 0 if there is none
    moves: int  # number of correct moves: legal, and with the right reward if the record gives one
    is_over: bool  # whether no move is legal at the end; False with a mistake
    seconds: float | None  # sum of the times in the record; None if it has none
    mistake: Mistake | None


class Spawned(NamedTuple):
    """The chance events after moves of a game, and what they depend on."""

    afterstates: UInt8[np.ndarray, "T N"]  # board before each event, levels
    places: Bool[np.ndarray, "T N"]  # where the tile may be placed
    draws: UInt16[np.ndarray, " T"]  # hint and bag before each event
    actions: Int8[np.ndarray, " T"]
    cells: Int64[np.ndarray, " T"]  # where the tile was placed
    levels: Int64[np.ndarray, " T"]  # of the tile
    hints: Int64[np.ndarray, " T"]  # told after it
    last: tuple[Int64[np.ndarray, " T"], ...]  # cell, level and hint of the event before each of them


@checked
def judge_record(record: GameRecord, rows: int, columns: int) -> Judgement:
    """Replay a game by the rules.

    A game that stops before it is over is not a mistake; `Judgement.is_over` is then False.

    Args:
        record: the game.
        rows: height of the board, 1 to 4.
        columns: width of the board, 1 to 4.

    Returns:
        The result of the replay.
    """
    opening = list(record.opening)
    reading = Reading(opening, record.actions, record.spawns, record.rewards, record.milliseconds, None)
    return _judge(reading, rows, columns, record.game)[0]


def judge_line(line: str, rows: int, columns: int, game: Game = GAME_2048) -> Judgement:
    """Read and replay the line of a game.

    The mistake is the first one of the line: a mistake in the text counts only if no rule is broken before it.
    """
    return judge_with_spawns(line, rows, columns, game)[0]


def judge_with_spawns(line: str, rows: int, columns: int, game: Game = GAME_2048) -> tuple[Judgement, Spawned]:
    """Return the judgement of `judge_line`, and the spawns that can be relied on: before the last move of a mistake."""
    return _judge(read_line(line, game), rows, columns, game)


def _judge(read: Reading, rows: int, columns: int, game: Game) -> tuple[Judgement, Spawned]:
    findings, moves = np.zeros(replay_check.FINDINGS, np.int64), len(read.actions)
    afterstates, places = np.zeros((2, moves, rows * columns), np.uint8)
    seen = replay_check.Seen(afterstates, places, np.zeros(moves, np.uint16))
    replay_check.replay(
        make_game_rules(game.name, rows, columns),
        np.array(read.opening, np.int16),  # copies: numba would compile another kernel for a read-only or strided array
        np.array(read.actions, np.int8),
        np.array(read.spawns, np.int16),
        np.array([] if read.rewards is None else read.rewards, np.int64),
        findings,
        seen,
    )
    score, max_tile, moves, is_over, fault, number, earned = findings.tolist()
    mistake, first = read.mistake, game.initial_tiles + 1  # the number of the first move
    if fault != replay_check.NOTHING:
        detail = _text_at(read, number, game)
        if fault == replay_check.OFF_BOARD:
            detail += f" on {rows}x{columns}"
        if fault == replay_check.REWARD and read.rewards is not None:
            detail += f" claims {read.rewards[(number - first) // 2]} and earns {earned}"
        mistake = Mistake(_FAULTS[fault], number, detail)
    seconds = None if read.milliseconds is None else float(read.milliseconds.sum()) / 1000
    spawned = min(moves, len(read.spawns)) if mistake is None else max(0, moves - 1)
    codes = np.concatenate([np.array(read.opening[-1:], np.int16), read.spawns[:spawned]])
    cells, levels, hints = _events(game)[codes].T
    spawns = Spawned(
        afterstates=afterstates[:spawned],
        places=places[:spawned].astype(bool),
        draws=seen.draws[:spawned],
        actions=read.actions[:spawned],
        cells=cells[1:],
        levels=levels[1:],
        hints=hints[1:],
        last=(cells[:spawned], levels[:spawned], hints[:spawned]),
    )
    return Judgement(score, max_tile, moves, bool(is_over) and mistake is None, seconds, mistake), spawns


def _text_at(read: Reading, number: int, game: Game) -> str:
    """Return the text of the move or spawn with this number."""
    if number <= game.initial_tiles:
        return spawn_text(game, read.opening[number - 1])
    turn, is_spawn = divmod(number - game.initial_tiles - 1, 2)
    return spawn_text(game, int(read.spawns[turn])) if is_spawn else "#" + ACTIONS[read.actions[turn]]


@cache
def _events(game: Game) -> Int64[np.ndarray, "C 3"]:
    """Return cell, level and hint of each code."""
    return np.array([event_of(game, code) for code in range(count_codes(game, CELLS))], np.int64)
