"""`muzero2048 evaluate`: the evaluation of one player or of several, with their table and their CSV file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.evaluation.boards.notation import board_order
from launch.evaluation.evaluate import PlayerEvaluation
from launch.evaluation.result import OutputOptions, check_new_file
from launch.evaluation.result_columns import GAMES, INTERVAL, MAX, MEDIAN, rates, reached_tiles, speed
from launch.evaluation.summary import Summary
from launch.experiment.metrics import TILES
from launch.files import write_text
from launch.signals import STOPPED
from launch.tables import entry, render

# Columns of the CSV file. A baseline has no run, so the entries of its run are empty.
CSV_COLUMNS = [
    *map(entry, ("path", "run", "group", "learner", "training_seed", "env_steps", "training_games", "updates",
                 "wall_hours", "training_start", "board", "search", "seed")),
    *(entry(name) for name in Summary._fields if name != "reach"),
    *rates(TILES, "reach_"),
    *map(entry, ("version", "machine", "command", "time")),
]  # fmt: skip


def evaluate_players(players: Sequence[PlayerEvaluation], csv_file: Path | None, as_json: bool) -> int:
    """Evaluate checked players in turn; return the exit code. Several are compared in a table, the best first."""
    check_csv(csv_file)
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
    try:
        write_text(file, render(results, CSV_COLUMNS, "csv"))
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}; give another --csv") from error


def _check_different(players: Sequence[PlayerEvaluation]) -> None:
    """Refuse a player that is given twice: both would write one result file."""
    names = [
        str(player.source.checkpoint.folder.resolve()) if player.source.checkpoint else player.source.path
        for player in players
    ]
    for i, player in enumerate(players):
        if names[i] in names[:i]:
            raise UserError(f"{player.source.path} is given twice; give each player once")


def _table(results: Sequence[dict[str, Any]]) -> str:
    """Return the table of several players: the largest board first, and the highest mean score of each board first."""
    ordered = sorted(results, key=lambda result: (board_order(result["board"]), -result["score_mean"]))
    names = (entry("player", "path"), entry("board"), entry("search"))
    scores = (GAMES, entry("mean", "score_mean", ",.0f"), INTERVAL, MEDIAN, MAX)
    return render(ordered, [*names, *scores, *rates(reached_tiles(results)), speed("moves/s")], "text")
