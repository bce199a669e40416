"""Errors of a checkpoint's learned model by depth, as a table and as JSON."""

import json
from pathlib import Path

from launch.errors import UserError
from launch.learners import registry
from launch.run import checkpoints

# Name (muzero2048/muzero/depth_errors.py), heading, format.
COLUMNS = (
    ("value_correlation", "corr. of V", "{:.2f}"),
    ("value_error", "error of V", "{:,.0f}"),
    ("reward_error", "error of r", "{:.2f}"),
    ("reward_error_unplayed", "unplayed", "{:.2f}"),
    ("reward_mean", "mean r", "{:.1f}"),
    ("best_move", "best move", "{:.2f}"),
    ("illegal_prior", "illegal prior", "{:.4f}"),
    ("illegal_prior_root", "true state", "{:.4f}"),
    ("chance_distance", "chance distance", "{:.3f}"),
    ("spawn_correlation", "corr. of spawns", "{:.2f}"),
    ("spawn_spread", "spread", "{:,.1f}"),
    ("spawn_spread_true", "true spread", "{:,.1f}"),
    ("spawns_told", "spawns told", "{:.2f}"),
    ("boards", "boards", "{:.0f}"),
)
DEPTHS = range(1, 65)


def diagnose_path(path: Path, boards: int, depth: int, seed: int, as_json: bool) -> None:
    """Print the errors of a checkpoint's learned model at depths 0 ... `depth`.

    Args:
        path: a run folder or a checkpoint.
        boards: number of boards of its own play.
        depth: the last depth.
        seed: of the boards.
        as_json: print the numbers as one JSON object in the last line, too.

    Raises:
        UserError: there is no such checkpoint, it has no learned model, or a number is out of range.
    """
    if boards < 2:
        raise UserError(f"--boards {boards}: give 2 or more")
    if depth not in DEPTHS:
        raise UserError(f"--depth {depth}: give {DEPTHS[0]} to {DEPTHS[-1]}")
    checkpoint = checkpoints.find_checkpoint(path)
    experiment, state = checkpoints.read_checkpoint(checkpoint)
    if not registry.spec_of(experiment.learner).diagnose:
        raise UserError(f"{checkpoint}: the learner '{experiment.learner}' has no learned model to diagnose")
    found = registry.diagnose(experiment.learner, checkpoint, experiment.settings, boards, depth, seed)
    print(f"{experiment.run.name} after {state.progress['env_steps']:,} moves: {boards} boards of its own play")
    headings = ["depth", *(heading for _, heading, _ in COLUMNS)]
    print(" | ".join(headings))
    for k in range(depth + 1):
        cells = [f"{k}", *(form.format(found[name][k]) for name, _, form in COLUMNS)]
        print(" | ".join(cell.rjust(len(heading)) for cell, heading in zip(cells, headings, strict=True)))
    if as_json:
        numbers = {name: [float(value) for value in values] for name, values in found.items()}
        print(json.dumps({"run": experiment.run.name, "boards": boards, "seed": seed, "depths": numbers}))
