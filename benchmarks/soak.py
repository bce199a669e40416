"""Kill a training at random times and resume it, many times: measure lost work, checkpoints, memory and disk space.

python -m benchmarks.soak configs/muzero/grounded.yaml --minutes 60 --kills 20 run.name=soak run.save_minutes=3 \
    muzero.env_steps=1_000_000_000
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NamedTuple

from launch.experiment.checkpoints import find_checkpoint, read_checkpoint
from launch.experiment.metrics_file import METRICS_FILE, read_metrics

ROOT = Path(__file__).parents[1]

LOOK_SECONDS = 0.1


class Look(NamedTuple):
    """Memory, disk space and checkpoints at one time."""

    memory_mb: float | None  # None before the first row
    disk_mb: float  # size of the run's folder
    checkpoints: int  # number, including those that are being written


@dataclass
class Life:
    """One process of a run, from its start to its end."""

    seconds: float  # from its first row to its end; less than 0: killed this time after its start
    env_steps: int  # moves in the last row of metrics.jsonl
    saved: int  # moves in the newest checkpoint, 0 if there is none
    lost_minutes: float  # training that is in metrics.jsonl but not in the newest checkpoint
    memory_mb: float  # largest memory
    looks: int  # number of measurements of its memory
    growth: float  # memory in the last quarter of its time / memory in the second quarter; 1 with fewer than 20 looks


@dataclass
class Soak:
    """A run, with all its processes."""

    lives: list[Life]
    disk_mb: float  # largest size of the run's folder
    checkpoint_mb: float
    checkpoints: int  # largest number at one time, including those that are being written


def soak(config: str, words: list[str], run: Path, seconds: list[float]) -> Soak:
    """Train and resume; end the last process by SIGTERM and all others by SIGKILL.

    Args:
        config: the config file.
        words: overrides; they must set more moves than the processes can make.
        run: the run's folder.
        seconds: time that each process runs after its first row. Less than 0: time from its start to its kill.

    Returns:
        The measurements of all processes.
    """
    lives: list[Life] = []
    looks: list[Look] = []
    for index, life_seconds in enumerate(seconds):
        is_last = index == len(seconds) - 1
        with (run.parent / f"{run.name}.log").open("w") as log:
            process = start(config, "--resume", *words, output=log)
            own_looks = _live(process, run, life_seconds)
            process.send_signal(signal.SIGTERM if is_last else signal.SIGKILL)
            exit_code = process.wait(timeout=600)
        assert exit_code == (75 if is_last else -signal.SIGKILL), Path(log.name).read_text()
        looks += own_looks
        lives.append(_life(run, life_seconds, [look.memory_mb for look in own_looks if look.memory_mb is not None]))
        print(json.dumps(asdict(lives[-1])), flush=True)
    disk, checkpoints = max(look.disk_mb for look in looks), max(look.checkpoints for look in looks)
    return Soak(lives, disk, _megabytes(find_checkpoint(run)), checkpoints)


def start(config: str, *words: str, output: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start a training in its own process."""
    environment = os.environ | {"PYTHONPATH": str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", "")}
    command = [sys.executable, "-m", "launch", "train", config, *words]
    return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT, text=True)


def _live(process: subprocess.Popen[str], run: Path, seconds: float) -> list[Look]:
    """Measure a process for the given time, see `soak`."""
    saved, began = _saved(run), time.time()
    end, looks = began - seconds if seconds < 0 else None, []
    while end is None or time.time() < end:
        assert process.poll() is None, "it ended by itself"
        if end is None and _has_row(run, saved, began):
            end = time.time() + seconds
        memory = None if end is None else _resident_megabytes(process.pid)
        looks.append(Look(memory, _megabytes(run), len(_entries(run / "checkpoints"))))
        time.sleep(LOOK_SECONDS)
    return looks


def _has_row(run: Path, saved: int, began: float) -> bool:
    """Return whether the process started at `began` has reported; its first act cuts metrics.jsonl back to `saved`."""
    file = run / METRICS_FILE
    return file.exists() and file.stat().st_mtime > began and any(row["env_steps"] > saved for row in read_metrics(run))


def _life(run: Path, seconds: float, memory: list[float]) -> Life:
    rows = read_metrics(run) if (run / METRICS_FILE).exists() else []
    saved = _saved(run)
    saved_hours = read_checkpoint(find_checkpoint(run))[1].wall_hours if saved else 0.0
    last = rows[-1] if rows else {"env_steps": 0, "wall_hours": 0.0}
    quarter = len(memory) // 4
    growth = sum(memory[-quarter:]) / sum(memory[quarter : 2 * quarter]) if quarter >= 5 else 1.0
    lost_minutes = 60 * (last["wall_hours"] - saved_hours)
    return Life(seconds, int(last["env_steps"]), saved, lost_minutes, max(memory, default=0.0), len(memory), growth)


def _saved(run: Path) -> int:
    return max((int(path.name) for path in _entries(run / "checkpoints") if path.name.isdecimal()), default=0)


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def _megabytes(folder: Path) -> float:
    """Return the size of all files in a folder; files may be deleted in the meantime."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).stat().st_size
            except FileNotFoundError:
                continue
    return total / 1e6


def _resident_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) / 1e3 for line in status.splitlines() if line.startswith("VmRSS"))


def random_lives(minutes: float, kills: int, seed: int) -> list[float]:
    """Draw the seconds of each process, see `soak`.

    Args:
        minutes: time of all processes.
        kills: number of killed processes; a tenth of them is killed in the first 10 s.
        seed: seed of the draw.

    Returns:
        Seconds of the killed processes, and of a last process, which takes a fifth of the time.
    """
    rng = random.Random(seed)
    moments = sorted(rng.uniform(0, 0.8 * 60 * minutes) for _ in range(kills))
    lives = [later - earlier for earlier, later in zip([0.0, *moments], moments, strict=False)]
    early = rng.sample(range(kills), kills // 10)
    return [-rng.uniform(0, 10) if index in early else life for index, life in enumerate(lives)] + [0.2 * 60 * minutes]


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the words after the name of the script, or those of the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=2048)
    return parser.parse_intermixed_args(argv)


def main() -> None:
    """Print one line for each process, then the largest disk space and number of checkpoints."""
    arguments = parse()
    name = next(word.partition("=")[2] for word in arguments.overrides if word.startswith("run.name="))
    Path("runs").mkdir(exist_ok=True)
    lives = random_lives(arguments.minutes, arguments.kills, arguments.seed)
    result = soak(arguments.config, arguments.overrides, Path("runs") / name, lives)
    print(json.dumps({key: value for key, value in asdict(result).items() if key != "lives"}))


if __name__ == "__main__":
    main()
