"""Training by the clock: the rate of a share of the time, and a run that ends by it."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from benchmarks import by_clock
from benchmarks.by_clock import Clock, Compiled, compile_together, run, with_share
from launch.errors import UserError
from launch.evaluation.loading import load_player
from launch.evaluation.search_options import SearchOptions
from launch.experiment.metrics_file import read_metrics
from muzero2048.muzero.learner_state import MuZeroState
from muzero2048.muzero.train_step import MuZeroPrograms


class State(SimpleNamespace):
    def _replace(self, optimizer: Any) -> "State":
        return State(optimizer=optimizer)


@pytest.mark.parametrize(("share", "rate"), [(0.0, 1.0), (0.25, 0.775), (1.0, 0.1), (1.5, 0.1)])
def test_the_rate_is_that_of_the_share(share: float, rate: float) -> None:
    """The next update has the rate of the share, whatever was updated before."""
    optimizer = optax.adamw(optax.linear_schedule(1.0, 0.1, 1000), weight_decay=0.0)
    params = {"x": jnp.zeros(3)}
    _, moments = optimizer.update({"x": jnp.ones(3)}, optimizer.init(params), params)
    state = with_share(cast(MuZeroState, State(optimizer=moments)), share, 1000)
    step, _ = optimizer.update({"x": jnp.ones(3)}, state.optimizer, params)
    np.testing.assert_allclose(-step["x"], rate, rtol=1e-3)  # Adam's step of a constant gradient is the rate


def test_the_clock_begins_with_the_first_call_and_follows_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("time.time", lambda: now)
    (file := tmp_path / "deadline").write_text("300")
    clock = Clock(file)
    assert [clock.share() for _ in range(3)] == [0.9] * 3
    now = 150.0
    assert clock.share() == pytest.approx(0.25)
    file.write_text("200")
    assert clock.share() == pytest.approx(0.5)
    assert not clock.is_over
    now = 200.0
    assert clock.is_over


def test_what_cannot_be_trained(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    words = ["--seconds", "10", f"run.runs_folder={tmp_path}"]
    with pytest.raises(UserError, match="the config is of ntuple"):
        run(["configs/quick/ntuple.yaml", *words])
    with pytest.raises(UserError, match="there exists; give another"):
        run(["configs/muzero/tiny.yaml", *words, "run.name=there"])


def test_a_missing_package_is_seen_before_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint names the version, and the first one is minutes away."""

    def missing() -> str:
        raise UserError("no package muzero2048")

    monkeypatch.setattr(by_clock, "project_version", missing)
    with pytest.raises(UserError, match="no package"):
        run(["configs/muzero/tiny.yaml", "--seconds", "10", f"run.runs_folder={tmp_path}"])
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_run_ends_by_the_clock_and_its_network_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end is moved to 20 seconds after the programs are compiled, whatever that took."""
    folder = tmp_path / "tiny-muzero"

    def compiled(programs: MuZeroPrograms, state: MuZeroState) -> Compiled:
        made = compile_together(programs, state)
        (folder / "deadline").write_text(str(time.time() + 20))
        return made

    monkeypatch.setattr(by_clock, "compile_together", compiled)
    words = ["--seconds", "10_000", "--trace", f"run.runs_folder={tmp_path}", "muzero.env_steps=100_000_000"]
    assert run(["configs/muzero/tiny.yaml", *words]) == 0
    last = list(read_metrics(folder))[-1]
    assert last["updates"] > 200
    assert list((folder / "profile").rglob("*.xplane.pb"))
    assert load_player(folder, SearchOptions()).player.play(50, 1).score.mean() > 20
