"""One game of two programs: one slides the tiles, the other places them; the referee keeps the rules.

    #1 open A:B      the names of player and adversary; a program that takes part answers "#1 open accept"
    #1 21+3          an action of the other side, or a first tile
    #1 ?             a question for an action; in 2584 "#1 ? 3", the level of the tile that was drawn for the adversary
    #1 #L            the answer of a player
    #1 61            the answer of an adversary; in Threes! "61+3", with the next hint
    #1 close 4096    the points of the game, or "close fault NAME"
    @ exit           the tournament is over

An action has the notation of game records (launch/evaluation/records/record.py).
"""

import random
from typing import NamedTuple

import numpy as np

from launch.evaluation.records.record import ACTIONS, LEVELS, GameRecord, spawn_text, write_record
from launch.tournament.program import Fault, Limits, Program, ProgramError
from ntuple.core.games.definition import Afterstate, Event, Game, State
from ntuple.core.games.event_codes import PlacedTile, event_code, event_of
from ntuple.game.any_game import AnyRules
from ntuple.game.bitboard import Board
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS
from ntuple.game.family_events import decode_state
from ntuple.game.rollout import open_game


class Match(NamedTuple):
    """A game that is over, or that a fault ended."""

    player: str
    adversary: str
    opening: int  # number of the opening
    score: int
    max_tile: int
    moves: int
    record: str  # of the moves before the fault; "": none was made
    fault: str  # what was wrong; "": nothing
    at_fault: str  # name of the program that made it; "": none


class _Made(NamedTuple):
    """What was played so far."""

    opening: tuple[int, ...]
    actions: list[int]
    spawns: list[int]
    rewards: list[int]


def play_match(
    player: Program, adversary: Program, game: Game, rules: AnyRules, seed: int, opening: int, limits: Limits
) -> Match:
    """Play a game; the first tiles and the drawn tiles depend on (seed, opening) alone.

    A program that makes a fault is ended, and starts anew with its next game.
    """
    row = np.zeros(COLUMNS, np.uint64)
    made = _Made(open_game(rules, seed, opening, row), [], [], [])
    state = decode_state(rules, Board(row[BOARD_LO], row[BOARD_HI]))
    points = sum(game.place_points(event_of(game, code).level) for code in made.opening)
    draws, fault, at_fault = random.Random(f"{seed} {opening}"), "", ""
    try:
        for program in (player, adversary):
            _open(program, f"{player.name}:{adversary.name}", limits)
            for code in made.opening:
                program.tell(f"#1 {spawn_text(game, code)}")
        while any(game.move(state, action) for action in range(4)):
            action = _action(player, game, state, limits)
            move = game.move(state, action)
            if move is None:
                raise ProgramError(player.name, Fault.ILLEGAL, f"#{ACTIONS[action]}")
            adversary.tell(f"#1 #{ACTIONS[action]}")
            event, code = _placement(adversary, game, move.after, draws, limits)
            for values, value in ((made.actions, action), (made.spawns, code), (made.rewards, move.points)):
                values.append(value)
            points, state = points + move.points + event.points, event.state
            player.tell(f"#1 {spawn_text(game, code)}")
        for program in (player, adversary):
            program.tell(f"#1 close {points}")
    except ProgramError as error:
        fault, at_fault = str(error), error.program
        for program in (player, adversary):
            _close_after_fault(program, at_fault)
    largest = game.tiles[max(max(line) for line in state.board)]
    count = len(made.actions)
    return Match(player.name, adversary.name, opening, points, largest, count, _text(made, game), fault, at_fault)


def _open(program: Program, names: str, limits: Limits) -> None:
    is_new = not program.is_running
    try:
        answer = program.ask(f"#1 open {names}", limits.start_seconds if is_new else limits.move_seconds)
    except ProgramError as error:
        if not is_new:
            raise
        raise ProgramError(program.name, Fault.START, str(error)) from error
    program.seconds = 0.0  # its start is no play
    if answer != "#1 open accept":
        raise ProgramError(program.name, Fault.TEXT, f"{answer!r} to open")


def _answer(program: Program, question: str, limits: Limits) -> str:
    """Return the action that a program answers, after "#1 "."""
    answer = program.ask(question, limits.move_seconds)
    if program.seconds > limits.game_seconds:
        raise ProgramError(program.name, Fault.OVER_TIME, f"more than {limits.game_seconds:g} s")
    if not answer.startswith("#1 "):
        raise ProgramError(program.name, Fault.TEXT, repr(answer))
    return answer[3:]


def _action(player: Program, game: Game, state: State, limits: Limits) -> int:
    answer = _answer(player, "#1 ?", limits)
    if len(answer) != 2 or answer[0] != "#" or answer[1] not in ACTIONS:
        raise ProgramError(player.name, Fault.TEXT, repr(answer))
    return ACTIONS.index(answer[1])


def _placement(
    adversary: Program, game: Game, after: Afterstate, draws: random.Random, limits: Limits
) -> tuple[Event, int]:
    """Return the chance event that the adversary chooses, and its code."""
    drawn, question = 0, "#1 ?"
    if game.adversary == "expectiminimax":
        drawn = draws.choices([level for level, _ in game.spawns], [share for _, share in game.spawns])[0]
        question = f"#1 ? {LEVELS[drawn]}"
    answer = _answer(adversary, question, limits)
    for event in game.events(after):
        code = event_code(game, _placed(after, event))
        if spawn_text(game, code) == answer:
            if drawn not in (0, event_of(game, code).level) or (game.bag and event.state.hint == game.bonus_hint):
                break
            return event, code
    raise ProgramError(adversary.name, Fault.ILLEGAL, repr(answer))


def _placed(after: Afterstate, event: Event) -> PlacedTile:
    """Return the tile of a chance event."""
    levels = [level for line in event.state.board for level in line]
    before = [level for line in after.board for level in line]
    cell = next(cell for cell, (new, old) in enumerate(zip(levels, before, strict=True)) if new != old)
    return PlacedTile(cell, levels[cell], event.state.hint)


def _close_after_fault(program: Program, at_fault: str) -> None:
    """End the program that made a fault; tell the other one."""
    if program.name == at_fault:
        return program.end()
    try:
        program.tell(f"#1 close fault {at_fault}")
    except ProgramError:
        program.end()


def _text(made: _Made, game: Game) -> str:
    rewards, spawns = np.array(made.rewards, np.int64), np.array(made.spawns, np.int16)
    return write_record(GameRecord(made.opening, np.array(made.actions, np.int8), spawns, rewards, None, game))
