"""A toy learner in the registry, a working folder of one's own, and wandb without its slow parts."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from launch.cli import main
from launch.experiment import registry

sys.path.insert(0, str(Path(__file__).parent))  # for `import toy`

WANDB_FAST = {
    "WANDB_X_DISABLE_STATS": "true",
    "WANDB_X_DISABLE_META": "true",
    "WANDB_DISABLE_GIT": "true",
    "WANDB_X_SAVE_REQUIREMENTS": "false",
}

TOY_YAML = """\
learner: toy
run:
  name: one
  group: toys
  save_minutes: 0.000001
  evaluate_env_steps: 30
  evaluation_games: 3
  final_games: 4
toy:
  rate: 0.25
"""


@pytest.fixture(autouse=True)
def _workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(registry.LEARNERS, "toy", "toy")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("WANDB_DATA_DIR", "")
    monkeypatch.delenv("WANDB_DATA_DIR")
    for name, value in WANDB_FAST.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def toy_yaml(tmp_path: Path) -> Path:
    """Ten reports of 10 moves, a checkpoint after each, evaluations at 30, 60, 90 and the end."""
    path = tmp_path / "toy.yaml"
    path.write_text(TOY_YAML)
    return path


@pytest.fixture
def mistake(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that gives the one line, without "error: ", with which a command refuses what is wrong.

    Its first argument is split into words; the others may have spaces.
    """

    def refused(line: str, *words: str) -> str:
        capsys.readouterr()
        assert main([*line.split(), *words]) == 2
        *warnings, error = capsys.readouterr().err.splitlines()
        assert not any(line.startswith("error: ") for line in warnings)
        assert error.startswith("error: ")
        return error.removeprefix("error: ")

    return refused


@pytest.fixture
def last_json(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return a function that gives the JSON object which a command prints."""

    def said(*words: str) -> Any:
        capsys.readouterr()
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return said


@pytest.fixture
def unread() -> Callable[[], AbstractContextManager[None]]:
    """Return a context manager in which the standard output is a pipe whose reader has ended."""

    @contextmanager
    def closed_pipe() -> Iterator[None]:
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as stream, redirect_stdout(stream):
            yield

    return closed_pipe


@pytest.fixture
def slurm_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace SLURM's commands by programs that note their words in calls.txt and print the file NAME.out.

    A file NAME.err makes the command of that name print it to stderr and fail.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        program = folder / name
        program.write_text(
            f'#!/bin/bash\necho "{name} $*" >> {tmp_path}/calls.txt\n'
            f"cat {tmp_path}/{name}.out 2>/dev/null\nif [ -e {tmp_path}/{name}.err ]; then\n"
            f"    cat {tmp_path}/{name}.err >&2; exit 1\nfi\nexit 0\n"
        )
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("USER", "somebody")
