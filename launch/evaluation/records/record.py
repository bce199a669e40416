"""Game records in the notation of Guei's dissertation (2023, sec. 5.5.1), and the judge that replays them.

    11D1 (1) #L (2) 61 (3) #D [4] (3) 11 (2) #D (3) B1 (3) #L [4] (3) 61

| part | text | optional after it |
|---|---|---|
| spawn | the cell as a hexadecimal digit, row by row from the top left; log2 of the tile, 1 or 2 | time, ignored |
| move | # and one of U R D L | [reward in points], then (time in ms) |

A game begins with two spawns; then moves and spawns alternate. Blanks between the parts are ignored. Moves and spawns
are numbered together from 1: the opening is 1 and 2, the first move is 3.

If a record gives any reward, a move without a reward has reward 0. The same holds for times. The example leaves out
rewards of 0.

Shapes: `T` moves, `S` spawns.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int8, Int16, Int64, UInt8

from launch.arguments import checked
from ntuple import PlayedGame, Rules, make_rules
from ntuple.game import verify

ACTIONS = "URDL"  # the letters of the actions 0..3
HEX = "0123456789ABCDEF"
MAX_MILLISECONDS = 1e15  # 15 digits are exact in float64
EXCERPT = 12  # characters that messages quote of an unreadable text

_TIME = r"[0-9]{1,15}(?:\.[0-9]+)?"
_MOVE = re.compile(rf"[ \t]*#([{ACTIONS}])(?:[ \t]*\[([0-9]{{1,18}})\])?(?:[ \t]*\(({_TIME})\))?")
_SPAWN = re.compile(rf"[ \t]*([0-9A-F][12])(?:[ \t]*\({_TIME}\))?")
_TURN = re.compile(_MOVE.pattern + _SPAWN.pattern)
_TURNS = re.compile(f"(?:{_TURN.pattern})*")
_ANY_TILE = re.compile(r"[0-9A-F][0-9A-Z]")


class Kind(StrEnum):
    """The kinds of mistakes in a record."""

    ILLEGAL = "illegal move"
    AFTER_END = "move after the end of the game"
    OFF_BOARD = "cell off the board"
    OCCUPIED = "cell not empty"
    REWARD = "wrong reward"
    TILE = "tile neither 2 nor 4"
    NO_SPAWN = "missing spawn"
    NO_MOVE = "missing move"
    TEXT = "unreadable text"
    NOT_OVER = "game not over"  # a mistake only with `muzero2048 judge --whole`


_FAULTS = {
    verify.ILLEGAL: Kind.ILLEGAL,
    verify.AFTER_END: Kind.AFTER_END,
    verify.OFF_BOARD: Kind.OFF_BOARD,
    verify.OCCUPIED: Kind.OCCUPIED,
    verify.REWARD: Kind.REWARD,
}


class Mistake(NamedTuple):
    """The first mistake in a record."""

    kind: Kind
    number: int  # number of the move or spawn, as the module docstring counts
    detail: str  # the move or spawn, the text found in its place, or the wrong reward
    column: int | None = None  # column of the line, from 1; None for a text that can be read but breaks the rules

    def __str__(self) -> str:
        column = "" if self.column is None else f", column {self.column}"
        return f"number {self.number}{column}: {self.kind}, {self.detail}"


class RecordError(ValueError):
    """A line is not a game record."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


@dataclass(frozen=True, eq=False)
class GameRecord:
    """A game of T moves. It may break the rules of the game: `judge_record` checks them.

    Raises:
        ValueError: lengths differ, or a number is outside its range.
    """

    opening: tuple[int, ...]  # two spawn codes, 2 * cell + (1 if the tile is a 4 else 0): 0..31
    actions: Int8[np.ndarray, " T"]  # 0..3: up, right, down, left
    spawns: Int16[np.ndarray, " T"]  # the spawn code after each action
    rewards: Int64[np.ndarray, " T"] | None = None  # points of each action, 0 or more
    milliseconds: Float64[np.ndarray, " T"] | None = None  # time of each action, 0 or more

    def __post_init__(self) -> None:
        bounds = {"actions": 3, "spawns": 31, "rewards": 10**18 - 1, "milliseconds": MAX_MILLISECONDS - 1}
        for name, most in bounds.items():
            values = getattr(self, name)
            if values is None:
                continue
            if len(values) != len(self.actions):
                raise ValueError(f"{len(self.actions)} actions and {len(values)} {name}: give one a move")
            if not np.all((values >= 0) & (values <= most)):
                raise ValueError(f"{name} are outside 0..{most:g}")
        if not all(0 <= code <= 31 for code in self.opening):
            raise ValueError(f"the opening is {self.opening}; give two spawn codes of 0..31")


class Judgement(NamedTuple):
    """The result of replaying a game by the rules, up to its end or to its first mistake."""

    score: int  # points, computed by the replay
    max_tile: int  # the largest tile on the board, e.g. 2048; 0 if there is none
    moves: int  # number of correct moves: legal, and with the right reward if the record gives one
    is_over: bool  # whether no move is legal at the end; False with a mistake
    seconds: float | None  # sum of the times in the record; None if it has none
    mistake: Mistake | None


class Spawned(NamedTuple):
    """The spawns after moves of a game, and what they depend on."""

    afterstates: UInt8[np.ndarray, "T N"]  # board before each spawn: log2 of each tile
    actions: Int8[np.ndarray, " T"]
    codes: Int16[np.ndarray, " T"]
    last: Int16[np.ndarray, " T"]  # code of the spawn before each of them


class _Reading(NamedTuple):
    """A parsed line: the game up to the first mistake in its text. The last move may lack its spawn."""

    opening: list[int]
    actions: Int8[np.ndarray, " T"]
    spawns: Int16[np.ndarray, " S"]
    rewards: Int64[np.ndarray, " T"] | None
    milliseconds: Float64[np.ndarray, " T"] | None
    mistake: Mistake | None


def record_of(played: PlayedGame) -> GameRecord:
    """Return the record of a game that was played here, with times rounded to 0.1 ms."""
    return GameRecord(played.opening, played.actions, played.spawns, played.rewards, played.milliseconds.round(1))


@checked
def write_record(record: GameRecord) -> str:
    """Return the line of a game.

    Rewards of 0 are left out, so a record whose rewards are all 0 is read back as a record without rewards.
    """
    parts = ["".join(_spawn_text(code) for code in record.opening)]
    for t in range(len(record.actions)):
        parts.append("#" + ACTIONS[record.actions[t]])
        if record.rewards is not None and record.rewards[t]:
            parts.append(f"[{record.rewards[t]}]")
        if record.milliseconds is not None:
            parts.append(f"({np.format_float_positional(record.milliseconds[t], trim='-')})")
        parts.append(_spawn_text(record.spawns[t]))
    return " ".join(parts)


@checked
def parse_record(line: str) -> GameRecord:
    """Read the line of a game; the inverse of `write_record`.

    Raises:
        RecordError: the text is not a record; `RecordError.mistake` has the place and the reason. The rules of the game
            are not checked, except that a spawned tile is 2 or 4.
    """
    reading = _read(line)
    if reading.mistake is not None:
        raise RecordError(reading.mistake)
    first, second = reading.opening
    return GameRecord((first, second), reading.actions, reading.spawns, reading.rewards, reading.milliseconds)


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
    reading = _Reading(opening, record.actions, record.spawns, record.rewards, record.milliseconds, None)
    return _judge(reading, rows, columns)[0]


def judge_line(line: str, rows: int, columns: int) -> Judgement:
    """Read and replay the line of a game.

    The mistake is the first one of the line: a mistake in the text counts only if no rule is broken before it.
    """
    return judge_with_spawns(line, rows, columns)[0]


def judge_with_spawns(line: str, rows: int, columns: int) -> tuple[Judgement, Spawned]:
    """Return the judgement of `judge_line`, and the spawns that can be relied on: before the last move of a mistake."""
    return _judge(_read(line), rows, columns)


@cache
def _rules(rows: int, columns: int) -> Rules:
    return make_rules(rows, columns)


def _judge(game: _Reading, rows: int, columns: int) -> tuple[Judgement, Spawned]:
    findings = np.zeros(verify.FINDINGS, np.int64)
    afterstates = np.zeros((len(game.actions), rows * columns), np.uint8)
    verify.replay(
        _rules(rows, columns),
        np.array(game.opening, np.int16),  # copies: numba would compile another kernel for a read-only or strided array
        np.array(game.actions, np.int8),
        np.array(game.spawns, np.int16),
        np.array([] if game.rewards is None else game.rewards, np.int64),
        findings,
        afterstates,
    )
    score, max_tile, moves, is_over, fault, number, earned = findings.tolist()
    mistake = game.mistake
    if fault != verify.NOTHING:
        detail = _text_at(game, number)
        if fault == verify.OFF_BOARD:
            detail += f" on {rows}x{columns}"
        if fault == verify.REWARD and game.rewards is not None:
            detail += f" claims {game.rewards[(number - 3) // 2]} and earns {earned}"
        mistake = Mistake(_FAULTS[fault], number, detail)
    seconds = None if game.milliseconds is None else float(game.milliseconds.sum()) / 1000
    spawned = min(moves, len(game.spawns)) if mistake is None else max(0, moves - 1)
    last = np.concatenate([np.array(game.opening[1:], np.int16), game.spawns])[:spawned]
    spawns = Spawned(afterstates[:spawned], game.actions[:spawned], game.spawns[:spawned], last)
    return Judgement(score, max_tile, moves, bool(is_over) and mistake is None, seconds, mistake), spawns


def _text_at(game: _Reading, number: int) -> str:
    """Return the text of the move or spawn with this number."""
    if number <= 2:
        return _spawn_text(game.opening[number - 1])
    turn, is_spawn = divmod(number - 3, 2)
    return _spawn_text(game.spawns[turn]) if is_spawn else "#" + ACTIONS[game.actions[turn]]


def _spawn_text(code: int | np.int16) -> str:
    return f"{HEX[code >> 1]}{1 + (code & 1)}"


def _spawn_codes(text: str) -> Int16[np.ndarray, " S"]:
    """Return the codes of spawns from their texts joined without blanks."""
    characters = np.frombuffer(text.encode("ascii"), np.uint8).reshape(-1, 2).astype(np.int16)
    digits, tiles = characters[:, 0] - ord("0"), characters[:, 1] - ord("1")
    return 2 * np.where(digits > 9, digits - (ord("A") - ord("0") - 10), digits) + tiles


def _read(line: str) -> _Reading:
    """Read a line up to its first mistake."""
    line = line.rstrip(" \t\r\n")
    opening = ""
    at = 0
    while len(opening) < 4 and (spawn := _SPAWN.match(line, at)):
        opening += spawn[1]
        at = spawn.end()
    turns: list[tuple[str, ...]] = []
    mistake = None
    if len(opening) < 4:
        mistake = _spawn_mistake(line, at, len(opening) // 2 + 1)
    else:
        complete = _TURNS.match(line, at)
        assert complete is not None  # zero turns match too
        turns = _TURN.findall(line, at, complete.end())
        at, number = complete.end(), 3 + 2 * len(turns)
        if at < len(line):
            move = _MOVE.match(line, at)
            if move is None:
                mistake = _move_mistake(line, at, number)
            else:
                turns.append((*move.groups(default=""), ""))
                mistake = _spawn_mistake(line, move.end(), number + 1)
    letters, rewards, times, spawns = zip(*turns, strict=True) if turns else ((), (), (), ())
    actions = np.array([ACTIONS.index(letter) for letter in letters], np.int8)
    return _Reading(
        opening=_spawn_codes(opening).tolist(),
        actions=actions,
        spawns=_spawn_codes("".join(spawns)),
        rewards=np.array([int(reward or 0) for reward in rewards], np.int64) if any(rewards) else None,
        milliseconds=np.array([float(time or 0) for time in times], np.float64) if any(times) else None,
        mistake=mistake,
    )


def _skip_blanks(line: str, at: int) -> int:
    return len(line) - len(line[at:].lstrip(" \t"))


def _spawn_mistake(line: str, at: int, number: int) -> Mistake:
    """Return the reason why no spawn can be read at index `at` of the line."""
    at = _skip_blanks(line, at)
    if at == len(line):
        return Mistake(Kind.NO_SPAWN, number, "the line ends", at + 1)
    if line[at] == "#":
        return Mistake(Kind.NO_SPAWN, number, f"found {line[at : at + EXCERPT]!a}", at + 1)
    if tile := _ANY_TILE.match(line, at):
        return Mistake(Kind.TILE, number, tile[0], at + 1)
    return Mistake(Kind.TEXT, number, f"found {line[at : at + EXCERPT]!a}", at + 1)


def _move_mistake(line: str, at: int, number: int) -> Mistake:
    """Return the reason why no move can be read at index `at` of the line."""
    at = _skip_blanks(line, at)
    kind = Kind.NO_MOVE if _SPAWN.match(line, at) else Kind.TEXT
    return Mistake(kind, number, f"found {line[at : at + EXCERPT]!a}", at + 1)
