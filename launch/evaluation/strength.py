"""The strength index z that plays at a wanted mean score, from the evaluations that a run folder holds.

An evaluation of `choice = drawn` measures the mean score of one z. Between two measured z the score is interpolated
linearly. Isotonic regression makes the scores rise with z first.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from launch.errors import Option, OptionError
from launch.evaluation.result import FOLDER, read_result
from launch.experiment import checkpoints
from launch.files import in_json

KEYS = ("env_steps", "games", "score_mean")


def with_strength(config: Any, score: float, checkpoint: Path) -> Any:
    """Return a search config, with `choice = drawn`, with the z of a wanted mean score in points.

    UserError if fewer than two z are measured with these settings, or the score is not between theirs.
    """
    z, scores = _measured(config, checkpoint)
    asked = Option("strength", score)
    remedy = f"measure more: muzero2048 evaluate {checkpoint} ... search.choice=drawn search.z=Z, for several Z"
    if len(z) < 2:
        raise OptionError(asked, f": {len(z)} values of z are measured with these settings; {remedy}")
    if not scores[0] <= score <= scores[-1]:
        ends = f"{scores[0]:,.0f} (z = {z[0]:g}) and {scores[-1]:,.0f} (z = {z[-1]:g})"
        raise OptionError(asked, f" is not between the measured {ends}; {remedy}")
    return replace(config, z=round(float(np.interp(score, scores, z)), 3))


def _measured(config: Any, checkpoint: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the measured z in ascending order, and their mean scores made to rise."""
    from scipy.optimize import isotonic_regression  # takes a quarter of the start of a command

    run_folder = checkpoints.run_folder_of(checkpoint)
    _, state = checkpoints.read_checkpoint(checkpoint)
    wanted = in_json(asdict(config))
    sums: dict[float, list[float]] = {}  # z: games, points
    for file in sorted((run_folder / FOLDER).glob("*.json")) if run_folder else []:
        result = read_result(file, KEYS)
        setting = result.get("search_config", {})
        is_alike = "z" in setting and setting | {"z": config.z} == wanted
        if is_alike and result["env_steps"] == state.progress["env_steps"]:
            known = sums.setdefault(setting["z"], [0.0, 0.0])
            known[0] += result["games"]
            known[1] += result["games"] * result["score_mean"]
    z = np.array(sorted(sums))
    games, points = (np.array([sums[index][i] for index in z]) for i in (0, 1))
    return z, isotonic_regression(points / games, weights=games).x if len(z) else games
