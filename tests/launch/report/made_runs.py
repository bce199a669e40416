"""Run folders with given numbers, for tests of comparisons."""

import json
from pathlib import Path
from typing import Any

from launch.experiment.metrics import TILES
from launch.report.runs import Run, read_config, read_run

RESULT = {  # of an evaluation whose numbers are not round
    "run": "one", "learner": "ntuple", "training_start": "normal", "search": "1ply", "board": "4x4",
    "env_steps": 150_000_000, "wall_hours": 0.0125, "games": 1000, "score_mean": 87_418.6, "score_low": 84_878.6,
    "score_high": 89_958.6, "score_median": 79_956.0, "score_max": 216_404,
    "reach": {"2048": 0.951, "4096": 0.815, "8192": 0.309, "16384": 0.0, "32768": 0.0, "65536": 0.0, "131072": 0.0},
    "moves_per_second": 6_261_000.0, "version": "0.1.0", "machine": "2 cores", "command": "muzero2048 evaluate a|b",
}  # fmt: skip


def write_run(
    folder: Path,
    points: list[tuple[float, float | None]],
    group: str = "g",
    seed: int = 0,
    learner: str = "toy",
    **keys: Any,
) -> Path:
    """Write a run with an evaluation at each (env_steps, score): a game takes 10 moves, 100 moves take an hour.

    A row with the score None has no evaluation.
    """
    folder.mkdir(parents=True)
    values = "".join(f"  {key}: {value}\n" for key, value in keys.items())
    run = f"run: {{name: {folder.name}, group: {group}, seed: {seed}}}\n"
    (folder / "config.yaml").write_text(f"learner: {learner}\n{run}{learner}:\n{values or '  {}'}\n")
    rows = []
    for x, y in points:
        row = {"env_steps": x, "games": x / 10, "updates": x, "wall_hours": x / 100}
        if y is not None:
            row |= {"eval/score_mean": y, "eval/score_low": y - 1, "eval/score_high": y + 2, "eval/games": 10}
            row |= {"eval/reach_2048": 1.0}
        rows.append(row)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def write_evaluation(run: Path, mean: float, margin: float, games: int = 100, **entries: Any) -> None:
    """Write a result file into a run folder."""
    result = {
        "run": run.name, "group": "g", "learner": "toy", "training_seed": 0, "env_steps": 100, "training_games": 10,
        "wall_hours": 1.0, "board": "4x4", "search": "1ply", "seed": hash(run.name) % 1000, "games": games,
        "score_mean": mean, "score_low": mean - margin, "score_high": mean + margin, "score_median": mean,
        "score_max": 5000, "moves_mean": 10.0, "reach": {str(tile): 0.5 for tile in TILES}, "moves_per_second": 1000.0,
        "seconds": 1.0, "command": "muzero2048 train toy.yaml", "score_bins": {"80": games},
        "max_tiles": {"1024": games},
    } | entries  # fmt: skip
    (run / "evaluations").mkdir(exist_ok=True)
    name = f"{result['env_steps']}-{result['search']}-{result['seed']}.json"
    (run / "evaluations" / name).write_text(json.dumps(result))


def read(*folders: Path) -> list[Run]:
    """Read run folders."""
    return [read_run(folder, read_config(folder)) for folder in folders]
