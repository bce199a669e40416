"""Runs of the toy learner, and a stand-in for wandb's server."""

from pathlib import Path

import pytest
import wandb

from launch.cli import main
from tests.launch.report.wandb.server import KEY, serving


@pytest.fixture
def runs(toy_yaml: Path) -> Path:
    """Train two seeds of one experiment; return the runs folder."""
    for seed in (1, 2):
        assert main(["train", str(toy_yaml), f"run.name=toy{seed}", f"run.seed={seed}"]) == 0
    return Path("runs")


@pytest.fixture
def wandb_server(monkeypatch: pytest.MonkeyPatch):
    """A stand-in for wandb's server; commands of the test go online to it."""
    with serving() as server:
        monkeypatch.delenv("WANDB_MODE")
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        wandb.teardown()  # else it keeps the address that it read at its first use
        yield server
        wandb.teardown()
