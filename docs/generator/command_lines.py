"""Checks the command lines of the pages: the real parser reads each, and each config with its overrides is loaded.

Checked are the lines of code blocks that call muzero2048, and inline code that begins with it. `python -m launch` is
the same command; the scripts `python -m benchmarks.NAME` read their own lines. Inline code may leave out the arguments
of a command. The targets of `make` must be in the Makefile.
"""

import functools
import importlib
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from docs.generator.links import ROOT, page_paths
from docs.generator.searches import SEARCHES
from launch.cli import parse
from launch.errors import UserError
from launch.experiment.experiment import load_experiment
from ntuple.core.settings import keys_of

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
_LANGUAGES = ("", "sh", "bash", "console")
_PROGRAM = r"(?:\S*/)?(muzero2048|python3? -m (?:launch|benchmarks\.\w+)|make)"
_COMMAND = re.compile(rf"(?:^|[\s(]){_PROGRAM} ((?:[a-z]|--version).*)")
_INLINE = re.compile(rf"`{_PROGRAM}\s+([a-zA-Z-][^`]*)`")
_TARGET = re.compile(r"^([a-z][\w-]*):(?!=)", re.M)
_ENDS = ("|", ">", "<", "&", "&&", "||", ";")  # words of the shell that end a command
_VALUE = re.compile(r"\$\{?\w+\}?|(?<==)[A-Za-z]$|^[A-Za-z]$")  # a shell variable, or a letter such as N: any value
_LOADS_CONFIG = ("train", "config")
_FORM = "[key="  # a line with it shows the form of a command
_REQUIRED = "the following arguments are required"


class Line(NamedTuple):
    """A command line of a page."""

    page: str  # path from the root of the repository
    number: int  # of the line in the page
    words: tuple[str, ...]  # after the name of the program
    is_inline: bool = False
    program: str = "muzero2048"  # or make, or benchmarks.NAME


def lines_of(page: str, text: str) -> Iterator[Line]:
    """Yield the command lines of a page without those that show a form: `muzero2048 train CONFIG [key=value ...]`."""
    for block in _FENCE.finditer(text):
        number = text.count("\n", 0, block.start(2)) + 1
        for line in re.split(r"(?<!\\)\n", block[2]) if block[1] in _LANGUAGES else ():
            found = _COMMAND.search(re.sub(r"(^|\s)#.*", "", line.replace("\\\n", " ")))
            if found and _FORM not in line:
                yield Line(page, number, tuple(_words(found[2])), program=_program(found[1]))
            number += 1 + line.count("\n")
    prose = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    for inline in _INLINE.finditer(prose):
        number = prose.count("\n", 0, inline.start()) + 1
        yield Line(page, number, tuple(_words(inline[2])), is_inline=True, program=_program(inline[1]))


def _program(name: str) -> str:
    word = name.split()[-1]
    return "muzero2048" if word == "launch" else word


def _words(command: str) -> Iterator[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    for word in lexer:
        if word in _ENDS:
            return
        word = word if "=" in word else word.strip("[]")  # an option in brackets can be left out
        if word != "...":
            yield _VALUE.sub("1", word)


def mistake_of(line: Line) -> str:
    """Return what is wrong with a command line; "": nothing."""
    if line.program == "make":
        unknown = [word for word in line.words if "=" not in word and word[0] != "-" and word not in _targets()]
        return f"the Makefile has no target {' '.join(unknown)}" if unknown else ""
    if line.program.startswith("benchmarks."):
        return _mistake_of_script(line)
    try:
        arguments = parse(line.words)
        if line.words[0] in _LOADS_CONFIG and (ROOT / line.words[1]).is_file():
            load_experiment(ROOT / line.words[1], arguments.overrides)
        _check_search_keys(arguments.overrides)
    except UserError as error:
        return "" if line.is_inline and _REQUIRED in str(error) else str(error)
    return ""


def _mistake_of_script(line: Line) -> str:
    try:
        script = importlib.import_module(line.program)
        arguments = script.parse(line.words)
    except (ImportError, UserError) as error:
        return str(error)
    if (config := getattr(arguments, "config", None)) and (ROOT / config).is_file():
        load_experiment(ROOT / config, arguments.overrides)
    return ""


@functools.cache
def _targets() -> set[str]:
    return set(_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))


def _check_search_keys(overrides: list[str]) -> None:
    known = {key.name for kind in SEARCHES.values() for key in keys_of(kind(), "search.")}
    for word in overrides:
        key, has_value, _ = word.partition("=")
        if has_value and key.startswith("search.") and key not in known:
            raise UserError(f"there is no key {key}")


def mistakes() -> list[str]:
    """Return the mistakes in the command lines of all pages, one line for each."""
    lines = [line for page in page_paths() for line in lines_of(page, (ROOT / page).read_text(encoding="utf-8"))]
    found = [(line, mistake_of(line)) for line in lines]
    return [
        f"{line.page}:{line.number}: {line.program} {shlex.join(line.words)}: {text}" for line, text in found if text
    ]
