"""`muzero2048 evaluate`: play games with fixed weights, print their statistics, and save the result."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from launch.config.experiment import MOST_GAMES
from launch.errors import UserError, warn
from launch.evaluation.notation import parse_board
from launch.evaluation.parts import parse_part
from launch.evaluation.play import PlayRequest, play_evaluation
from launch.evaluation.result import (
    FOLDER,
    Evaluation,
    OutputOptions,
    prepare_folder,
    prepare_outputs,
    report,
    report_games,
    result_names,
    save_result,
    write_outputs,
)
from launch.evaluation.search_options import Options, Search, expectimax, resolve
from launch.evaluation.seeds import BASELINE_SEED, check_seed, final_evaluation_seed
from launch.learners import registry
from launch.machine.signals import STOPPED
from launch.run import checkpoints
from ntuple.learner_spec import EXPECTIMAX

BASELINES = {"random": "RandomPlayer", "greedy": "GreedyPlayer"}  # classes of ntuple: players for comparison
HEURISTIC = "heuristic"  # expectimax with a heuristic leaf value, without training


def evaluate_path(path: Path, games: int, seed: int | None, options: Options, outputs: OutputOptions) -> int:
    """Evaluate a checkpoint, print the result, and save it in the run folder.

    If the run folder cannot be written, the command prints a warning and does not save the result. For a checkpoint
    outside a run folder, only the files that `outputs` name are written. Games that are played move by move are logged
    as they end, so that the same command continues after a stop.

    Args:
        path: a checkpoint, or a run folder for its newest checkpoint.
        games: number of games.
        seed: seed of the games; None: the seed of the evaluation that ends the run.
        options: options of the search.
        outputs: optional outputs.

    Returns:
        The exit code: 0 done, 75 stopped by a signal with the finished games in the log.

    Raises:
        UserError: there is no good checkpoint, it cannot serve the search, or a file cannot be used.
    """
    _check_numbers(games, seed, outputs)
    checkpoint = checkpoints.find_checkpoint(path)
    experiment, state = checkpoints.read_checkpoint(checkpoint)
    evaluation = Evaluation(games, final_evaluation_seed(experiment.run.seed) if seed is None else seed)
    search = resolve(experiment, options, checkpoint)
    settings = experiment.settings
    solution = prepare_outputs(outputs, settings.rows, settings.columns)
    player = registry.load_player(experiment.learner, checkpoint, settings, search.player, search.config)
    run_folder = _writable(checkpoints.run_folder_of(checkpoint))
    board = f"{settings.rows}x{settings.columns}"
    header = {"board": board, "seed": evaluation.seed, "run": experiment.run.name, **state.progress, **search.record()}
    # Games played move by move have other spawns than games played whole, so their results get another name.
    name = result_names(search.name)[outputs.need_moves and not player.plays_one_by_one]
    env_steps = state.progress["env_steps"]
    log_file = outputs.log or (run_folder and evaluation.log_file(run_folder, env_steps, search.name))
    played = play_evaluation(
        PlayRequest(player, settings.rows, settings.columns, evaluation, outputs, log_file, header)
    )
    if played is None:
        return STOPPED
    _, result = report(played.games, experiment, state, evaluation, search)
    result |= write_outputs(outputs, board, solution, played.logged)
    if run_folder is not None and not outputs.part:
        try:
            save_result(result, evaluation.file(run_folder, env_steps, name))
        except OSError as error:
            warn(f"the result is not kept: cannot write to {run_folder / FOLDER}: {error.strerror}")
    if outputs.as_json:
        print(json.dumps(result))
    return 0


def evaluate_baseline(
    name: str, board: str, games: int, seed: int | None, options: Options, outputs: OutputOptions
) -> int:
    """Evaluate a player that needs no training, and print the result.

    Args:
        name: random, greedy or heuristic.
        board: "HxW", such as "4x4".
        games: number of games.
        seed: seed of the games; None: BASELINE_SEED.
        options: options of the heuristic player's search.
        outputs: optional outputs.

    Returns:
        The exit code: 0 done, 75 stopped by a signal with the finished games in the log.

    Raises:
        UserError: the player does not have these options, or a file cannot be used.
    """
    _check_numbers(games, seed, outputs)
    if outputs.keep and outputs.log is None:
        raise UserError(f"{name} has no run folder that keeps its games: give --keep FILE")
    evaluation = Evaluation(games, BASELINE_SEED if seed is None else seed)
    rows, columns = parse_board(board)
    player, search = load_baseline(name, board, options)
    solution = prepare_outputs(outputs, rows, columns)
    setting = {"board": board, "search": name} | (search.record() if search else {})
    header = {"player": name, "seed": evaluation.seed, **setting}
    played = play_evaluation(PlayRequest(player, rows, columns, evaluation, outputs, outputs.log, header))
    if played is None:
        return STOPPED
    title = name if search is None else f"{name} ({search.name})"
    _, result = report_games(played.games, evaluation, f"{title} on {board}", setting)
    result |= write_outputs(outputs, board, solution, played.logged)
    if outputs.as_json:
        print(json.dumps(result))
    return 0


def load_baseline(name: str, board: str, options: Options) -> tuple[Any, Search | None]:
    """Make a player that needs no training.

    Args:
        name: random, greedy or heuristic.
        board: "HxW".
        options: options of the heuristic player's search; the other players have none.

    Returns:
        The player; the search of the heuristic player, None for the other players.

    Raises:
        UserError: the player does not have these options.
    """
    ntuple = import_module("ntuple")  # imported here: it needs numba, and MuZero's evaluation does without
    rows, columns = parse_board(board)
    if name == HEURISTIC:
        if options.search not in (None, EXPECTIMAX):
            raise UserError(f"{HEURISTIC} searches by expectimax alone; leave out --search {options.search}")
        search = expectimax(replace(options, search=EXPECTIMAX), HEURISTIC)
        return ntuple.make_heuristic_player(rows, columns, search.config), search
    if options.words():
        raise UserError(f"{name} does not search; leave out {' '.join(options.words())}")
    return getattr(ntuple, BASELINES[name])(ntuple.make_rules(rows, columns), threads=ntuple.available_cores()), None


def _writable(run_folder: Path | None) -> Path | None:
    """Return the run folder if results can be saved there; otherwise warn and return None."""
    if run_folder is None:
        return None
    try:
        prepare_folder(run_folder)
    except UserError as error:
        warn(f"the result is not kept: {error}")
        return None
    return run_folder


def _check_numbers(games: int, seed: int | None, outputs: OutputOptions) -> None:
    least = 2 * parse_part(outputs.part).of
    if games < least:
        raise UserError(f"--games is {games}; give {least} or more, since one game has no interval")
    if games > MOST_GAMES:
        raise UserError(f"--games is {games}; give {MOST_GAMES} or less")
    check_seed(seed)
