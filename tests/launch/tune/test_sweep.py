"""The sweep of wandb: the file, and the words of its agent, which a training understands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from launch.cli import main

ROOT = Path(__file__).parents[3]


@pytest.mark.usefixtures("toy_yaml")
def test_an_agent_of_wandb_trains_with_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

    words = ["toy.rate=0.001..1:log", "toy.columns=2..4", "run.profile=false,true", "run.final_games=3"]
    assert main(["tune", "toy.yaml", *words, "--group", "search", "--trials", "7", "--wandb-sweep", "sweep.yaml"]) == 0
    sweep = yaml.safe_load(Path("sweep.yaml").read_text())
    assert sweep["method"] == "bayes"
    assert sweep["metric"] == {"name": "eval/score_mean", "goal": "maximize"}
    assert sweep["run_cap"] == 7
    assert sweep["early_terminate"] == {"type": "hyperband", "min_iter": 3}
    assert sweep["parameters"] == {
        "toy.rate": {"distribution": "log_uniform_values", "min": 0.001, "max": 1},
        "toy.columns": {"distribution": "int_uniform", "min": 2, "max": 4},
        "run.profile": {"values": ["false", "true"]},
    }
    # What wandb's agent does for a run, with wandb's own functions; its server gives the values.
    args = {"toy.rate": {"value": 0.25}, "toy.columns": {"value": 4}, "run.profile": {"value": "false"}}
    command: list[str] = []
    for word in create_sweep_command(sweep["command"]):
        is_macro = word.startswith("${") and word.endswith("}")
        command += create_sweep_command_args({"args": args})[word[2:-1]] if is_macro else [word]
    program = tmp_path / "bin" / "muzero2048"
    program.parent.mkdir()
    program.write_text(f'#!/bin/bash\nexec {sys.executable} {ROOT}/tests/launch/toy_main.py muzero2048 "$@"\n')
    program.chmod(0o755)
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "WANDB_RUN_ID": "abc123",
        "WANDB_SWEEP_ID": "s1", "WANDB_MODE": "offline",
    }  # fmt: skip
    subprocess.run(command, check=True, env=os.environ | environment, capture_output=True)
    config = yaml.safe_load(Path("runs/search-abc123/config.yaml").read_text())
    assert (config["run"]["group"], config["run"]["final_games"]) == ("search", 3)
    assert (config["toy"]["rate"], config["toy"]["columns"]) == (0.25, 4)
    assert Path("runs/search-abc123/wandb/id").read_text() == "abc123\n"
