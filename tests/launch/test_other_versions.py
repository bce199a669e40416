"""A file of another version of this project is refused with one line that names it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from launch.errors import UserError
from launch.evaluation.records.game_log import GameLog
from launch.experiment.checkpoints import read_checkpoint
from launch.experiment.experiment import load_experiment
from ntuple.exact.solution import Solution

NTUPLE = "learner: ntuple\nrun: {name: a, group: b}\nntuple: {%s}\n"
MUZERO = "learner: muzero\nrun: {name: a, group: b}\nmuzero: {env_steps: 1, report_env_steps: 1, %s}\n"
Read = Callable[[Path], object]


@pytest.mark.parametrize(
    ("read", "text", "line"),
    [
        (load_experiment, MUZERO % "search: {c_scale: 1.0}", "'muzero.search.c_scale'; did you mean 'gumbel.c_scale'?"),
        (load_experiment, NTUPLE % "step_size: {adaptive_alpha: 1.0}", "no key 'ntuple.step_size.adaptive_alpha'"),
        (load_experiment, NTUPLE % "step_size: {alpha_steps: '0.5:0.01'}", "give a pair of numbers"),
        (lambda file: GameLog(file, {"seed": 1}), '{"format": "muzero2048 games 1"}\n', "saved by another version"),
        (lambda file: read_checkpoint(file.parent), '{"learner": "toy"}', "state.json cannot be read"),
        (Solution.load, "muzero2048 solution", "missing or damaged, solve the game again"),
    ],
)
def test_one_line(tmp_path: Path, read: Read, text: str, line: str) -> None:
    file = tmp_path / "state.json"
    file.write_text(text)
    with pytest.raises((UserError, ValueError), match=r"\w") as error:
        read(file)
    assert line in str(error.value)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)
