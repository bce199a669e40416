"""`muzero2048 evaluate`: the evaluation of one player or of several, with their table and their CSV file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.evaluation.boards.notation import board_order
from launch.evaluation.evaluate import BaselineEvaluation, CheckpointEvaluation
from launch.evaluation.result import OutputOptions, check_new_file
from launch.evaluation.summary import Summary, aligned, short_number
from launch.files import csv_text, write_text
from launch.train.metrics import TILES
from launch.train.signals import STOPPED

PlayerEvaluation = CheckpointEvaluation | BaselineEvaluation

# Columns of the CSV file. `reach` of a result becomes one column for each tile. Baselines lack the entries of a run.
CSV_BEFORE = ("path", "run", "group", "learner", "training_seed", "env_steps", "training_games", "updates",
              "wall_hours", "training_start", "board", "search", "seed")  # fmt: skip
CSV_AFTER = ("version", "machine", "command", "time")


def evaluate_players(players: Sequence[PlayerEvaluation], csv_file: Path | None, as_json: bool) -> int:
    """Evaluate checked players in turn; return the exit code. Several are compared in a table, the best first."""
    check_csv(csv_file)
    if len(players) > 1:
        _check_different(players)
        for one in players:
            one.load_player()  # the mistake in the last player is found before the first one plays
    results = []
    for one in players:
        result = one.play()
        if result is None:
            return STOPPED
        results.append(result)
    rows = [{"path": one.path, **result} for one, result in zip(players, results, strict=True)]
    if csv_file is not None:
        write_csv(rows, csv_file)
    if len(rows) > 1:
        print(_table(rows), flush=True)
    if as_json:
        print(json.dumps({"rows": rows} if len(rows) > 1 else results[0]))
    return 0


def refuse_outputs_of_one(outputs: OutputOptions, what: str) -> None:
    """Refuse options that write one file for one player; `what` would share the file."""
    names = ("--records", "--solution", "--keep FILE", "--part")
    values = (outputs.records, outputs.solution, outputs.log, outputs.part)
    if given := [name for name, value in zip(names, values, strict=True) if value]:
        raise UserError(
            f"{given[0]} is for one player, and here are {what}; evaluate one PATH at a time, or leave it out"
        )


def check_csv(file: Path | None) -> None:
    """Refuse a CSV file that exists or cannot be written, before games are played; None is accepted."""
    if file is not None:
        check_new_file(file, "--csv")


def write_csv(results: Sequence[dict[str, Any]], file: Path) -> None:
    """Write one row for each result, which has its `path`, in the order of `results`."""
    scalars = [name for name in Summary._fields if name != "reach"]
    rows = []
    for result in results:
        rates = [result["reach"][str(tile)] for tile in TILES]
        before, middle, after = ([result.get(key, "") for key in keys] for keys in (CSV_BEFORE, scalars, CSV_AFTER))
        rows.append([*before, *middle, *rates, *after])
    try:
        write_text(file, csv_text([*CSV_BEFORE, *scalars, *(f"reach_{tile}" for tile in TILES), *CSV_AFTER], rows))
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}; give another --csv") from error


def _check_different(players: Sequence[PlayerEvaluation]) -> None:
    """Refuse a player that is given twice: both would write one result file."""
    names = [one.path if isinstance(one, BaselineEvaluation) else str(one.checkpoint.resolve()) for one in players]
    for i, one in enumerate(players):
        if names[i] in names[:i]:
            raise UserError(f"{one.path} is given twice; give each player once")


def _table(results: Sequence[dict[str, Any]]) -> str:
    """Return the table of several players: the largest board first, and the highest mean score of each board first."""
    ordered = sorted(results, key=lambda result: (board_order(result["board"]), -result["score_mean"]))
    tiles = [str(tile) for tile in TILES if any(result["reach"][str(tile)] > 0 for result in results)]
    head = ("player", "board", "search", "games", "mean", "95% interval", "median", "max", *tiles, "moves/s")
    return aligned([head, *(_row(result, tiles) for result in ordered)])


def _row(result: dict[str, Any], tiles: Sequence[str]) -> list[str]:
    return [
        result["path"],
        result["board"],
        result["search"],
        f"{result['games']:,}",
        f"{result['score_mean']:,.0f}",
        f"{result['score_low']:,.0f} to {result['score_high']:,.0f}",
        f"{result['score_median']:,.0f}",
        f"{result['score_max']:,}",
        *(f"{result['reach'][tile]:.1%}" for tile in tiles),
        short_number(result["moves_per_second"]),
    ]
