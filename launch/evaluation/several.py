"""`muzero2048 evaluate`: one player or several, or all kept checkpoints of a run, with their table and their CSV file.

The evaluations of a training all play the same games, and a checkpoint that is chosen by the best of them has a score
that is too high (selection bias). With `--snapshots` every checkpoint plays games of its own, which chose nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launch.errors import UserError
from launch.evaluation.boards.notation import board_order
from launch.evaluation.evaluate import PlayerEvaluation, check_numbers, prepare
from launch.evaluation.loading import source_of
from launch.evaluation.result import OutputOptions, read_result
from launch.evaluation.result_columns import GAMES, INTERVAL, MAX, MEDIAN, all_rates, rates, reached_tiles, speed
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.seeds import snapshot_evaluation_seed
from launch.evaluation.summary import Summary
from launch.experiment import checkpoints
from launch.experiment.experiment import CONFIG_FILE, load_experiment
from launch.experiment.metrics import Row
from launch.experiment.metrics_file import METRICS_FILE, read_metrics
from launch.files import check_new_file, write_text
from launch.output import console, print_json
from launch.signals import STOPPED
from launch.tables import Column, entry, grid, render

if TYPE_CHECKING:
    from rich.table import Table as Grid

RESULT_KEYS = ("env_steps", "training_games", "updates", "wall_hours", "board", "search", *Summary._fields)

# Columns of the CSV file, before those of tiles and after them. A baseline has no run, so the entries of its run are
# empty.
CSV_COLUMNS = [
    *map(entry, ("path", "run", "group", "learner", "training_seed", "env_steps", "training_games", "updates",
                 "wall_hours", "training_start", "board", "search", "seed")),
    *(entry(name) for name in Summary._fields if name != "reach"),
]  # fmt: skip
ORIGIN_COLUMNS = [*map(entry, ("version", "machine", "command", "time"))]


def _seen(name: str, key: str) -> Column:
    """Return the column of an entry of the evaluation that the training made."""

    def text(result: dict[str, Any]) -> str:
        return f"{result['training'][key]:,.0f}" if result["training"] else "-"

    return Column(name, text, text)


CURVE = [entry("env_steps", form=","), _seen("in training", "score_mean"), _seen("at env_steps", "env_steps"),
         entry("fresh", "score_mean", ",.0f"), INTERVAL, GAMES, entry("seed")]  # fmt: skip


def evaluate_players(players: Sequence[PlayerEvaluation], csv_file: Path | None, as_json: bool) -> int:
    """Evaluate checked players in turn; return the exit code. Several are compared in a table, the best first."""
    _check_csv(csv_file)
    if len(players) > 1:
        _check_different(players)
        for player in players:
            player.source.load()  # the mistake in the last player is found before the first one plays
    results = []
    for player in players:
        result = player.play()
        if result is None:
            return STOPPED
        results.append(result)
    rows = [{"path": player.source.path, **result} for player, result in zip(players, results, strict=True)]
    table = _table(rows) if len(rows) > 1 else None
    return _show(rows, table, csv_file, ({"rows": rows} if table else results[0]) if as_json else None)


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
    _check_csv(csv_file)
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
    return _show(results, grid(results, CURVE, ()), csv_file, {"rows": results} if outputs.as_json else None)


def refuse_outputs_of_one(outputs: OutputOptions, what: str) -> None:
    """Refuse options that write one file for one player; `what` would share the file."""
    names = ("--records", "--solution", "--endgame", "--keep FILE", "--part")
    values = (outputs.records, outputs.solution, outputs.endgames, outputs.log, outputs.part)
    if given := [name for name, value in zip(names, values, strict=True) if value]:
        raise UserError(
            f"{given[0]} is for one player, and here are {what}; evaluate one PATH at a time, or leave it out"
        )


def _check_csv(file: Path | None) -> None:
    """Refuse a CSV file that exists or cannot be written, before games are played; None is accepted."""
    if file is not None:
        check_new_file(file, "--csv")


def _show(
    rows: Sequence[dict[str, Any]], table: "Grid | None", csv_file: Path | None, as_json: dict[str, Any] | None
) -> int:
    """Write one row of the CSV file for each result, which has its `path`; print the table and the JSON object."""
    try:
        if csv_file is not None:
            write_text(csv_file, render(rows, [*CSV_COLUMNS, *all_rates(rows), *ORIGIN_COLUMNS], "csv"))
    except OSError as error:
        raise UserError(f"cannot write {csv_file}: {error.strerror}; give another --csv") from error
    if table:
        console().print(table)
    if as_json:
        print_json(as_json)
    return 0


def _check_different(players: Sequence[PlayerEvaluation]) -> None:
    """Refuse a player that is given twice: both would write one result file."""
    names = [
        str(player.source.checkpoint.folder.resolve()) if player.source.checkpoint else player.source.path
        for player in players
    ]
    for i, player in enumerate(players):
        if names[i] in names[:i]:
            raise UserError(f"{player.source.path} is given twice; give each player once")


def _table(results: Sequence[dict[str, Any]]) -> "Grid":
    """Return the table of several players: the largest board first, and the highest mean score of each board first."""
    ordered = sorted(results, key=lambda result: (board_order(result["board"]), -result["score_mean"]))
    names = (entry("player", "path"), entry("board"), entry("search"))
    scores = (GAMES, entry("mean", "score_mean", ",.0f"), INTERVAL, MEDIAN, MAX)
    return grid(ordered, [*names, *scores, *rates(reached_tiles(results)), speed("moves/s")], range(len(names)))


def _finished(evaluation: PlayerEvaluation, run_folder: Path) -> dict[str, Any] | None:
    """Return the result of an earlier command; None if there is none, or if the run was trained again since then."""
    # The player is needed only to know whether it plays one by one, which matters only if the moves are needed.
    player = evaluation.source.load().player if evaluation.outputs.need_moves else None
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
