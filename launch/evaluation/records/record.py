"""Game records in the notation of Guei's dissertation (2023, sec. 5.5.1); judgement.py replays them.

    11D1 (1) #L (2) 61 (3) #D [4] (3) 11 (2) #D (3) B1 (3) #L [4] (3) 61

| part | text | optional after it |
|---|---|---|
| spawn | the cell as a hexadecimal digit, row by row from the top left; the level of the tile | time, ignored |
| hint | in a game with hints, directly after a spawn: + and the number of the next one | |
| move | # and one of U R D L | [reward in points], then (time in ms) |

A game begins with the first tiles, in 2048 two spawns; then moves and spawns alternate. Blanks between the parts are
ignored. Moves and spawns are numbered together from 1: in 2048 the opening is 1 and 2, the first move is 3. In a game
with hints the first one is the first tile; 1, 2 and 3 are the tiles of the bag, 4 is a bonus tile. Levels, in
2048 log2, are 0 to 9, then A to V. The reward of a move is without the points of the tile placed after it.

The lines of the framework of the dissertation's course are read too: PLAYER:ENVIRONMENT@TICK|RECORD|WINNER@TOCK.

If a record gives any reward, a move without a reward has reward 0. The same holds for times. The example leaves out
rewards of 0.

Shapes: `T` moves, `S` spawns.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int8, Int16, Int64

from launch.arguments import checked
from ntuple import PlayedGame
from ntuple.core.games.definition import Game
from ntuple.core.games.event_codes import PlacedTile, count_codes, event_code, event_of
from ntuple.core.games.game_2048 import GAME_2048

ACTIONS = "URDL"  # the letters of the actions 0..3
LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUV"  # of tiles; the first 16 are also the cells
CELLS = 16  # that have a digit
MAX_MILLISECONDS = 1e15  # 15 digits are exact in float64
EXCERPT = 12  # characters that messages quote of an unreadable text

_TIME = r"[0-9]{1,15}(?:\.[0-9]+)?"
_MOVE = re.compile(rf"[ \t]*#([{ACTIONS}])(?:[ \t]*\[([0-9]{{1,18}})\])?(?:[ \t]*\(({_TIME})\))?")
_ANY_TILE = re.compile(r"[0-9A-F][0-9A-Z]")
_FRAMEWORK = re.compile(r"[^|]*@[0-9]+\|([^|]*)\|[^|]*@[0-9]+")


class Kind(StrEnum):
    """The kinds of mistakes in a record."""

    ILLEGAL = "illegal move"
    AFTER_END = "move after the end of the game"
    OFF_BOARD = "cell off the board"
    OCCUPIED = "cell not empty"
    PLACE = "cell where no tile may be placed"
    HINT = "impossible hint"
    REWARD = "wrong reward"
    TILE = "wrong tile"
    NO_SPAWN = "missing spawn"
    NO_MOVE = "missing move"
    TEXT = "unreadable text"
    NOT_OVER = "game not over"  # a mistake only with `muzero2048 judge --whole`


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
    """A game of T moves. It may break the rules of the game: judgement.py checks them.

    Raises:
        ValueError: lengths differ, or a number is outside its range.
    """

    opening: tuple[int, ...]  # codes of the first tiles (ntuple/core/games/event_codes.py), in 2048 two of 0..31
    actions: Int8[np.ndarray, " T"]  # 0..3: up, right, down, left
    spawns: Int16[np.ndarray, " T"]  # the code of the chance event after each action
    rewards: Int64[np.ndarray, " T"] | None = None  # points of each action, 0 or more
    milliseconds: Float64[np.ndarray, " T"] | None = None  # time of each action, 0 or more
    game: Game = GAME_2048

    def __post_init__(self) -> None:
        codes = count_codes(self.game, CELLS) - 1
        bounds = {"actions": 3, "spawns": codes, "rewards": 10**18 - 1, "milliseconds": MAX_MILLISECONDS - 1}
        for name, most in bounds.items():
            values = getattr(self, name)
            if values is None:
                continue
            if len(values) != len(self.actions):
                raise ValueError(f"{len(self.actions)} actions and {len(values)} {name}: give one a move")
            if not np.all((values >= 0) & (values <= most)):
                raise ValueError(f"{name} are outside 0..{most:g}")
        if len(self.opening) != self.game.initial_tiles or not all(0 <= code <= codes for code in self.opening):
            raise ValueError(f"the opening is {self.opening}; give {self.game.initial_tiles} codes of 0..{codes}")


class Reading(NamedTuple):
    """A parsed line: the game up to the first mistake in its text. The last move may lack its spawn."""

    opening: list[int]
    actions: Int8[np.ndarray, " T"]
    spawns: Int16[np.ndarray, " S"]
    rewards: Int64[np.ndarray, " T"] | None
    milliseconds: Float64[np.ndarray, " T"] | None
    mistake: Mistake | None


def record_of(played: PlayedGame, game: Game) -> GameRecord:
    """Return the record of a game that was played here, with times rounded to 0.1 ms."""
    times = played.milliseconds.round(1)
    return GameRecord(played.opening, played.actions, played.spawns, played.rewards, times, game)


@checked
def write_record(record: GameRecord) -> str:
    """Return the line of a game.

    Rewards of 0 are left out, so a record whose rewards are all 0 is read back as a record without rewards.
    """
    between = " " if record.game.bag else ""  # the dissertation writes the two spawns of 2048 without one
    parts = [between.join(spawn_text(record.game, code) for code in record.opening)]
    for t in range(len(record.actions)):
        parts.append("#" + ACTIONS[record.actions[t]])
        if record.rewards is not None and record.rewards[t]:
            parts.append(f"[{record.rewards[t]}]")
        if record.milliseconds is not None:
            parts.append(f"({np.format_float_positional(record.milliseconds[t], trim='-')})")
        parts.append(spawn_text(record.game, int(record.spawns[t])))
    return " ".join(parts)


@checked
def parse_record(line: str, game: Game = GAME_2048) -> GameRecord:
    """Read the line of a game; the inverse of `write_record`.

    Raises:
        RecordError: the text is not a record; `RecordError.mistake` has the place and the reason. The rules of the game
            are not checked, except that a placed tile is one that the game places.
    """
    reading = read_line(line, game)
    if reading.mistake is not None:
        raise RecordError(reading.mistake)
    opening = tuple(reading.opening)
    return GameRecord(opening, reading.actions, reading.spawns, reading.rewards, reading.milliseconds, game)


def spawn_text(game: Game, code: int) -> str:
    """Return the text of a spawn with its hint, such as "61" or "61+3"."""
    event = event_of(game, code)
    return f"{LEVELS[event.cell]}{LEVELS[event.level]}" + (f"+{event.hint}" if event.hint else "")


class _Grammar(NamedTuple):
    """The texts of a game."""

    spawn: re.Pattern[str]
    turn: re.Pattern[str]  # a move and a spawn
    turns: re.Pattern[str]


@cache
def _grammar(game: Game) -> _Grammar:
    tiles = "".join(LEVELS[level] for level in sorted({*game.placed_levels}))
    hint = rf"\+[1-{game.num_hints}]" if game.bag else ""
    spawn = rf"[ \t]*([0-9A-F][{tiles}]{hint})(?:[ \t]*\({_TIME}\))?"
    turn = _MOVE.pattern + spawn
    return _Grammar(re.compile(spawn), re.compile(turn), re.compile(f"(?:{turn})*"))


@cache
def _codes(game: Game) -> dict[str, int]:
    """Return the codes of all spawns by their texts."""
    hints = range(1, game.num_hints + 1) if game.bag else (0,)
    events = itertools.product(range(CELLS), game.placed_levels, hints)
    codes = [event_code(game, PlacedTile(*event)) for event in events]
    return {spawn_text(game, code): code for code in codes}


def code_of_spawn(game: Game, text: str) -> int:
    """Return the code of a spawn from its text; KeyError if it is none of the game."""
    return _codes(game)[text]


def _spawn_codes(texts: Sequence[str], game: Game) -> Int16[np.ndarray, " S"]:
    """Return the codes of spawns."""
    codes = _codes(game)
    return np.array([codes[text] for text in texts], np.int16)


def read_line(line: str, game: Game) -> Reading:
    """Read a line up to its first mistake."""
    line, at = line.rstrip(" \t\r\n"), 0
    if framework := _FRAMEWORK.fullmatch(line):
        line, at = line[: framework.end(1)], framework.start(1)
    grammar, opening = _grammar(game), list[str]()
    while len(opening) < game.initial_tiles and (spawn := grammar.spawn.match(line, at)):
        opening.append(spawn[1])
        at = spawn.end()
    turns: list[tuple[str, ...]] = []
    mistake = None
    if len(opening) < game.initial_tiles:
        mistake = _spawn_mistake(line, at, len(opening) + 1, game)
    else:
        complete = grammar.turns.match(line, at)
        assert complete is not None  # zero turns match too
        turns = grammar.turn.findall(line, at, complete.end())
        at, number = complete.end(), game.initial_tiles + 1 + 2 * len(turns)
        if at < len(line):
            move = _MOVE.match(line, at)
            if move is None:
                mistake = _move_mistake(line, at, number, game)
            else:
                turns.append((*move.groups(default=""), ""))
                mistake = _spawn_mistake(line, move.end(), number + 1, game)
    letters, rewards, times, spawns = zip(*turns, strict=True) if turns else ((), (), (), ())
    actions = np.array([ACTIONS.index(letter) for letter in letters], np.int8)
    return Reading(
        opening=_spawn_codes(opening, game).tolist(),
        actions=actions,
        spawns=_spawn_codes(list(filter(None, spawns)), game),
        rewards=np.array([int(reward or 0) for reward in rewards], np.int64) if any(rewards) else None,
        milliseconds=np.array([float(time or 0) for time in times], np.float64) if any(times) else None,
        mistake=mistake,
    )


def _skip_blanks(line: str, at: int) -> int:
    return len(line) - len(line[at:].lstrip(" \t"))


def _spawn_mistake(line: str, at: int, number: int, game: Game) -> Mistake:
    """Return the reason why no spawn can be read at index `at` of the line."""
    at = _skip_blanks(line, at)
    if at == len(line):
        return Mistake(Kind.NO_SPAWN, number, "the line ends", at + 1)
    if line[at] == "#":
        return Mistake(Kind.NO_SPAWN, number, f"found {line[at : at + EXCERPT]!a}", at + 1)
    if tile := _ANY_TILE.match(line, at):
        is_placed = tile[0][1] in [LEVELS[level] for level in game.placed_levels]
        if is_placed and game.bag:
            found = line[at : at + EXCERPT]
            return Mistake(Kind.HINT, number, f"found {found!a}; +1 to +{game.num_hints} follows a tile", at + 1)
        return Mistake(Kind.TILE, number, f"{tile[0]}; {game.name} places {_placed_text(game)}", at + 1)
    return Mistake(Kind.TEXT, number, f"found {line[at : at + EXCERPT]!a}", at + 1)


def _placed_text(game: Game) -> str:
    """Return the tiles that a game places, each with its character."""
    return ", ".join(f"{game.tiles[level]} ({LEVELS[level]})" for level in game.placed_levels)


def _move_mistake(line: str, at: int, number: int, game: Game) -> Mistake:
    """Return the reason why no move can be read at index `at` of the line."""
    at = _skip_blanks(line, at)
    kind = Kind.NO_MOVE if _grammar(game).spawn.match(line, at) else Kind.TEXT
    return Mistake(kind, number, f"found {line[at : at + EXCERPT]!a}", at + 1)
