"""`muzero2048 tournament`: every pair of programs plays both sides of the same openings.

The folder of a tournament has

    games.jsonl      a header, then a game a line, written when it ends (launch/evaluation/records/line_log.py)
    records.txt      the games in the notation of `judge`, written at the end
    tournament.html  the table and all games, written at the end

so a tournament that was stopped or killed goes on with the same command and plays no finished game again.
"""

import itertools
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from launch.errors import UserError
from launch.evaluation.boards.notation import parse_named_board
from launch.evaluation.loading import is_player
from launch.evaluation.records.line_log import LineLog
from launch.evaluation.seeds import check_seed
from launch.experiment.machine_info import own_program
from launch.files import write_text
from launch.progress import progress_line
from launch.signals import STOPPED, StopSignals
from launch.tournament import page, processes
from launch.tournament.program import Limits, Program, ProgramError, command_of, programs_of
from launch.tournament.referee import Match, play_match
from launch.tournament.standings import standings, table_text
from ntuple.core.games.known import board_name
from ntuple.game.any_game import make_game_rules

FORMAT = "muzero2048 tournament 2"
GAMES, RECORDS, PAGE = "games.jsonl", "records.txt", "tournament.html"


class Request(NamedTuple):
    """Options of the command line."""

    players: Sequence[str]
    games: int  # openings of a pair in a round
    rounds: int
    seed: int
    board: str
    out: Path
    limits: Limits


def run_tournament(request: Request) -> int:
    """Play the games that the folder lacks, print the table, and write records and page; return the exit code."""
    if request.games < 1 or request.rounds < 1:
        raise UserError("--games and --rounds are at least 1")
    check_seed(request.seed)
    game, rows, columns = parse_named_board(request.board)
    rules = make_game_rules(game.name, rows, columns)
    board = board_name(rows, columns, game.name)
    commands = commands_of(request.players, request.board)
    header = {"format": FORMAT, "board": board, "seed": request.seed, "players": commands}
    processes.adopt_orphans()
    wanted = dict.fromkeys(schedule(list(commands), request.games, request.rounds))
    doing = "no game to play"
    with (
        _open(request.out, header) as log,
        StopSignals("stopping", "the finished games are kept, and the same command goes on") as stop,
        programs_of(commands, {name: limits_of(commands[name], request.limits) for name in commands}) as programs,
        progress_line("tournament", lambda: doing),
    ):
        matches = log.read(Match)
        played = {(match.player, match.adversary, match.opening) for match in matches}
        missing = [pair for pair in wanted if pair not in played]
        for name in sorted({name for player, adversary, _ in missing for name in (player, adversary)}):
            if is_own(commands[name]):
                doing = f"starting {name}"
                _start(programs[name], request.limits)
        for number, (player, adversary, opening) in enumerate(missing):
            if stop.requested:
                print(f"stopped; the finished games are in {request.out / GAMES}, the same command goes on")
                return STOPPED
            doing = f"game {number + 1:,} of {len(missing):,}: {player} against {adversary}"
            sides = programs[player], programs[adversary]
            match = play_match(*sides, game, rules, request.seed, opening, request.limits)
            log.add(match._asdict())
            matches.append(match)
    matches = [match for match in matches if (match.player, match.adversary, match.opening) in wanted]
    table = standings(list(commands), matches)
    print(table_text(table))
    records = [f"% board {board}", *(match.record for match in matches if match.record), ""]
    write_text(request.out / RECORDS, "\n".join(records))
    write_text(request.out / PAGE, page.text(table, matches, board))
    print(f"{len(matches):,} games; records and page in {request.out}")
    return 0


def schedule(names: Sequence[str], games: int, rounds: int) -> Iterator[tuple[str, str, int]]:
    """Yield (player, adversary, number of the opening) of all games in their order."""
    for opening in range(rounds * games):
        for one, other in itertools.combinations(names, 2):
            yield one, other, opening
            yield other, one, opening


def commands_of(players: Sequence[str], board: str) -> dict[str, list[str]]:
    """Return the command of each program by its name; UserError if there are fewer than two, or one is not there.

    A player is a checkpoint, a run or a player without training, with options of a search behind it, or the command of
    a program. Before it may stand a name: `NAME=PLAYER`.
    """
    commands: dict[str, list[str]] = {}
    for text in players:
        name, has_name, rest = text.partition("=")
        if not has_name or " " in name or "/" in name or name.startswith("-"):
            name, rest = "", text
        words = command_of(rest)
        if not words:
            raise UserError(f"{text!r} is no player; give a run, a player without training, or a program")
        if is_player(words[0]) and not shutil.which(words[0]):
            command = [*_arena(), *words, "--board", board]
        elif shutil.which(words[0]):
            command = words
        else:
            raise UserError(f"{words[0]} is neither a player nor a program; give a run, or a program that can be run")
        name = name or Path(words[0]).name
        if name in commands:
            raise UserError(f"two players are called {name}; name one of them, such as other={shlex.quote(rest)}")
        if ":" in name or not name.isprintable():
            raise UserError(f"a player is called {name!r}; give another name, such as other={shlex.quote(rest)}")
        commands[name] = command
    if len(commands) < 2:
        raise UserError("a tournament needs two players or more")
    return commands


def limits_of(command: Sequence[str], limits: Limits) -> Limits:
    """Return the limits of a program; players of this project may have all memory, as in an evaluation."""
    return limits._replace(most_bytes=0) if is_own(command) else limits


def is_own(command: Sequence[str]) -> bool:
    """Return whether a command is that of a player of this project."""
    words = _arena()
    return tuple(command[: len(words)]) == words


def _arena() -> tuple[str, ...]:
    """Return the first words of the command of a player of this project."""
    return (*own_program(), "arena")


def _start(program: Program, limits: Limits) -> None:
    """Load a player of this project, which then waits for its games; UserError says why it refuses its words."""
    try:
        program.ask("#0 open a:b", limits.start_seconds)
    except ProgramError as error:
        raise UserError(f"{program.name}: {error.detail.removeprefix('error: ') or error}") from error


def _open(out: Path, header: dict[str, Any]) -> LineLog:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make {out}: {error.strerror}; name another --out") from error
    return LineLog(out / GAMES, header)
