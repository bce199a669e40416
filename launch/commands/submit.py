"""`muzero2048 submit`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.commands import completion
from launch.commands.parser import Parser, add_search_options, is_path, search_options
from launch.errors import UserError

EVALUATE = "evaluate"
OF_SEARCH = "search."  # begins the keys of a search's fields
TRAINING = ("seeds", "group", "rows", "then_evaluate")  # options of one of the two uses
EVALUATION = ("games", "seed", "parts", "search", "plies", "simulations", "strength", "model", "value")


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "submit",
        _run,
        "train or evaluate a set of runs, here or on a cluster",
        usage="muzero2048 submit [-h] CONFIG [CONFIG ...] [key=value ...] [key=a,b,c ...] [options]\n"
        "       muzero2048 submit [-h] evaluate PATH [PATH ...] [search.key=value ...] [options]",
        epilog="docs/launch.md explains lists, names of runs and cluster files",
    )
    words: Any = parser.add_argument(
        "words",
        nargs="+",
        metavar="CONFIG|key=a,b|PATH",
        help="YAML files, and keys of them with one or several values; or evaluate, and runs or checkpoints",
    )
    words.completer = completion.complete_submit_word
    parser.add_argument(
        "--on", default="local", metavar="FILE", help="where to work: a cluster file, or local (default: local)"
    )
    parser.add_argument("--dry-run", action="store_true", help="check everything and print the plan alone")
    training = parser.add_argument_group("training")
    training.add_argument("--seeds", default="", metavar="1-8", help="one run for each seed, such as 1-8 or 1,5-7")
    training.add_argument("--group", default="", metavar="NAME", help="group of the runs (default: that of the config)")
    training.add_argument("--rows", type=Path, metavar="FILE", help="one run for each line of key=value words")
    training.add_argument("--then-evaluate", action="store_true", help="evaluate each run after its training")
    evaluation = parser.add_argument_group("evaluation", "of submit evaluate, and of --then-evaluate")
    evaluation.add_argument("--games", type=int, help="games to play (default: 1000)")
    evaluation.add_argument("--seed", type=int, help="seed of the games (default: that of the evaluation of a run)")
    evaluation.add_argument("--parts", type=int, metavar="N", help="processes that share the games (default: 1)")
    add_search_options(evaluation)
    parser.set_defaults(overrides=[])


def _run(arguments: argparse.Namespace) -> int:
    from launch.jobs.evaluations import EvaluationRequest, plan_evaluations, plan_final_evaluations
    from launch.jobs.plan import GridRequest, plan_runs
    from launch.jobs.submit import SubmitPlan, submit

    words = [*arguments.words, *arguments.overrides]
    of_search = [word for word in words if word.startswith(OF_SEARCH) and "=" in word]
    is_evaluation = words[0] == EVALUATE
    paths = [word for word in words if (is_path(word) if is_evaluation else "=" not in word)]
    keys = [word for word in words if word not in (*of_search, *paths)]
    games = 1000 if arguments.games is None else arguments.games
    parts = 1 if arguments.parts is None else arguments.parts
    evaluation = EvaluationRequest(games, arguments.seed, parts, search_options(arguments, of_search))
    if is_evaluation:
        if given := [*_given(arguments, TRAINING), *keys]:
            raise UserError(f"{given[0]} is of a training, and submit evaluate trains nothing: leave it out")
        if not paths[1:]:
            raise UserError("submit evaluate needs a run or a checkpoint, such as runs/quick-ntuple")
        plan = SubmitPlan(evaluations=plan_evaluations(map(Path, paths[1:]), evaluation))
        return submit(plan, arguments.on, arguments.dry_run)
    if not paths:
        raise UserError("submit needs a config, such as configs/quick/ntuple.yaml")
    if not arguments.then_evaluate and (given := [*_given(arguments, EVALUATION), *of_search]):
        hint = "; seeds of runs are --seeds" if given[0] == "--seed" else ""
        raise UserError(f"{given[0]} is of an evaluation: add --then-evaluate, or leave it out{hint}")
    request = GridRequest(tuple(map(Path, paths)), tuple(keys), arguments.seeds, arguments.group, arguments.rows)
    runs = plan_runs(request)
    plan = SubmitPlan(runs, plan_final_evaluations(runs, evaluation) if arguments.then_evaluate else ())
    return submit(plan, arguments.on, arguments.dry_run)


def _given(arguments: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Return the options among these that the user gave."""
    given = [name for name in names if getattr(arguments, name) not in (None, "", False)]
    return [f"--{name.replace('_', '-')}" for name in given]
