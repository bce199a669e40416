import subprocess
from pathlib import Path

import pytest

from launch.machine import environment


def _git(*words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_is_that_of_this_code_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package that is installed inside the checkout of another project has no commit."""
    _git("init")
    _git("commit", "--allow-empty", "-m", "first")
    commit = _git("rev-parse", "HEAD")
    monkeypatch.setattr(environment, "ROOT", tmp_path.resolve())
    assert environment.environment()["git"] == commit
    Path("file").write_text("new")
    assert environment.environment()["git"] == f"{commit}+changes"
    Path("site").mkdir()
    monkeypatch.setattr(environment, "ROOT", tmp_path.resolve() / "site")
    assert environment.environment()["git"] is None
