"""Small runs: configs of both learners, for tests that train them in processes of their own, and a trained folder."""

from pathlib import Path

import pytest

from launch.cli import main

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
