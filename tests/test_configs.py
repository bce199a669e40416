"""Every experiment in configs/ loads. Its header states the command, machine, time and expected result."""

import re
from pathlib import Path

import pytest

from launch.config.experiment import load_experiment, warn_without_effect

ROOT = Path(__file__).parent.parent
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_config(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiment = load_experiment(path)
    warn_without_effect(experiment)
    assert capsys.readouterr().err == ""
    assert experiment.settings.env_steps >= experiment.settings.report_env_steps
    header = re.split(r"^(?:base|learner):", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[0]
    assert f"Command:  muzero2048 train {path.relative_to(ROOT)}" in header
    for entry in ("Machine:", "Time:", "Expect:"):
        assert entry in header
    assert "TBD" not in header


def test_there_are_configs() -> None:
    assert {path.parent.name for path in CONFIGS} == {"quick", "ntuple", "methods", "muzero", "deep_td"}
