"""What is wrong with a trained network: errors of its model by depth, and its values against returns.

Of an n-tuple network the size of its expectimax trees takes the place of the model's errors.
"""

from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.evaluation.loading import Checkpoint, PlayerSource, source_of
from launch.evaluation.search_options import SearchOptions
from launch.experiment import checkpoints, registry
from launch.experiment.metrics import DEPTH_NUMBERS, TREE_NUMBERS
from launch.output import print_json
from launch.progress import progress_line, say

DEPTHS = range(1, 65)


def diagnose_path(
    path: Path,
    boards: int,
    depth: int,
    games: int,
    simulations: int | None,
    solution: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Print what a checkpoint's learner measures at depths 0 ... `depth`, and the values of `games` games.

    Both are of the checkpoint's own play, the games with other `simulations` if given. 0 games: no values. `solution`
    is that of a small board.
    """
    if boards < 2:
        raise UserError(f"--boards {boards}: give 2 or more")
    if depth not in DEPTHS:
        raise UserError(f"--depth {depth}: give {DEPTHS[0]} to {DEPTHS[-1]}")
    if games < 0 or games == 1:
        raise UserError(f"--games {games}: give 2 or more, or 0 for no values")
    if solution and not games:
        raise UserError(f"--solution {solution} has no effect with --games 0: exact values are compared with V")
    if simulations is not None and not games:
        raise UserError(f"--simulations {simulations} has no effect with --games 0: it is the search of the games")
    source = source_of(str(path), checkpoints.find_checkpoint(path), SearchOptions(simulations=simulations))
    assert source.checkpoint is not None
    checkpoint, experiment, state = source.checkpoint
    has_depths = bool(registry.spec_of(experiment.learner).diagnose)
    if not has_depths and not games:
        raise UserError(f"{checkpoint}: the learner '{experiment.learner}' has nothing to diagnose without --games")
    print(f"{experiment.run.name} after {state.progress['env_steps']:,} moves")
    result: dict[str, Any] = {"run": experiment.run.name, "seed": seed}
    if has_depths:
        with progress_line(experiment.run.name):
            measured = registry.diagnose(experiment.learner, checkpoint, experiment.settings, boards, depth, seed, say)
        _print_depths(measured, boards, depth)
        depths = {name: [float(value) for value in values] for name, values in measured.items()}
        result |= {"boards": boards, "depths": depths}
    if games:
        result["values"] = _values(source, source.checkpoint, games, solution, seed)
    if as_json:
        print_json(result)


def _print_depths(measured: dict[str, Any], boards: int, depth: int) -> None:
    print(f"{boards} boards of its own play")
    columns = [number for number in (*DEPTH_NUMBERS, *TREE_NUMBERS) if number.name in measured]
    headings = ["depth", *(number.heading for number in columns)]
    print(" | ".join(headings))
    for k in range(depth + 1):
        cells = [f"{k}", *(number.form.format(measured[number.name][k]) for number in columns)]
        print(" | ".join(cell.rjust(len(heading)) for cell, heading in zip(cells, headings, strict=True)))


def _values(
    source: PlayerSource, checkpoint: Checkpoint, games: int, solution: Path | None, seed: int
) -> dict[str, object]:
    """Print the values against returns; return them as an entry of JSON."""
    from launch.evaluation.diagnosis.values import report_values, value_positions
    from launch.evaluation.records.regret import load_solution  # needs numba, as the games do

    solved = load_solution(solution, source.game, source.rows, source.columns) if solution else None
    discount = getattr(checkpoint.experiment.settings, "discount", 1.0)  # n-tuple networks have none
    loaded = source.load()
    try:
        found = value_positions(loaded, games, seed, discount, solved)
    except ValueError as error:
        raise UserError(f"{checkpoint.folder}: {error}") from error
    return report_values(found, discount)
