"""What the grader is asked: a project, a program and the options of the command line."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from launch.course.report import Grade
from launch.tournament import processes
from launch.tournament.program import Fault, Limits, Program, ProgramError

LANGUAGES = ("c++", "python")


class Request(NamedTuple):
    """Options of the command line."""

    command: Sequence[str]  # the words of the program
    language: str  # of LANGUAGES; it chooses the speed that is asked
    number: int  # games, pairings or questions
    seconds: float  # the most time of the program
    seed: int
    players: Sequence[str]  # standard players of projects 5 and 6


class Project(NamedTuple):
    """A project of the course."""

    board: str  # named, such as "threes 4x4"
    grade: "Callable[[Project, Request], Grade]"
    speeds: tuple[float, float]  # moves/s that are asked of a program in each of LANGUAGES; 0: none
    most_bytes: int  # address space of each process; 0: no limit
    number: int  # games, pairings or questions, if the options give no number
    seconds: float = 6 * 3600.0  # the most time of the program, if the options give none
    cores: int = 1  # of the program; 0: all
    has_rivals: bool = False  # standard players take part

    def speed(self, request: Request) -> float:
        """Return the moves/s that are asked."""
        return self.speeds[LANGUAGES.index(request.language)]

    @property
    def limits(self) -> Limits:
        """The limits of the program."""
        return Limits(most_bytes=self.most_bytes, cores=self.cores)


@contextmanager
def line_program(project: Project, request: Request) -> Iterator[Program]:
    """Yield a program that answers lines, on one core, and end it."""
    processes.adopt_orphans()
    with tempfile.TemporaryFile("a+b") as errors:
        program = Program("program", request.command, project.limits, errors)
        try:
            yield program
        finally:
            program.end()


def ask_in_all(program: Program, line: str, seconds: float) -> str:
    """Return the answer to a line; ProgramError if all answers together take more than `seconds`."""
    try:
        return program.ask(line, seconds - program.seconds)
    except ProgramError as error:
        if error.fault is not Fault.SLOW:
            raise
        raise ProgramError(program.name, Fault.LATE, f"more than {seconds:g} s") from error
