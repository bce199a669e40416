"""What the grader is asked: a project, a program and the options of the command line."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from launch.course.report import Grade
from launch.tournament import processes
from launch.tournament.program import Limits, Program

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
    seconds: float = 3600.0  # the most time of the program, if the options give none
    has_rivals: bool = False  # standard players take part

    def speed(self, request: Request) -> float:
        """Return the moves/s that are asked."""
        return self.speeds[LANGUAGES.index(request.language)]


@contextmanager
def line_program(project: Project, request: Request) -> Iterator[Program]:
    """Yield a program that answers lines, on one core, and end it."""
    processes.adopt_orphans()
    limits = Limits(most_bytes=project.most_bytes, cores=1)
    with tempfile.TemporaryFile("a+b") as errors:
        program = Program("program", request.command, limits, errors)
        try:
            yield program
        finally:
            program.end()
