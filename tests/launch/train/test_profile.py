"""A profiled run writes a trace, and learns the same as without a profile."""

import gzip
import json
from pathlib import Path

import pytest
from small_runs import rows_without_times

from launch.cli import main

CONFIG = Path(__file__).parents[3] / "configs" / "deep_td" / "td-cnn-2x2.yaml"
SMALL = (
    "run.final_games=2", "deep_td.env_steps=768", "deep_td.report_env_steps=256", "deep_td.rows=3", "deep_td.columns=3",
    "deep_td.num_envs=16", "deep_td.chunk=16", "deep_td.network.width=4", "deep_td.replay.capacity=1024",
)  # fmt: skip


@pytest.mark.slow
def test_a_profiled_run_leaves_a_trace_and_learns_the_same(capsys):
    assert main(["train", str(CONFIG), *SMALL, "run.name=plain"]) == 0
    assert not Path("runs/plain/profile").exists()
    assert "profile" not in capsys.readouterr().out
    assert main(["train", str(CONFIG), *SMALL, "run.name=traced", "run.profile=true"]) == 0
    (trace,) = Path("runs/traced/profile").rglob("*.trace.json.gz")
    assert f"profile of one report: {trace} for ui.perfetto.dev" in capsys.readouterr().out
    assert json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    assert list(trace.parent.glob("*.xplane.pb"))  # the file for TensorBoard
    assert rows_without_times(Path("runs/traced")) == rows_without_times(Path("runs/plain"))


def test_a_learner_without_jax_is_not_profiled(toy_yaml: Path, mistake):
    line = "run.profile records what JAX does, and 'toy' learns without: leave it out"
    assert mistake("train toy.yaml run.profile=true") == line
    assert not Path("runs").exists()


@pytest.mark.slow
def test_a_single_report_is_not_recorded_and_the_run_says_so(capsys):
    assert main(["train", str(CONFIG), *SMALL, "run.profile=true", "deep_td.env_steps=256"]) == 0
    assert "warning: run.profile records the second report, and there was one alone" in capsys.readouterr().err
    assert not Path("runs/td-cnn-2x2/profile").exists()
