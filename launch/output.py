"""The standard output of a command: text for people, or with --json the result alone; and output without a reader."""

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

LINE_WIDTH = 250  # characters of a line of output that is not a terminal

_RESULTS: ContextVar[TextIO | None] = ContextVar("_RESULTS", default=None)


@contextmanager
def json_alone() -> Iterator[None]:
    """Keep the standard output for `print_json`; text that is printed there is dropped."""
    token = _RESULTS.set(sys.stdout)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        _RESULTS.reset(token)


def is_json_alone() -> bool:
    """Return whether the command prints nothing but its result as JSON."""
    return _RESULTS.get() is not None


def console() -> "Console":
    """Return a console that does not break the lines of a table in a log."""
    from rich.console import Console

    screen = Console()
    return screen if screen.is_terminal else Console(width=LINE_WIDTH)


def print_json(result: Any) -> None:
    """Print a result as one line of JSON; NaN and infinity, which JSON has not, are null."""
    from pydantic_core import to_jsonable_python  # most commands start without it

    plain = to_jsonable_python(result, inf_nan_mode="null")
    print(json.dumps(plain, allow_nan=False), file=_RESULTS.get(), flush=True)


@contextmanager
def going_on_unread() -> Iterator[None]:
    """Drop the text of the block once its reader has ended, such as `| tee log` at Ctrl-C, in place of an error."""
    out, err = (stream and cast(TextIO, _GoingOn(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            print(end="", flush=True)


def drop_rest(stream: TextIO) -> None:
    """Drop what a stream still holds and what is written to it from now on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _GoingOn:
    """A stream that is written to also when its reader has ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            drop_rest(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            drop_rest(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
