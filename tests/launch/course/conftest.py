"""Writes programs and grades them, as `muzero2048 grade` does."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from launch.cli import main
from tests.launch.course.compose import compose

Change = tuple[str, str]


class Grader:
    """Writes programs and grades them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys = folder, capsys

    def __call__(self, project: str, starter: str, options: str, *changes: Change, games: int) -> dict[str, Any]:
        """Grade a model solution with changes."""
        return self.grade(project, self.command(starter, options, *changes), games)

    def command(self, starter: str, options: str, *changes: Change) -> str:
        """Write a model solution with changes, and return the command that runs it."""
        return f"{sys.executable} {self.write(starter, *changes)} {options}"

    def write(self, starter: str, *changes: Change) -> Path:
        """Write a model solution with changes."""
        path = self._folder / f"{starter}.py"
        path.write_text(compose(starter, *changes))
        return path

    def grade(self, project: str, program: str, games: int, *options: str) -> dict[str, Any]:
        """Grade a program."""
        words = ["grade", project, program, "--language", "python", "--games", str(games), *options, "--json"]
        assert main(words) == 0
        result = json.loads(self._capsys.readouterr().out)
        assert result["points"] == pytest.approx(sum(part["points"] for part in result["parts"]))
        return result


@pytest.fixture
def grade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Grader:
    return Grader(tmp_path, capsys)
