"""Small runs: configs of both learners, for tests that train them in processes of their own, and their rows."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from launch.cli import main
from launch.experiment.metrics_file import METRICS_FILE, read_metrics

NTUPLE = """\
learner: ntuple
run: {{name: tuples, group: tuples, save_minutes: 0.01, final_games: 100}}
ntuple: {{rows: 3, columns: 3, network: ["0134", "1245"], env_steps: {0}, report_env_steps: {1}, threads: 1}}
"""
MUZERO = """\
learner: muzero
run: {{name: net, group: net, save_minutes: {2}, final_games: 100}}
muzero:
  rows: 2
  columns: 2
  env_steps: {0}
  report_env_steps: {1}
  num_envs: 64
  network: {{model: latent, width: 16, blocks: 1}}
  search: {{simulations: 4}}
  replay: {{capacity: 16_384, batch_size: 64, ratio: 1.0}}
"""


def write_small_runs(ntuple: tuple[int, int], muzero: tuple[int, int], muzero_save_minutes: float) -> None:
    """Write tuples.yaml and net.yaml into the working folder.

    Args:
        ntuple: moves of the n-tuple run, in all and between two reports.
        muzero: the same of the MuZero run.
        muzero_save_minutes: `run.save_minutes` of the MuZero run.
    """
    Path("tuples.yaml").write_text(NTUPLE.format(*ntuple))
    Path("net.yaml").write_text(MUZERO.format(*muzero, muzero_save_minutes))


def train_in(folder: Path, config: str, *commands: str) -> Path:
    """Train the run of a config, call further commands in the folder, and return the folder; none may fail."""
    (folder / "trained.yaml").write_text(config)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("WANDB_MODE", "disabled")
        for command in ("train trained.yaml", *commands):
            assert main(command.split()) == 0, command
    return folder


def rows_without_times(run: Path) -> list[dict[str, float]]:
    """Return the rows of metrics that another run must repeat: without hours and speeds."""
    names = ("wall_hours", "perf/", "eval/moves_per_second")
    return [{name: row[name] for name in row if not name.startswith(names)} for row in read_metrics(run)]


def wait_for_rows(running: Sequence["subprocess.Popen[str]"], run: Path, rows: int, seconds: float = 600) -> None:
    """Wait until the processes of a run, none of which may end, have written so many rows."""
    deadline = time.monotonic() + seconds  # compiling takes most of it
    while not (run / METRICS_FILE).exists() or len(read_metrics(run)) < rows:
        assert all(process.poll() is None for process in running), [process.communicate() for process in running]
        assert time.monotonic() < deadline
        time.sleep(0.001)
