"""The command line `muzero2048`. Each command imports its own needs: --help and mistakes are quick."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from launch.config import completion
from launch.errors import LaunchError, UserError
from launch.run.signals import INTERRUPTED

if TYPE_CHECKING:
    from launch.evaluation.search_options import Options

CLOSED_PIPE = 141  # and of one whose reader went away


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from launch.run.environment import project_version

        print(f"muzero2048 {project_version()}")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """Reports a mistake in one line, and takes an option by its whole name alone."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see `{self.prog} --help`")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0 done, 2 the user's mistake, 75 stopped after saving."""
    try:
        return _run(_parser(), argv)
    except LaunchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # such as `| head`: who reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except OSError as error:  # a path that no system can have, a full disk: what the commands did not expect
        print(f"error: cannot use {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return UserError.exit_code


def _run(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    completion.complete(parser)
    arguments, rest = parser.parse_known_args(argv)
    if unknown := [word for word in rest if word.startswith("-")]:
        raise UserError(f"there is no option {' '.join(unknown)}; an option needs its whole name, see --help")
    # argparse takes key=value on one side of the options alone: the others arrive as the rest.
    words = [*getattr(arguments, "overrides", []), *rest]
    if words and not hasattr(arguments, "overrides"):
        raise UserError(f"cannot read {' '.join(words)}; see `muzero2048 --help`")
    arguments.overrides = words
    return arguments.run(arguments)


def _add_overrides(parser: argparse.ArgumentParser, text: str) -> None:
    overrides: Any = parser.add_argument("overrides", nargs="*", default=[], metavar="key=value", help=text)
    overrides.completer = completion.complete_override


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="muzero2048", description="MuZero and n-tuple networks learn 2048.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    _add_train(commands)
    _add_config(commands)
    _add_evaluate(commands)
    _add_moves(commands)
    _add_compare(commands)
    _add_tables(commands)
    _add_bench(commands)
    _add_network(commands)
    _add_solve(commands)
    _add_judge(commands)
    _add_wandb(commands)
    return parser


def _add_train(commands: "argparse._SubParsersAction[_Parser]") -> None:
    usage = "muzero2048 train [-h] CONFIG [key=value ...] [--resume]"
    parser = commands.add_parser(
        "train",
        help="train one experiment",
        usage=usage,
        epilog="muzero2048 config CONFIG prints every key",
    )
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file, or the folder of a run")
    _add_overrides(parser, "changes a key of the config, e.g. run.seed=1")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint, if there is one")
    parser.set_defaults(run=_train)


def _train(arguments: argparse.Namespace) -> int:
    from launch.run.loop import train

    return train(arguments.config, arguments.overrides, arguments.resume)


def _add_config(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser(
        "config",
        help="print every key of a config, with its value, type, range and meaning",
        usage="muzero2048 config [-h] CONFIG|LEARNER [key=value ...] [--json]",
    )
    text = "a YAML file, a run, a checkpoint, or a learner: ntuple, muzero, deep_td"
    config: Any = parser.add_argument("config", metavar="CONFIG|LEARNER", help=text)
    config.completer = completion.complete_learner
    _add_overrides(parser, "changes a key of the config, e.g. run.seed=1")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object in the last line")
    parser.set_defaults(run=_config)


def _config(arguments: argparse.Namespace) -> int:
    from launch.config.describe import describe

    describe(arguments.config, arguments.overrides, arguments.json)
    return 0


def _add_evaluate(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser(
        "evaluate",
        help="play games with a checkpoint and report the scores",
        usage="muzero2048 evaluate [-h] PATH [options] [search.key=value ...]",
        epilog="docs/evaluate.md explains the searches and their fields",
    )
    parser.add_argument("path", metavar="PATH", help="a run folder, a checkpoint, or: random, greedy, heuristic")
    parser.add_argument("--games", type=int, default=1000, help="games to play (default: 1000)")
    parser.add_argument("--seed", type=int, help="of the games (default: that of the evaluation that ends a run)")
    _add_search(parser)
    parser.add_argument("--board", help="for random, greedy and heuristic: rows x columns (default: 4x4)")
    parser.add_argument("--records", type=Path, metavar="FILE", help="write the games, in the notation of judge")
    parser.add_argument("--solution", type=Path, metavar="FILE", help="of a small board, by solve: tell the regret")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the games here as they end, and go on from it")
    parser.add_argument("--part", default="", metavar="I/N", help="play every Nth game, for one of N processes")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object in the last line")
    parser.set_defaults(run=_evaluate)


def _add_search(parser: argparse.ArgumentParser) -> None:
    """The options of `_search_options`."""
    kinds = ("1ply", "expectimax", "gumbel", "puct")
    parser.add_argument("--search", choices=kinds, help="1ply, expectimax, or the rule at a tree's root")
    parser.add_argument("--plies", type=int, metavar="N", help="of expectimax (default: 3)")
    parser.add_argument("--simulations", type=int, metavar="N", help="of a tree search, per move")
    _add_overrides(parser, "sets a field of the search, e.g. search.chance=weighted")
    parser.add_argument("--model", choices=("learned", "simulator"), help="what a tree search plans in")
    parser.add_argument("--value", choices=("network", "ntuple"), help="what a tree search evaluates positions with")


def _search_options(arguments: argparse.Namespace) -> "Options":
    from launch.evaluation.search_options import Options

    if paths := [word for word in arguments.overrides if "=" not in word]:
        raise UserError(f"one PATH at a time: {arguments.path} is one, leave out {' '.join(paths)}")
    named = (arguments.search, arguments.simulations, arguments.model, arguments.value)
    return Options(*named, tuple(arguments.overrides), arguments.plies)


def _evaluate(arguments: argparse.Namespace) -> int:
    from launch.evaluation import evaluate
    from launch.evaluation.result import OutputOptions

    games, seed, options = arguments.games, arguments.seed, _search_options(arguments)
    outputs = OutputOptions(arguments.records, arguments.solution, arguments.keep, arguments.part, arguments.json)
    if _is_baseline(arguments):
        return evaluate.evaluate_baseline(arguments.path, arguments.board or "4x4", games, seed, options, outputs)
    return evaluate.evaluate_path(Path(arguments.path), games, seed, options, outputs)


def _is_baseline(arguments: argparse.Namespace) -> bool:
    """Whether PATH names a player that needs no training; only these take a board."""
    from launch.evaluation.evaluate import BASELINES, HEURISTIC

    found = arguments.path in (*BASELINES, HEURISTIC)
    if arguments.board and not found:
        raise UserError("--board is for random, greedy and heuristic; a checkpoint holds its own board")
    return found


def _add_moves(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser(
        "moves",
        help="what a player makes of a board: each move's reward, value, and depth or visits",
        usage="muzero2048 moves [-h] PATH --position POSITION [options] [search.key=value ...]",
        epilog='a position is rows of tiles, "2 4 0 8 / 0 8 2 0 / ...", or the word of a bitboard, 0x130021',
    )
    parser.add_argument("path", metavar="PATH", help="a run folder, a checkpoint, or: random, greedy, heuristic")
    parser.add_argument("--position", required=True, help="the board that waits for a move")
    _add_search(parser)
    parser.add_argument("--board", help="for random, greedy and heuristic: rows x columns (default: 4x4)")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object in the last line")
    parser.set_defaults(run=_moves)


def _moves(arguments: argparse.Namespace) -> int:
    from launch.commands import analyse

    options = _search_options(arguments)
    if _is_baseline(arguments):
        asked = analyse.ask_baseline(arguments.path, arguments.board or "4x4", options)
    else:
        asked = analyse.ask_path(Path(arguments.path), options)
    analyse.tell(asked, arguments.position, arguments.json)
    return 0


def _add_compare(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser("compare", help="draw the learning curves of runs, with a table of their results")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders of either learner")
    parser.add_argument("--x", choices=("env_steps", "games", "wall_hours"), default="env_steps", help="the axis")
    parser.add_argument("--tile", type=int, default=2048, help="whose reach rate is drawn (default: 2048)")
    parser.add_argument("--out", type=Path, default=Path("comparison"), help="folder to write to (default: comparison)")
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> int:
    from launch.comparison.compare import compare

    compare(arguments.runs, arguments.x, arguments.tile, arguments.out)
    return 0


def _add_tables(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser("tables", help="write the result tables of Markdown files from evaluation files")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a Markdown file; launch/comparison/tables.py says how"
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 2 if a table differs")
    parser.set_defaults(run=_tables)


def _tables(arguments: argparse.Namespace) -> int:
    from launch.comparison.tables import write_tables

    return write_tables(arguments.files, arguments.check)


def _add_bench(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser("bench", help="measure speed beside peers, accuracy beside the truth")
    what = (
        "env: steps/s; ntuple, expectimax, search, learner: moves/s; accuracy: error of searches, 10 minutes;"
        " gpu: what the learner's programs would launch on one, which need not be there"
    )
    kinds = ("env", "ntuple", "expectimax", "search", "learner", "accuracy", "gpu")
    parser.add_argument("what", choices=kinds, help=what)
    of_config = "of learner and gpu: a MuZero experiment, and key=value to change it"
    parser.add_argument("config", nargs="?", type=Path, metavar="CONFIG", help=of_config)
    _add_overrides(parser, of_config)
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="of gpu: to compile for (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object in the last line")
    parser.set_defaults(run=_bench)


def _bench(arguments: argparse.Namespace) -> int:
    from launch.bench import run_bench

    words = arguments.overrides if arguments.config is None else [str(arguments.config), *arguments.overrides]
    config = Path(words.pop(0)) if words and "=" not in words[0] else None  # it may also come behind --json
    return run_bench(arguments.what, config, words, arguments.gpus, arguments.json)


def _add_network(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser("network", help="look at n-tuple networks, average, fold and convert them")
    tools = parser.add_subparsers(required=True, metavar="TOOL", parser_class=_Parser, dest="tool")
    texts = {
        "inspect": "print a network's tables, the share of weights touched, and the most extreme weights",
        "average": "average networks of one shape, such as the checkpoints of a run (Guei 2023, sec. 4.2)",
        "fold": "add tuples that lie inside larger ones to these: the same values, fewer entries to look up",
        "convert": "from a checkpoint to a .w file of TDL2048+, or from a .w file to a checkpoint",
    }
    for name, text in texts.items():
        tool = tools.add_parser(name, help=text)
        several = name == "average"
        tool.add_argument(
            "paths", nargs="+" if several else 1, type=Path, metavar="PATH", help="a run, a checkpoint or a .w file"
        )
        tool.add_argument("--stages", default="", help="of a .w file of several stages: their thresholds, like 0,16384")
        if name != "inspect":
            tool.add_argument("--out", type=Path, required=True, help="checkpoint to write; of convert also a .w file")
            tool.add_argument("--half", action="store_true", help="weights in half precision: a file half as large")
        tool.set_defaults(run=_network)


def _network(arguments: argparse.Namespace) -> int:
    from launch.commands import networks

    if arguments.tool == "inspect":
        networks.inspect(arguments.paths[0], arguments.stages)
    else:
        networks.transform(arguments.tool, arguments.paths, arguments.stages, arguments.out, arguments.half)
    return 0


def _add_solve(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser(
        "solve",
        help="solve a small board exactly, save the solution, ask it for positions",
        epilog='a position is rows of tiles, "2 4 0 / 0 8 2", or the word of a bitboard, 0x130021; see docs/solve.md',
    )
    parser.add_argument("--board", help="rows x columns, e.g. 2x3: to its end up to nine cells")
    parser.add_argument("--until", type=int, metavar="TILE", help="the game ends with this tile")
    parser.add_argument("--tile", type=int, metavar="TILE", help="find the probability of this tile too")
    parser.add_argument("--out", type=Path, metavar="FILE", help="save the solution (3x3: 1.4 GB)")
    parser.add_argument("--solution", type=Path, metavar="FILE", help="ask a saved solution in place of solving")
    parser.add_argument("--position", help="what is this position, and what is it worth?")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object in the last line")
    parser.set_defaults(run=_solve)


def _solve(arguments: argparse.Namespace) -> int:
    from launch.evaluation.solve import Request, run_solve

    game = (arguments.board, arguments.until, arguments.tile, arguments.out)
    run_solve(Request(*game, arguments.solution, arguments.position, arguments.json))
    return 0


def _add_judge(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser("judge", help="replay game records by the rules; exit code 2 if one is wrong")
    parser.add_argument("file", type=Path, metavar="FILE", help="one game a line, in the notation of docs/records.md")
    parser.add_argument("--board", help="rows x columns (default: that of the file's header, or 4x4)")
    parser.add_argument("--whole", action="store_true", help="a game that stops before it is over is wrong")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object in the last line")
    parser.set_defaults(run=_judge)


def _judge(arguments: argparse.Namespace) -> int:
    from launch.evaluation.judge import judge

    return judge(arguments.file, arguments.board, arguments.whole, arguments.json)


def _add_wandb(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser("wandb", help="write the wandb run of a training anew")
    tools = parser.add_subparsers(required=True, metavar="TOOL", parser_class=_Parser)
    tool = tools.add_parser("rebuild", help="from metrics.jsonl, whole and offline: after kills, before `wandb sync`")
    tool.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    tool.set_defaults(run=_wandb)


def _wandb(arguments: argparse.Namespace) -> int:
    from launch.run.tracking import rebuild

    for run in arguments.runs:
        rebuild(run)
    return 0
