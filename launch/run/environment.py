"""The machine and the software: environment.json, which explains a run's numbers later, and the memory that is left."""

import json
import math
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from launch.errors import warn
from launch.files import write_json

# Files of a control group: its limit, what it uses, and what of that are caches of files.
VERSION_1 = (("memory.limit_in_bytes", ""), ("memory.usage_in_bytes", ""), ("memory.stat", "total_inactive_file"))
VERSION_2 = (("memory.max", ""), ("memory.current", ""), ("memory.stat", "inactive_file"))
PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
PACKAGES = ("numpy", "numba", "jax", "jaxlib", "flax", "optax", "mctx", "scipy", "omegaconf", "wandb")


def project_version() -> str:
    """The version of this project."""
    return version("muzero2048")


def record_environment(run_folder: Path) -> None:
    """Add this process to the list in environment.json: one entry for each time the run was started."""
    file = run_folder / "environment.json"
    write_json(file, [*_earlier(file), environment()])


def _earlier(file: Path) -> list[Any]:
    """The entries of the starts before; none, with a warning, if the file is damaged."""
    try:
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    except (OSError, ValueError):
        found = None
    if isinstance(found, list):
        return found
    warn(f"{file} is damaged: the entries of earlier starts are lost")
    return []


def environment() -> dict[str, Any]:
    """Versions, machine, commit and command of this process."""
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
        "packages": {name: found for name in PACKAGES if (found := _version_of(name))},
    }


def command_line() -> str:
    """The command of this process as a user would write it."""
    return shlex.join(["muzero2048", *sys.argv[1:]])


def machine() -> str:
    """The cores and the accelerators that are there, in words."""
    cores = f"{os.cpu_count()} cores of {_cpu_model() or 'an unknown CPU'}"
    accelerators = [name for name in _devices() if not name.lower().startswith(("cpu", "tfrt_cpu"))]
    return ", ".join([cores, *accelerators])


def available_bytes() -> float:
    """The memory that this process can take without swapping, or beyond its job's limit; inf if nothing tells."""
    kilobytes = _number_in(PROC / "meminfo", "MemAvailable:")
    return float(min([math.inf if kilobytes is None else 1024 * kilobytes, *_job_limits()]))


def _job_limits() -> Iterator[int]:
    """What the control groups of this process, its own and those above it, of any version, have left of their limits.

    Caches of files count as left: the system gives them up.
    """
    groups = PROC / "self" / "cgroup"
    for line in groups.read_text().splitlines() if groups.exists() else []:
        _, controllers, group = line.split(":", 2)
        if "memory" not in controllers.split(",") and controllers:
            continue
        top, names = (CGROUPS / "memory", VERSION_1) if controllers else (CGROUPS, VERSION_2)
        own = Path(group.lstrip("/"))
        for place in (own, *own.parents):
            limit, used, cached = (_number_in(top / place / file, key) for file, key in names)
            if limit is not None:
                yield limit - (used or 0) + (cached or 0)


def _number_in(file: Path, key: str) -> int | None:
    """The number that stands alone in a file, or behind a key; None if there is none."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return None
    found = [words[1] if key else words[0] for words in lines if words and key in ("", words[0])]
    return int(found[0]) if found and found[0].isdecimal() else None


def device_bytes() -> float:
    """The memory that JAX can take on each of its devices; those of a CPU share what is available."""
    import jax

    statistics = jax.local_devices()[0].memory_stats() or {}  # a CPU has none
    return float(statistics.get("bytes_limit", available_bytes() / jax.local_device_count()))


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
    """The accelerators in use; only if jax is loaded, since a run without it must not load it."""
    if "jax" not in sys.modules:
        return []
    return [str(device) for device in sys.modules["jax"].devices()]


def _git_commit() -> str | None:
    """The commit of the code, with "+changes" if files differ from it; None outside a git checkout."""
    here = ["git", "-C", str(Path(__file__).parent)]
    try:
        commit = subprocess.run([*here, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        status = subprocess.run([*here, "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + ("+changes" if status.stdout else "")
