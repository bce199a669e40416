"""Every experiment in configs/ loads. Its header states the command, machine, time and expected result."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from launch.experiment.experiment import load_experiment, warn_without_effect
from launch.jobs.cluster import load_cluster

ROOT = Path(__file__).parent.parent
CLUSTERS = sorted((ROOT / "configs" / "clusters").glob("*.yaml"))
PAPERS = sorted((ROOT / "configs" / "papers").glob("*.yaml"))  # tests/launch/report/papers/test_tables.py
CONFIGS = sorted(set((ROOT / "configs").rglob("*.yaml")) - set(CLUSTERS) - set(PAPERS))


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


def test_a_config_is_read_without_a_device() -> None:
    """Several processes must join before JAX's first computation, and `status` must take no memory of a GPU."""
    program = (
        "import sys; from pathlib import Path; from jax._src.xla_bridge import backends_are_initialized\n"
        "from launch.experiment.experiment import load_experiment\n"
        "for path in sys.argv[1:]: load_experiment(Path(path)); assert not backends_are_initialized(), path\n"
    )
    subprocess.run([sys.executable, "-c", program, *map(str, CONFIGS)], cwd=ROOT, check=True)


@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.stem)
def test_cluster(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_cluster(path.stem) == load_cluster(str(path))
    assert capsys.readouterr().err == ""


def test_there_are_configs() -> None:
    assert CLUSTERS
    assert {path.parent.name for path in CONFIGS} == {"quick", "ntuple", "methods", "muzero", "deep_td"}
