"""The machine and the software, kept in environment.json to explain the numbers of a run later."""

import contextlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from launch.errors import UserError, warn
from launch.files import write_json

ROOT = Path(__file__).resolve().parents[2]  # of the checkout, if this file lies in one
ENVIRONMENT_FILE = "environment.json"
PACKAGES = ("numpy", "numba", "jax", "jaxlib", "flax", "optax", "mctx", "scipy", "pydantic", "wandb")


def project_version() -> str:
    """Return the version of this project.

    Raises:
        UserError: it runs from a checkout that was not installed.
    """
    if (installed := _version_of("muzero2048")) is None:
        raise UserError("this Python has no package muzero2048; install the checkout: pip install -e .")
    return installed


def record_environment(run_folder: Path, wall_hours: float) -> None:
    """Add this process to the list in environment.json: one entry for each start, with the hours trained before it."""
    earlier = _read_starts(run_folder)
    if earlier is None:
        warn(f"{run_folder / ENVIRONMENT_FILE} is damaged: the entries of earlier starts are lost")
    write_json(run_folder / ENVIRONMENT_FILE, [*(earlier or []), environment() | {"wall_hours": wall_hours}])


def time_of(run_folder: Path) -> Callable[[float], float | None]:
    """Return the function from `wall_hours` of a row of a run to its time, in seconds since 1970.

        time(row) = time of the start + wall_hours(row) - wall_hours of the start

    The start is the last one at or before the row. Evaluations and saving are not in `wall_hours`, so the times are
    early by what they took since the start. None: environment.json does not say it.
    """
    starts = []
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):  # damaged, or an entry is not ours
        for number, entry in enumerate(_read_starts(run_folder) or []):
            if number == 0 or "wall_hours" in entry:  # older entries have none
                starts.append((float(entry.get("wall_hours", 0.0)), datetime.fromisoformat(entry["time"]).timestamp()))

    def time(wall_hours: float) -> float | None:
        before = [(hours, began) for hours, began in starts if hours <= wall_hours]
        return before[-1][1] + 3600 * (wall_hours - before[-1][0]) if before else None

    return time


def _read_starts(run_folder: Path) -> list[Any] | None:
    """Return the entries of environment.json, none if there is no such file; None if it is damaged."""
    file = run_folder / ENVIRONMENT_FILE
    try:
        starts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    except (OSError, ValueError):
        return None
    return starts if isinstance(starts, list) else None


def environment() -> dict[str, Any]:
    """Return versions, machine, commit and command of this process."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "version": project_version(),
        "git": _git_commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu_model(),
        "cpu_count": os.cpu_count(),
        "devices": _devices(),
        "packages": {name: installed for name in PACKAGES if (installed := _version_of(name))},
    }


def command_line() -> str:
    """Return the command of this process as a user would write it."""
    return shlex.join(["muzero2048", *sys.argv[1:]])


def own_program() -> tuple[str, ...]:
    """Return the words that start `muzero2048` of this package in a process of its own.

    With -P the working folder is no place of modules, so a launch.py there is not run instead. In the folder of a
    checkout that place is this package, also where another checkout is installed.
    """
    safe_path = () if Path.cwd() == ROOT else ("-P",)
    return (sys.executable, *safe_path, "-m", "launch")


def machine() -> str:
    """Return the CPU cores and the accelerators in words."""
    cores = f"{os.cpu_count()} cores of {_cpu_model() or 'an unknown CPU'}"
    return ", ".join([cores, *accelerators(_devices())])


def accelerators(devices: Sequence[str]) -> list[str]:
    """Return those of JAX's devices, by name, that are not the CPU."""
    return [name for name in devices if not name.lower().startswith(("cpu", "tfrt_cpu"))]


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")  # platform.processor() is empty on most Linux systems
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _devices() -> list[str]:
    """Return the devices of JAX; none if jax is not loaded, since a run without it must not load it."""
    if "jax" not in sys.modules:
        return []
    return [str(device) for device in sys.modules["jax"].devices()]


def _git_commit() -> str | None:
    """Return the commit of the code, with "+changes" if files differ from it; None outside a checkout.

    The package may be installed inside the checkout of another project, whose commit is not of this code.
    """
    try:
        top, commit = _git("rev-parse", "--show-toplevel", "HEAD").splitlines()
        if Path(top).resolve() != ROOT:
            return None
        return commit + ("+changes" if _git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout
