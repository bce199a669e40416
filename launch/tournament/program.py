"""A program in a tournament: a process that answers lines, within limits of time, memory, output and processes."""

import contextlib
import os
import re
import selectors
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, NamedTuple

from launch.errors import UserError
from launch.tournament import processes

CONFINE = Path(__file__).with_name("confine.py")
MOST_LINE = 256  # bytes of an answer
LAST_BYTES = 2048  # of its output, in which its last line is looked for
MOST_WAITING = 1 << 16  # bytes that may wait to be read
LOOK_SECONDS = 0.05  # between two looks at the processes of a program that has not answered
MOST_ERRORS = 16 << 20  # bytes on stderr
END_SECONDS = 1.0  # for a program to end by itself after "@ exit"


class Fault(StrEnum):
    """What a program can do wrong. It loses the game."""

    START = "did not start"
    ENDED = "ended during the game"
    SLOW = "took too long for a move"
    OVER_TIME = "took too long for the game"
    TEXT = "answered what is no action"
    ILLEGAL = "broke the rules"
    FLOOD = "wrote too much"
    PROCESSES = "started too many processes"
    UNREAD = "does not read its input"
    UNASKED = "wrote a line that nobody asked for"
    LATE = "took too long for all answers"


class ProgramError(Exception):
    """A program made a fault."""

    def __init__(self, program: str, fault: Fault, detail: str = "") -> None:
        super().__init__(f"{fault}: {detail}" if detail else str(fault))
        self.program, self.fault, self.detail = program, fault, detail  # the name of the program


def command_of(text: str) -> list[str]:
    """Return the words of a command, as a shell reads them; UserError if a quote is not closed."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"the program {text!r} is no command: {error}") from error


class Limits(NamedTuple):
    """Limits of each program."""

    move_seconds: float = 1.0  # for one answer
    game_seconds: float = 600.0  # for all answers of a game
    start_seconds: float = 120.0  # for the first answer: it compiles
    most_bytes: int = 4 << 30  # address space of each of its processes; 0: none
    most_processes: int = 64
    cores: int = 0  # that it may use; 0: all


def confined(command: Sequence[str], limits: Limits) -> list[str]:
    """Return the command that starts a program within limits of memory, processes and cores."""
    numbers = (limits.most_bytes, limits.most_processes, limits.cores)
    return [sys.executable, "-I", str(CONFINE), *map(str, numbers), *command]


def last_line(output: IO[bytes]) -> str:
    """Return the last line of a program's output, as far as it can be printed, and where a traceback of Python ends."""
    output.seek(max(0, os.fstat(output.fileno()).st_size - LAST_BYTES))
    lines = output.read(LAST_BYTES).decode(errors="replace").strip().splitlines()
    if not lines:
        return ""
    line = "".join(filter(str.isprintable, lines[-1]))[-MOST_LINE:]
    places = re.findall(r'^  File "(?:.*/)?([\w.-]+)", line (\d+)', "\n".join(lines[:-1]), re.MULTILINE)
    return f"{line} ({places[-1][0]}, line {places[-1][1]})" if places else line


_running: list["Program"] = []  # all that live, so that the end of one spares the others


class Program:
    """A running program; it is started by its first question, and again after a fault."""

    def __init__(self, name: str, command: Sequence[str], limits: Limits, errors: IO[bytes] | None = None) -> None:
        """Name a program; `errors` is a file that gets what it writes on stderr, so that its end can be explained."""
        self.name, self._command, self._limits, self._errors = name, list(command), limits, errors
        self._process: subprocess.Popen[bytes] | None = None
        self._input = self._output = -1  # descriptors of its pipes
        self._waiting = b""
        self.seconds = 0.0  # of its answers since the program was told of a game

    @property
    def is_running(self) -> bool:
        """Whether its process was started and not ended here."""
        return self._process is not None

    def start(self) -> None:
        """Start the process, if it does not run."""
        if self._process is not None:
            return
        words = confined(self._command, self._limits)
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors or subprocess.DEVNULL,
            start_new_session=True,
        )
        self._waiting = b""
        _running.append(self)
        self._input, self._output = (pipe.fileno() for pipe in (self._process.stdin, self._process.stdout) if pipe)
        for descriptor in (self._input, self._output):
            os.set_blocking(descriptor, False)

    def leave(self) -> None:
        """Tell the program that the tournament is over, give it time to end, and end it."""
        if self._process is None or self._process.stdin is None:
            return
        with contextlib.suppress(ProgramError, OSError, subprocess.TimeoutExpired):
            self.tell("@ exit")
            self._process.stdin.close()
            self._process.wait(END_SECONDS)
        self.end()

    def end(self) -> None:
        """End the process and all that it started."""
        if self._process is None:
            return
        process, self._process = self._process, None
        _running.remove(self)
        others = [other._process.pid for other in _running if other._process is not None]
        processes.end(process.pid, others)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # the other end is closed
                    pipe.close()
        process.wait()

    def tell(self, line: str) -> None:
        """Send a line.

        Raises:
            ProgramError: the program has ended, or reads nothing.
        """
        self.start()
        rest = line.encode() + b"\n"
        began = time.monotonic()
        while rest:
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError as error:  # many lines wait to be read
                if time.monotonic() - began > self._limits.move_seconds:
                    raise ProgramError(self.name, Fault.UNREAD) from error
                time.sleep(LOOK_SECONDS)
            except OSError as error:
                raise ProgramError(self.name, Fault.ENDED, self._last_error()) from error

    def ask(self, line: str, seconds: float) -> str:
        """Send a line and return the line that the program answers.

        Raises:
            ProgramError: it ended, took longer than `seconds`, broke another limit, or has answered already.
        """
        self.start()
        self._read()
        if b"\n" in self._waiting:
            unasked = self._waiting.partition(b"\n")[0][:MOST_LINE].decode("ascii", "replace").strip()
            raise ProgramError(self.name, Fault.UNASKED, repr(unasked))
        self.tell(line)
        began = time.monotonic()
        looked = began
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            while b"\n" not in self._waiting:
                now = time.monotonic()
                if now - began > seconds:
                    self.check_processes()  # on a full machine it may not have run since the question
                    raise ProgramError(self.name, Fault.SLOW, f"more than {seconds:g} s")
                if now - looked > LOOK_SECONDS:
                    self.check_processes()
                    looked = time.monotonic()
                if selector.select(min(LOOK_SECONDS, max(0.0, seconds - (now - began)) + 0.001)):
                    self._read()
        self.seconds += time.monotonic() - began
        answer, _, self._waiting = self._waiting.partition(b"\n")
        if len(answer) > MOST_LINE:
            raise ProgramError(self.name, Fault.FLOOD, f"a line of {len(answer)} bytes")
        return answer.decode("ascii", "replace").strip()

    def check_processes(self) -> None:
        """Raise ProgramError if the program has too many processes, or wrote too much on stderr."""
        assert self._process is not None
        count = len(processes.below([self._process.pid]))
        if count > self._limits.most_processes:
            raise ProgramError(self.name, Fault.PROCESSES, f"more than {self._limits.most_processes}")
        if self._errors and os.fstat(self._errors.fileno()).st_size > MOST_ERRORS:
            raise ProgramError(self.name, Fault.FLOOD, f"more than {MOST_ERRORS >> 20} MiB on stderr")

    def _last_error(self) -> str:
        """Return the last line that the program wrote on stderr."""
        return last_line(self._errors) if self._errors else ""

    def _read(self) -> None:
        try:
            read = os.read(self._output, MOST_WAITING)
        except BlockingIOError:
            return
        if not read:
            raise ProgramError(self.name, Fault.ENDED, self._last_error())
        self._waiting += read
        if len(self._waiting) > MOST_WAITING or (b"\n" not in self._waiting and len(self._waiting) > MOST_LINE):
            raise ProgramError(self.name, Fault.FLOOD, f"more than {MOST_LINE} bytes without an end of line")


@contextlib.contextmanager
def programs_of(commands: Mapping[str, Sequence[str]], limits: Mapping[str, Limits]) -> Iterator[dict[str, Program]]:
    """Yield a program for each command, all by their names, and end them."""
    with contextlib.ExitStack() as stack:
        programs = {}
        for name, command in commands.items():
            errors = stack.enter_context(tempfile.TemporaryFile("a+b"))
            programs[name] = Program(name, command, limits[name], errors)
            stack.callback(programs[name].leave)
        yield programs
