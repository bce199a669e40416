"""Errors of a checkpoint's learned model by depth, or the size of its expectimax trees, as a table and as JSON."""

from pathlib import Path

from launch.errors import UserError
from launch.experiment import checkpoints, registry
from launch.experiment.metrics import DEPTH_NUMBERS, TREE_NUMBERS
from launch.output import print_json
from launch.progress import progress_line, say

DEPTHS = range(1, 65)


def diagnose_path(path: Path, boards: int, depth: int, seed: int, as_json: bool) -> None:
    """Print what a checkpoint's learner measures at depths 0 ... `depth`, on boards of its own play."""
    if boards < 2:
        raise UserError(f"--boards {boards}: give 2 or more")
    if depth not in DEPTHS:
        raise UserError(f"--depth {depth}: give {DEPTHS[0]} to {DEPTHS[-1]}")
    checkpoint = checkpoints.find_checkpoint(path)
    experiment, state = checkpoints.read_checkpoint(checkpoint)
    if not registry.spec_of(experiment.learner).diagnose:
        raise UserError(f"{checkpoint}: the learner '{experiment.learner}' has nothing to diagnose")
    with progress_line(experiment.run.name):
        measured = registry.diagnose(experiment.learner, checkpoint, experiment.settings, boards, depth, seed, say)
    print(f"{experiment.run.name} after {state.progress['env_steps']:,} moves: {boards} boards of its own play")
    columns = [number for number in (*DEPTH_NUMBERS, *TREE_NUMBERS) if number.name in measured]
    headings = ["depth", *(number.heading for number in columns)]
    print(" | ".join(headings))
    for k in range(depth + 1):
        cells = [f"{k}", *(number.form.format(measured[number.name][k]) for number in columns)]
        print(" | ".join(cell.rjust(len(heading)) for cell, heading in zip(cells, headings, strict=True)))
    if as_json:
        numbers = {name: [float(value) for value in values] for name, values in measured.items()}
        print_json({"run": experiment.run.name, "boards": boards, "seed": seed, "depths": numbers})
