"""A trained n-tuple player on 2x3, and the JSON object that a command prints."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import train_in

from launch.cli import main

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


@pytest.fixture
def last_json(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return a function that gives the JSON object which a command prints."""

    def said(*words: str) -> Any:
        capsys.readouterr()
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return said
