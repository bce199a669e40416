"""`muzero2048 evaluate RUN --snapshots`: a fresh evaluation of every kept checkpoint of a run.

The evaluations of a training all play the same games, and a checkpoint that is chosen by the best of them has a score
that is too high (selection bias). Here every checkpoint plays games of its own, which chose nothing.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.evaluation.evaluate import PlayerEvaluation, check_numbers, prepare
from launch.evaluation.loading import source_of
from launch.evaluation.result import OutputOptions, read_result
from launch.evaluation.result_columns import GAMES, INTERVAL
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.seeds import snapshot_evaluation_seed
from launch.evaluation.several import check_csv, refuse_outputs_of_one, write_csv
from launch.evaluation.summary import Summary
from launch.experiment import checkpoints
from launch.experiment.experiment import CONFIG_FILE, load_experiment
from launch.experiment.metrics import Row
from launch.experiment.metrics_file import METRICS_FILE, read_metrics
from launch.signals import STOPPED
from launch.tables import Column, entry, render

RESULT_KEYS = ("env_steps", "training_games", "updates", "wall_hours", "board", "search", *Summary._fields)


def _seen(name: str, key: str) -> Column:
    """Return the column of an entry of the evaluation that the training made."""

    def text(result: dict[str, Any]) -> str:
        return f"{result['training'][key]:,.0f}" if result["training"] else "-"

    return Column(name, text, text)


COLUMNS = [entry("env_steps", form=","), _seen("in training", "score_mean"), _seen("at env_steps", "env_steps"),
           entry("fresh", "score_mean", ",.0f"), INTERVAL, GAMES, entry("seed")]  # fmt: skip


def evaluate_snapshots(
    run_folder: Path,
    games: int,
    seed: int | None,
    options: SearchOptions,
    outputs: OutputOptions,
    csv_file: Path | None,
) -> int:
    """Evaluate every kept checkpoint of a run, and print the curve beside the one seen in training.

    Each result is a file in the run's folder of evaluations. A checkpoint whose result is there plays no game again.
    The seed replaces the training seed, from which the seeds of the games are derived.
    """
    refuse_outputs_of_one(outputs, "all checkpoints of a run")
    check_numbers(games, seed, outputs)
    check_csv(csv_file)
    if not (run_folder / CONFIG_FILE).is_file():
        raise UserError(f"{run_folder} is not a run folder: it has no {CONFIG_FILE}; --snapshots needs runs/<name>")
    first_seed = load_experiment(run_folder).run.seed if seed is None else seed
    rows = _evaluations_in_training(run_folder)
    prepared = [
        prepare(
            source_of(str(checkpoint), checkpoint, options),
            games,
            snapshot_evaluation_seed(first_seed, env_steps),
            outputs,
        )
        for env_steps, checkpoint in checkpoints.good_checkpoints(run_folder).items()
    ]
    finished = [_finished(evaluation, run_folder) for evaluation in prepared]
    results = []
    for evaluation, earlier in zip(prepared, finished, strict=True):
        result = earlier or evaluation.play()
        if result is None:
            return STOPPED
        results.append({"path": evaluation.source.path, **result, "training": _in_training(rows, result["env_steps"])})
    if csv_file is not None:
        write_csv(results, csv_file)
    print(render(results, COLUMNS, "text"), flush=True)
    if outputs.as_json:
        print(json.dumps({"rows": results}))
    return 0


def _finished(evaluation: PlayerEvaluation, run_folder: Path) -> dict[str, Any] | None:
    """Return the result of an earlier command; None if there is none, or if the run was trained again since then."""
    # The player is needed only to know whether it plays one by one, which matters only if the moves are needed.
    player = evaluation.source.load() if evaluation.outputs.need_moves else None
    checkpoint = evaluation.source.checkpoint
    assert checkpoint
    file, state = evaluation.result_file(run_folder, checkpoint, player), checkpoint.state
    if not file.is_file():
        return None
    result = read_result(file, RESULT_KEYS)
    trained = {**state.progress, "training_games": state.progress["games"], "wall_hours": state.wall_hours}
    if any(result[key] != trained[key] for key in ("env_steps", "training_games", "updates", "wall_hours")):
        return None
    print(f"{result['env_steps']:,} moves: evaluated before, {file}", flush=True)
    return result


def _evaluations_in_training(run_folder: Path) -> list[Row]:
    if not (run_folder / METRICS_FILE).is_file():
        return []
    return [row for row in read_metrics(run_folder) if "eval/score_mean" in row]


def _in_training(rows: Sequence[Row], env_steps: int) -> dict[str, Any] | None:
    """Return the last evaluation of the training at or before these moves; None if there is none."""
    before = [row for row in rows if row["env_steps"] <= env_steps]
    return {"env_steps": before[-1]["env_steps"], "score_mean": before[-1]["eval/score_mean"]} if before else None
