"""A trained n-tuple player on 2x3."""

import shutil
from pathlib import Path

import pytest
from small_runs import train_in

SMALL = """\
learner: ntuple
run: {name: small, group: small, seed: 1, final_games: 10}
ntuple: {rows: 2, columns: 3, network: "012345", env_steps: 20_000, report_env_steps: 10_000, threads: 1}
"""


@pytest.fixture(scope="session")
def _trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_in(tmp_path_factory.mktemp("small"), SMALL)


@pytest.fixture
def run(_trained: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return a run of its own for each test."""
    shutil.copytree(_trained, Path(), dirs_exist_ok=True)
    capsys.readouterr()
    return "runs/small"
