"""Runs: `muzero2048 train`, `submit`, `tune`, `status`, `logs`, `stop` and `config`."""

import argparse
import re
from pathlib import Path
from typing import Any

from launch.commands import completion
from launch.commands.parser import (
    Parser,
    add_config_overrides,
    add_json,
    add_runs_folder,
    add_search_options,
    given,
    is_path,
    later,
    search_options,
)
from launch.errors import UserError
from launch.experiment.examples import examples_folder
from launch.experiment.registry import LEARNERS
from launch.tune.request import BAYESIAN, SAMPLERS, Sampling, TuneRequest

EVALUATE = "evaluate"
OF_SEARCH = "search."  # begins the keys of a search's fields
TRAINING = ("seeds", "group", "rows", "then_evaluate")  # options of one of the two uses
EVALUATION = ("games", "seed", "parts", "search", "plies", "simulations", "strength", "model", "value")
FOLDER = {"metavar": "DIR", "help": "folder of the runs (default: runs)"}


def add(commands: Parser) -> None:
    """Add the commands."""
    for add_command in (_add_train, _add_submit, _add_tune, _add_follow, _add_config):
        add_command(commands)


def _add_train(commands: Parser) -> None:
    parser = commands.add_command(
        "train",
        later("launch.train.loop", "train", "config overrides resume"),
        "train one experiment",
        usage="muzero2048 train [-h] CONFIG [key=value ...] [--resume]",
        epilog=f"muzero2048 config CONFIG prints every key; example configs are in {examples_folder()}",
    )
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file, or the folder of a run")
    add_config_overrides(parser)
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint, if there is one")


def _add_submit(commands: Parser) -> None:
    parser = commands.add_command(
        "submit",
        _run_submit,
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
    parser.add_argument(
        "--detach", action="store_true", help="go on in the background, also when the terminal is closed"
    )
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


def _run_submit(arguments: argparse.Namespace) -> int:
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
        if options := [*given(arguments, TRAINING), *keys]:
            raise UserError(f"{options[0]} is of a training, and submit evaluate trains nothing: leave it out")
        if not paths[1:]:
            raise UserError("submit evaluate needs a run or a checkpoint, such as runs/quick-ntuple")
        plan = SubmitPlan(evaluations=plan_evaluations(map(Path, paths[1:]), evaluation))
        return submit(plan, arguments.on, arguments.dry_run, arguments.detach)
    if not paths:
        raise UserError("submit needs a config, such as configs/quick/ntuple.yaml")
    if not arguments.then_evaluate and (options := [*given(arguments, EVALUATION), *of_search]):
        hint = "; seeds of runs are --seeds" if options[0] == "--seed" else ""
        raise UserError(f"{options[0]} is of an evaluation: add --then-evaluate, or leave it out{hint}")
    request = GridRequest(tuple(map(Path, paths)), tuple(keys), arguments.seeds, arguments.group, arguments.rows)
    runs = plan_runs(request)
    plan = SubmitPlan(runs, plan_final_evaluations(runs, evaluation) if arguments.then_evaluate else ())
    return submit(plan, arguments.on, arguments.dry_run, arguments.detach)


def _add_tune(commands: Parser) -> None:
    parser = commands.add_command(
        "tune",
        _run_tune,
        "search good values of keys by many trainings, here or on a cluster",
        usage="muzero2048 tune [-h] CONFIG key=LOW..HIGH[:log] [key=a,b,c ...] [key=value ...] [options]",
        epilog="docs/tune.md explains ranges, pruning and how a search goes on",
    )
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file")
    add_config_overrides(parser)
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="trials of the search (default: 20)")
    parser.add_argument("--group", default="tune", help="group of the runs, and name of the search (default: tune)")
    parser.add_argument(
        "--sampler", choices=SAMPLERS, default=BAYESIAN, help=f"what chooses values (default: {BAYESIAN})"
    )
    parser.add_argument("--no-pruning", action="store_true", help="train every trial to its end")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of values (default: 0)")
    parser.add_argument("--on", metavar="FILE", help="where to train: a cluster file, or local (default: local)")
    parser.add_argument("--dry-run", action="store_true", help="check everything and print the plan alone")
    parser.add_argument("--detach", action="store_true", help="go on in the background")
    parser.add_argument("--wandb-sweep", type=Path, metavar="FILE", help="write a sweep of wandb, and train nothing")
    add_json(parser)


def _run_tune(arguments: argparse.Namespace) -> int:
    from launch.tune.tune import tune

    if arguments.trials < 1:
        raise UserError(f"--trials {arguments.trials}: give 1 or more")
    if not re.fullmatch(r"\w[\w.+=-]*", arguments.group):
        raise UserError(f"--group {arguments.group}: give letters, digits and any of _ . + = - only")
    if arguments.json and (options := given(arguments, ("dry_run", "detach", "wandb_sweep"))):
        raise UserError(f"--json prints the trials of a search, and with {options[0]} there are none; leave out one")
    if arguments.wandb_sweep and (options := given(arguments, ("on", "dry_run", "detach"))):
        raise UserError(f"--wandb-sweep writes a file and trains nothing; leave out {options[0]}")
    request = TuneRequest(
        config=arguments.config,
        words=tuple(arguments.overrides),
        group=arguments.group,
        trials=arguments.trials,
        sampling=Sampling(arguments.sampler, not arguments.no_pruning, arguments.seed),
    )
    return tune(
        request,
        arguments.on or "local",
        dry_run=arguments.dry_run,
        in_background=arguments.detach,
        as_json=arguments.json,
        wandb_sweep=arguments.wandb_sweep,
    )


def _add_follow(commands: Parser) -> None:
    parser = commands.add_command(
        "status",
        later("launch.jobs.following", "status", "runs runs_folder watch json"),
        "show where runs stand: state, progress, scores, time left, errors",
    )
    parser.add_argument("runs", nargs="*", metavar="RUN|GROUP", help="runs or groups (default: all runs)")
    add_runs_folder(parser, **FOLDER)
    parser.add_argument("--watch", action="store_true", help="show them again every few seconds, until Ctrl-C")
    add_json(parser)

    parser = commands.add_command(
        "logs",
        later("launch.jobs.following", "logs", "name runs_folder follow"),
        "print the output of a run that submit started, or of a submit --detach",
    )
    parser.add_argument("name", metavar="RUN|GROUP", help="a run, or the group of a submit --detach")
    add_runs_folder(parser, **FOLDER)
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")

    parser = commands.add_command(
        "stop", later("launch.jobs.following", "stop", "runs runs_folder"), "stop runs in training after they saved"
    )
    parser.add_argument("runs", nargs="+", metavar="RUN|GROUP", help="runs or groups")
    add_runs_folder(parser, **FOLDER)


def _add_config(commands: Parser) -> None:
    parser = commands.add_command(
        "config",
        later("launch.experiment.describe", "describe", "config overrides json"),
        "print every key of a config, with its value, type, range and meaning",
        usage="muzero2048 config [-h] CONFIG|LEARNER [key=value ...] [--json]",
    )
    text = f"a YAML file, a run, a checkpoint, or a learner: {', '.join(LEARNERS)}"
    config: Any = parser.add_argument("config", metavar="CONFIG|LEARNER", help=text)
    config.completer = completion.complete_learner
    add_config_overrides(parser)
    add_json(parser)
