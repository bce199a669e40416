"""The argument parser of all commands, and the options that several of them share."""

import argparse
import functools
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from launch.commands import completion
from launch.errors import UserError
from launch.evaluation.search_options import MODELS, SEARCHES, VALUES
from launch.trained import DEFAULT, PACKAGED

if TYPE_CHECKING:
    from launch.evaluation.search_options import SearchOptions

PLAYERS = f"a run folder, a checkpoint, a network of the package ({', '.join(PACKAGED)}), or: random, greedy, heuristic"
RUNS_FOLDER = Path("runs")
Run = Callable[[argparse.Namespace], int | None]  # does a command; None: exit code 0


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line. Options cannot be abbreviated."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self._commands: Any = None

    def add_command(self, name: str, run: Run | None, text: str, **options: Any) -> "Parser":
        """Add a command, or a tool of one, and return its parser; a command that has tools runs nothing itself."""
        if self._commands is None:
            self._commands = self.add_subparsers(required=True, metavar="TOOL" if " " in self.prog else "COMMAND")
        parser: Parser = self._commands.add_parser(name, help=text, **options)
        parser.set_defaults(run=run)
        return parser

    def error(self, message: str) -> NoReturn:
        """Raise a UserError in place of printing the usage."""
        raise UserError(f"{message}; see `{self.prog} --help`")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End after --help or --version; BrokenPipeError if nobody reads the text."""
        print(end="", flush=True)
        super().exit(status, message)


def later(module: str, function: str, names: str) -> Run:
    """Return what calls a function with the arguments of these names, in order; its module is imported only then."""
    return functools.partial(_call, module, function, names.split())


def _call(module: str, function: str, names: Sequence[str], arguments: argparse.Namespace) -> int | None:
    called: Callable[..., int | None] = getattr(importlib.import_module(module), function)
    return called(*(getattr(arguments, name) for name in names))


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")


def given(arguments: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Return the options among these that the user gave; their defaults are None, "" or False."""
    options = [name for name in names if not any(getattr(arguments, name) is unset for unset in (None, "", False))]
    return [f"--{name.replace('_', '-')}" for name in options]


def add_runs_folder(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add --runs-folder."""
    defaults: dict[str, Any] = {"type": Path, "default": RUNS_FOLDER, "help": "folder of runs (default: runs)"}
    parser.add_argument("--runs-folder", **defaults | options)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the runs that are read together, as many as the user gives."""
    text = "run folders, folders of runs, patterns in quotes, or groups (default: all of --runs-folder)"
    parser.add_argument("runs", nargs="*", metavar="RUN|GROUP|GLOB", help=text)


def add_overrides(parser: argparse.ArgumentParser, text: str, completer: Callable[..., list[str]]) -> None:
    """Add key=value words, as many as the user gives; `completer` offers words to the shell."""
    overrides: Any = parser.add_argument("overrides", nargs="*", default=[], metavar="key=value", help=text)
    overrides.completer = completer


def add_config_overrides(parser: argparse.ArgumentParser) -> None:
    """Add key=value words that change the config of a command with the argument `config`."""
    text = "changes a key of the config, e.g. run.seed=1"
    add_overrides(parser, text, completion.complete_config_override)


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of a search, and search.key=value words."""
    add_search_options(parser)
    text = "sets a field of the search, e.g. search.chance=weighted"
    add_overrides(parser, text, completion.complete_search_override)


def add_search_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that `search_options` reads to a parser or a group of it."""
    parser.add_argument(
        "--search", choices=SEARCHES, help="1ply, expectimax, mcts, or the rule at the root of a tree search in JAX"
    )
    parser.add_argument("--plies", type=int, metavar="N", help="depth of expectimax (default: 3; networks: 2)")
    parser.add_argument("--simulations", type=int, metavar="N", help="simulations of a tree search per move")
    parser.add_argument(
        "--strength", type=float, metavar="SCORE", help="mean score at which mcts shall play (docs/search.md)"
    )
    parser.add_argument("--model", choices=MODELS, help="model that the search of a network plans in")
    parser.add_argument("--value", choices=VALUES, help="what evaluates the positions of a tree search")


def search_options(arguments: argparse.Namespace, overrides: Sequence[str]) -> "SearchOptions":
    """Return the search that the options and the search.key=value words ask for."""
    from launch.evaluation.search_options import SearchOptions

    named = (arguments.search, arguments.simulations, arguments.model, arguments.value)
    return SearchOptions(*named, tuple(overrides), arguments.plies, arguments.strength)


def player_and_search(arguments: argparse.Namespace) -> "tuple[str | None, SearchOptions]":
    """Return the PATH of a command with one player, None if it is left out, and its search; UserError for a second."""
    paths, overrides = paths_and_overrides(arguments)
    if paths[1:]:
        raise UserError(f"one PATH at a time: {paths[0]} is one, leave out {' '.join(paths[1:])}")
    return (paths[0] if paths else None), search_options(arguments, overrides)


def paths_and_overrides(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the players among the words of a command, which may be none, and the other words."""
    words = arguments.overrides if arguments.path is None else [arguments.path, *arguments.overrides]
    return [word for word in words if is_path(word)], [word for word in words if not is_path(word)]


def is_path(word: str) -> bool:
    """Return whether a word names a player, and is no search.key=value. Names of runs in a grid have "=" too."""
    key, has_value, _ = word.partition("=")
    return not has_value or "/" in key or (not key.startswith("search.") and Path(word).exists())


def config_and_overrides(arguments: argparse.Namespace) -> tuple[Path | None, list[str]]:
    """Return CONFIG, which may be left out or come after an option, and the key=value words, which need one."""
    words = arguments.overrides if arguments.config is None else [str(arguments.config), *arguments.overrides]
    config = Path(words.pop(0)) if words and "=" not in words[0] else None
    if words and not config:
        raise UserError(f"there is no config for {' '.join(words)} to change; give one before it")
    return config, words


def add_player(parser: argparse.ArgumentParser) -> None:
    """Add PATH, which names the player, and --board."""
    parser.add_argument("path", nargs="?", metavar="PATH", help=f"{PLAYERS} (default: {DEFAULT})")
    parser.add_argument("--board", help="for random, greedy and heuristic: such as 3x3 or 'threes 4x4' (default: 4x4)")
