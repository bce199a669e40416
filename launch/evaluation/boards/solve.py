"""`muzero2048 solve`: the exact optimum of a small board, and exact values of single positions."""

import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.arguments import checked
from launch.errors import Option, OptionError, UserError
from launch.evaluation.boards.notation import format_position, parse_board, parse_position, tile_between
from launch.experiment.machine_info import project_version
from launch.files import check_new_file
from launch.memory import available_bytes
from launch.output import print_json
from launch.progress import progress_line
from ntuple.core.games.definition import Game
from ntuple.core.games.known import find_game
from ntuple.core.opponents import CHANCE, opponent_of
from ntuple.exact.positions import LEVELS, rules_of
from ntuple.exact.solution import ACTIONS, Solution, Worth
from ntuple.exact.solver import MOST_CELLS, solve

NO_TILE = LEVELS + 1
LAST = dict(zip(ACTIONS, range(4), strict=True))  # actions by their names


class Request(NamedTuple):
    """Options of the command line; None for options that are not given."""

    board: str | None
    until: int | None  # tile that ends the game, e.g. 512
    tile: int | None  # tile whose probability is computed
    out: Path | None  # new file for the solution
    solution: Path | None  # file with a solution, read instead of solving
    position: str | None  # position to look up
    game: str | None  # name of the game
    against: str | None  # who places the tiles
    hint: str | None  # next tile of the position, in a game that tells it
    last: str | None  # name of the move before the position as an afterstate
    as_json: bool


def run_solve(request: Request) -> None:
    """Solve a board or load a solution; print its figures, save it, and look up a position."""
    if (request.board is None) == (request.solution is None):
        raise UserError("give either --board to solve a board, or --solution to ask a file that --out wrote")
    record: dict[str, Any] = {}
    if request.solution is not None:
        solution = _load(request, request.solution)
        asked = _asked(request, solution.definition, solution.rows, solution.columns)
        solved_in = ""
    else:
        name = request.game or "2048"
        rows, columns, until, tile = _game(request.board or "", request.until, request.tile, name)
        game = find_game(name, rows, columns)
        opponent = _opponent(request.against, game)
        asked = _asked(request, game, rows, columns)  # before solving: it may take minutes
        if request.out is not None:
            check_new_file(request.out, "--out")
        began = time.monotonic()
        with progress_line(request.board or "", "solving ..."):
            solution = _solve(rows, columns, until, tile, name, opponent)
        record["seconds"] = time.monotonic() - began
        solved_in = f" in {record['seconds']:.1f} s"
    record = _summary(solution) | record
    print(f"{_title(solution)}: {record['states']:,} states, {record['afterstates']:,} afterstates{solved_in}")
    print(f"start: {_worth_text(solution, solution.start())}", flush=True)
    if request.out is not None:
        record["saved"] = _save(solution, request.out)
    if asked is not None:
        record["position"] = _position(solution, asked)
    if request.as_json:
        print_json(record)


@checked
def solve_board(
    board: str, until: int | None = None, tile: int | None = None, game: str = "2048", against: str | None = None
) -> Solution:
    """Solve a small board exactly.

    Args:
        board: "HxW": to its end up to nine cells; a 3x3 board takes minutes.
        until: tile that ends the game, such as 512; None: it goes on until no move is legal.
        tile: tile whose probability is computed; None: none.
        game: "2048", "2584", "2584-hard" or "threes"; Threes! with the rules of project 3 of Guei 2023, sec. 5.4.3.
        against: an opponent that places the tiles (docs/adversary.md): "adversary", "minimax" or "expectiminimax".
            None: they are drawn.

    Returns:
        The exact values of all positions: `start`, `look_up`, `move_values`.

    Raises:
        UserError: the board has too many positions, or needs more memory than there is.
    """
    rows, columns, until_level, tile_level = _game(board, until, tile, game)
    opponent = _opponent(against, find_game(game, rows, columns))
    return _solve(rows, columns, until_level, tile_level, game, opponent)


def _opponent(word: str | None, game: Game) -> str:
    """Return the opponent that a word means in a game."""
    try:
        return opponent_of(word or CHANCE, game)
    except ValueError as error:
        raise OptionError(Option("against", word), f": {error}") from error


def _game(board: str, until_tile: int | None, reached_tile: int | None, name: str) -> tuple[int, int, int, int]:
    """Return rows, columns, and the levels of the tiles --until and --tile."""
    rows, columns = parse_board(board)
    try:
        rules_of(name, rows, columns)
    except ValueError as error:
        raise OptionError(Option("game", name), f": {error}") from error
    game = find_game(name, rows, columns)
    until, tile = _level("until", until_tile, game), _level("tile", reached_tile, game)
    if rows * columns > MOST_CELLS and until == NO_TILE:
        mistake = f"a board of {board} has too many positions to be solved to its end; add "
        raise OptionError(mistake, Option("until"), ", a small tile with which the game ends, such as 16")
    if until < tile < NO_TILE:
        given = (Option("until", until_tile), ", so ", Option("tile", reached_tile))
        raise OptionError("the game ends with ", *given, " is out of reach")
    return rows, columns, until, tile


def _level(option: str, tile: int | None, game: Game) -> int:
    if tile is None:
        return NO_TILE
    if tile not in game.tiles[2 : LEVELS + 1]:
        most = min(LEVELS, len(game.tiles) - 1)
        raise OptionError(Option(option), f" is {tile}; give {tile_between(game, 2, most)}")
    return game.tiles.index(tile)


def _solve(rows: int, columns: int, until: int, tile: int, game: str, opponent: str) -> Solution:
    try:
        solved = solve(rows, columns, until, tile, available_bytes(), game, opponent)
    except MemoryError as error:
        mistake = f"{rows}x{columns} needs more memory than there is: {error}; give a smaller "
        raise OptionError(mistake, Option("until")) from error
    except ValueError as error:
        raise UserError(f"{rows}x{columns}: {error}") from error
    return Solution(rows, columns, until, tile, solved, game, opponent)


def _load(request: Request, path: Path) -> Solution:
    given = {"until": request.until, "tile": request.tile, "out": request.out, "game": request.game}
    for option, value in (given | {"against": request.against}).items():
        if value is not None:
            raise UserError(f"--{option} is for solving with --board; {path} holds a game that is solved")
    try:
        return Solution.load(path)
    except ValueError as error:
        raise UserError(str(error)) from error


class Asked(NamedTuple):
    """A position to look up."""

    levels: NDArray[np.int8]  # [H, W]
    hint: int
    last: int | None


def _asked(request: Request, game: Game, rows: int, columns: int) -> Asked | None:
    """Return the position of the request; None if there is none."""
    if request.position is None:
        for option, value in (("--hint", request.hint), ("--last", request.last)):
            if value is not None:
                raise UserError(f"{option} is for a --position")
        return None
    tiles, _, told = map(str.strip, request.position.partition("+"))  # the hint may stand there, as in `moves`
    if told and request.hint is not None:
        raise UserError(f"the hint is given twice, +{told} and --hint {request.hint}; leave out one")
    levels, hint = parse_position(tiles, rows, columns, game), told or request.hint
    hints = {str(game.tiles[level]): level for level in range(1, game.bonus_hint)}
    if (hint is None) == bool(hints) or (hints and hint not in hints):
        wanted = f"give the next tile, --hint {', '.join(hints)}" if hints else f"{game.name} has no --hint"
        raise UserError(f"--hint {hint or 'is missing'}: {wanted}")
    if request.last is not None and (request.last not in LAST or game.placement == "anywhere"):
        wanted = (
            f"{game.name} places tiles anywhere" if game.placement == "anywhere" else f"give one of: {', '.join(LAST)}"
        )
        raise UserError(f"--last {request.last}: {wanted}")
    return Asked(levels, hints.get(hint or "", 0), LAST.get(request.last or ""))


def _save(solution: Solution, out: Path) -> str:
    try:
        solution.save(out)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error}; name another --out") from error
    print(f"saved to {out} ({out.stat().st_size / 1e6:,.1f} MB)")
    return str(out)


def _summary(solution: Solution) -> dict[str, Any]:
    return {
        "game": solution.game,
        "opponent": solution.opponent,
        "board": f"{solution.rows}x{solution.columns}",
        "until": _tile_of(solution, solution.until),
        "tile": _tile_of(solution, solution.tile),
        "states": solution.solved.states.size,
        "afterstates": solution.solved.afters.size,
        **_worth_record(solution, solution.start()),
        "version": project_version(),
    }


def _tile_of(solution: Solution, level: int) -> int | None:
    return None if level > LEVELS else solution.definition.tiles[level]


def _title(solution: Solution) -> str:
    end = "to its end" if solution.until > LEVELS else f"until {_tile_of(solution, solution.until)}"
    name = "" if solution.game == "2048" else f"{solution.game} "
    against = "" if solution.opponent == CHANCE else f" against {solution.opponent}"
    return f"{name}{solution.rows}x{solution.columns} {end}{against}"


def _worth_text(solution: Solution, worth: Worth) -> str:
    text = f"expected {worth.expected:.6f}, best {worth.best}, worst {worth.worst}"
    return (
        text
        if solution.tile > LEVELS
        else f"{text}, probability of {_tile_of(solution, solution.tile)} {worth.reach:.6f}"
    )


def _worth_record(solution: Solution, worth: Worth) -> dict[str, Any]:
    record = worth._asdict()
    if solution.tile > LEVELS:
        record["reach"] = None
    return record


def _position(solution: Solution, asked: Asked) -> dict[str, Any]:
    """Print the values of a position as a state and as an afterstate; return them as a record."""
    answer = solution.look_up(*asked)
    cells = format_position(asked.levels, solution.definition)
    print(cells if not asked.hint else f"{cells}, next {solution.definition.tiles[asked.hint]}")
    record: dict[str, Any] = {"cells": cells, "state": None, "afterstate": None}
    if not answer.is_reachable:
        print("  unreachable: play never comes to it")
    word = solution.state_word(asked.levels, asked.hint)
    if answer.state is not None and word is not None:
        print(f"  as a state: {_worth_text(solution, answer.state)}")
        values = solution.move_values(np.array([word]))[0]
        moves = {name: value if math.isfinite(value) else None for name, value in zip(ACTIONS, values, strict=True)}
        shown = [f"{name} {'not legal' if value is None else f'{value:.6f}'}" for name, value in moves.items()]
        print(f"    moves: {', '.join(shown)}" if np.isfinite(values).any() else "    the game is over")
        record["state"] = _worth_record(solution, answer.state) | {"moves": moves}
    if answer.afterstate is not None:
        print(f"  as an afterstate: {_worth_text(solution, answer.afterstate)}")
        record["afterstate"] = _worth_record(solution, answer.afterstate)
    return record
