"""`muzero2048 grade PROJECT PROGRAM`: run a student's program under the limits of a project, and print its points."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from launch.course.projects import PROJECTS
from launch.course.report import record_of, text_of
from launch.course.request import LANGUAGES, Request
from launch.errors import UserError
from launch.evaluation.seeds import check_seed
from launch.output import print_json
from launch.tournament.program import command_of


class Options(NamedTuple):
    """Options of the command line; None: those of the project."""

    language: str | None
    games: int | None
    seconds: float | None
    seed: int
    players: Sequence[str]


def grade(project: str, program: str, options: Options, as_json: bool) -> None:
    """Grade a program and print the report."""
    if project not in PROJECTS:
        raise UserError(f"there is no project {project}; the projects are {', '.join(PROJECTS)}")
    asked = PROJECTS[project]
    if options.games is not None and options.games < 1:
        raise UserError(f"--games is {options.games}; give 1 or more")
    if options.seconds is not None and not options.seconds > 0:
        raise UserError(f"--seconds is {options.seconds:g}; give seconds above 0")
    if options.players and not asked.has_rivals:
        raise UserError(f"--players are those of projects 5 and 6, adversary and tournament; {project} has none")
    check_seed(options.seed)
    command = _command(program)
    is_python = any(Path(word).name.startswith("python") or word.endswith(".py") for word in command)
    request = Request(
        command=command,
        language=options.language or LANGUAGES[is_python],
        number=options.games or asked.number,
        seconds=options.seconds or asked.seconds,
        seed=options.seed,
        players=options.players,
    )
    result = asked.grade(asked, request)
    print(text_of(project, program, result))
    if as_json:
        print_json(record_of(project, program, result))


def _command(program: str) -> list[str]:
    """Return the words of a program; UserError if it cannot be run."""
    command = command_of(program)
    if not command or not shutil.which(command[0]):
        name = command[0] if command else repr(program)
        what = "a file without the right to be executed" if Path(name).is_file() else "no program that can be run"
        raise UserError(f'{name} is {what}; give its command in quotes, such as "python player.py"')
    return command
