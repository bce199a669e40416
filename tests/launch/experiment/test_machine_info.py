import os
import subprocess
import sys
from pathlib import Path

import pytest

from launch.errors import UserError
from launch.experiment import machine_info


def _git(*words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_is_that_of_this_code_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package that is installed inside the checkout of another project has no commit."""
    _git("init")
    _git("commit", "--allow-empty", "-m", "first")
    commit = _git("rev-parse", "HEAD")
    monkeypatch.setattr(machine_info, "ROOT", tmp_path.resolve())
    assert machine_info.environment()["git"] == commit
    Path("file").write_text("new")
    assert machine_info.environment()["git"] == f"{commit}+changes"
    Path("site").mkdir()
    monkeypatch.setattr(machine_info, "ROOT", tmp_path.resolve() / "site")
    assert machine_info.environment()["git"] is None


def test_a_file_of_the_working_folder_is_not_run_in_place_of_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("launch.py").write_text("raise SystemExit('mine')")
    environment = os.environ | {"PYTHONPATH": str(machine_info.ROOT)}
    subprocess.run([*machine_info.own_program(), "--version"], env=environment, check=True)
    monkeypatch.chdir(machine_info.ROOT)  # the folder of a checkout
    assert machine_info.own_program() == (sys.executable, "-m", "launch")


def test_a_checkout_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> str:
        raise machine_info.PackageNotFoundError(name)

    assert machine_info.project_version() == machine_info.version("muzero2048")
    monkeypatch.setattr(machine_info, "version", nothing)
    with pytest.raises(UserError, match="install the checkout"):
        machine_info.project_version()
