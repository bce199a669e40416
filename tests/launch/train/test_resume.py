"""A learner is killed in its own process: the resumed run equals a run that was never stopped."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from small_runs import rows_without_times, wait_for_rows

from benchmarks.soak import soak, start
from launch.experiment.checkpoints import find_checkpoint, read_checkpoint
from launch.experiment.metrics_file import read_metrics

ROOT = Path(__file__).parents[3]

TINY = str(ROOT / "configs" / "muzero" / "tiny.yaml")
NTUPLE_YAML = """\
learner: ntuple
run: {name: whole, group: g, save_minutes: 0.0005, evaluate_env_steps: 100_000, evaluation_games: 20, final_games: 20}
ntuple: {rows: 3, columns: 3, network: ["0134", "1245"], env_steps: 1_000_000, report_env_steps: 10_000, threads: 1}
"""
MUZERO_WORDS = (
    "run.name=whole", "run.save_minutes=0.000001", "run.evaluate_env_steps=8_192", "run.evaluation_games=20",
    "run.final_games=20", "muzero.env_steps=20_480", "muzero.report_env_steps=2_048", "muzero.search.simulations=4",
)  # fmt: skip
KILL_SEED = 2048  # seed of the times at which runs are killed


@pytest.fixture
def yaml(tmp_path: Path) -> Path:
    path = tmp_path / "ntuple.yaml"
    path.write_text(NTUPLE_YAML)
    return path


def _start(*words: str, config: str = "ntuple.yaml") -> subprocess.Popen[str]:
    return start(config, *words)


def _finish(process: subprocess.Popen[str]) -> str:
    """Return what a training prints that comes to its end."""
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return output


def _result(run: Path) -> tuple[list[dict], dict[str, int], dict[str, bytes]]:
    """Return all results that must repeat: the rows, the progress, and the bytes of all arrays of the learner.

    The arrays are compared, not the files, because the order of the entries in a safetensors header varies.
    """
    checkpoint = find_checkpoint(run)
    arrays = {name: array.tobytes() for name, array in _arrays(checkpoint).items()}
    assert len(arrays) >= 3
    return rows_without_times(run), read_checkpoint(checkpoint)[1].progress, arrays


def _arrays(checkpoint: Path) -> dict[str, np.ndarray]:
    if (checkpoint / "training").exists():  # MuZero's checkpoint; orbax imports JAX, which the other tests do not need
        from orbax.checkpoint import v1 as ocp

        parts = {part: ocp.load((checkpoint / part).absolute()) for part in ("parameters", "training")}
        return {f"{part} {name}": np.asarray(array) for part in parts for name, array in parts[part].items()}
    return {name: array for file in checkpoint.glob("*.safetensors") for name, array in load_file(file).items()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Sharding info not provided")  # the machine that wrote the file reads it
@pytest.mark.parametrize(
    ("config", "words", "rows", "kills"), [("ntuple.yaml", (), range(5, 95), 2), (TINY, MUZERO_WORDS, range(3, 9), 1)]
)
def test_killed_and_resumed_is_as_never_stopped(
    yaml: Path, config: str, words: tuple[str, ...], rows: range, kills: int
):
    _finish(_start(*words, config=config))
    run, words = Path("runs/killed"), (*words, "run.name=killed", "--resume")
    for kill_at in _kill_moments(rows, kills):
        process = _start(*words, config=config)
        wait_for_rows([process], run, kill_at)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
    assert "resumed from runs/killed/checkpoints/" in _finish(_start(*words, config=config))
    assert _result(run) == _result(Path("runs/whole"))


def _kill_moments(rows: range, count: int) -> list[int]:
    """Draw the numbers of rows after which a run is killed, and print them for the report of a failure."""
    moments = sorted(random.Random(KILL_SEED).sample(rows, count))
    print(f"seed {KILL_SEED}: killed after {moments} rows")
    return moments


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "kills", "seconds"), [("ntuple", 20, 1), ("muzero", 8, 5)])
def test_a_run_that_is_killed_many_times(yaml: Path, learner: str, kills: int, seconds: float):
    """The run loses only the training since its last save, keeps `keep_checkpoints`, and its memory does not grow."""
    words = ["run.name=killed", "run.keep_checkpoints=2", "run.evaluate_env_steps=0", "run.save_minutes=0.000001"]
    words += [f"{learner}.env_steps=4_096_000_000"]  # more than it can make in this time
    report = 100_000 if learner == "ntuple" else 2_048
    words += [f"{learner}.report_env_steps={report}"]
    config = "ntuple.yaml" if learner == "ntuple" else TINY
    run, rng = Path("runs/killed"), random.Random(KILL_SEED)
    lives = [rng.uniform(0, seconds) if life % 4 else -rng.uniform(0, 3) for life in range(kills)]
    run.parent.mkdir()
    found = soak(config, words, run, [*lives, 15.0])
    rows = [row["env_steps"] for row in read_metrics(run)]
    assert rows == sorted(set(rows))
    saved = [life.saved for life in found.lives]
    assert saved == sorted(saved)
    assert 0 < saved[-2] < saved[-1] == rows[-1]
    assert all(life.env_steps - life.saved <= 2 * report for life in found.lives)
    assert found.checkpoints <= 3  # the third is being written
    assert found.disk_mb < 3 * found.checkpoint_mb + 1
    assert found.lives[-1].looks >= 20
    assert found.lives[-1].growth < 1.1


def _stop_in_training(*words: str) -> None:
    """Start a run, send it SIGTERM soon after its training began, and check that it saves and ends."""
    process = _start("--resume", *words)
    lines = iter(process.stdout.readline, "")
    assert any("compiling" in line for line in lines)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 75, output


@pytest.mark.slow
def test_stopped_twice_within_a_report_and_resumed_is_as_never_stopped(yaml: Path):
    words = ("run.evaluate_env_steps=0", "ntuple.env_steps=5_000_000", "ntuple.report_env_steps=5_000_000")
    _finish(_start(*words))
    for _ in range(2):
        _stop_in_training("run.name=stopped", *words)
    _finish(_start("run.name=stopped", "--resume", *words))
    stopped, once = _result(Path("runs/stopped")), _result(Path("runs/whole"))
    steps = [row["env_steps"] for row in stopped[0]]
    assert 0 < steps[0] < steps[1] < steps[2] == steps[3] == 5_000_000  # the last two rows: training, evaluation
    assert len(once[0]) == 2
    assert stopped[0][-1] == once[0][-1]
    assert stopped[1:] == once[1:]


def test_commands_that_do_without_jax_never_load_it(yaml: Path):
    code = (
        "import sys; from launch.cli import main\n"
        "assert main(['train', 'ntuple.yaml', 'ntuple.env_steps=10_000']) == 0\n"
        "assert main(['evaluate', 'runs/whole', '--games', '5', '--search', '1ply']) == 0\n"
        "assert main(['evaluate', 'runs/whole', '--search', 'gumbel', '--value', 'network']) == 2\n"
        "assert not main(['solve', '--board', '2x2'])\n"
        "print({'jax', 'muzero2048', 'matplotlib'} & set(sys.modules))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", "")}
    output = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True, timeout=120)
    assert output.splitlines()[-1] == "set()"
