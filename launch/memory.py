"""Memory: what a training takes, and what is available. A training that cannot fit is refused before it allocates."""

import math
from collections.abc import Iterator
from pathlib import Path

from launch.errors import UserError
from launch.experiment import registry
from launch.experiment.experiment import Experiment

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
# Files of a control group: its limit, its usage, and the part of the usage that is caches of files, with their keys.
VERSION_1 = (("memory.limit_in_bytes", ""), ("memory.usage_in_bytes", ""), ("memory.stat", "total_inactive_file"))
VERSION_2 = (("memory.max", ""), ("memory.current", ""), ("memory.stat", "inactive_file"))


def check_memory(experiment: Experiment) -> str:
    """Return one line with the memory that the training takes and has; UserError if it takes more than there is."""
    spec = registry.spec_of(experiment.learner)
    needs = registry.memory(experiment.learner, experiment.settings)
    total, room = sum(needs.values()), device_bytes() if spec.uses_jax else available_bytes()
    parts = ", ".join(f"{what}: {size_text(size)}" for what, size in needs.items())
    if total > room:
        raise UserError(
            f"{experiment.run.name} takes {size_text(total)} of memory ({parts}) and {size_text(room)} are there; "
            f"lower {spec.memory_keys}"
        )
    return f"memory: {size_text(total)} of {size_text(room)} ({parts})"


def size_text(size: int | float) -> str:
    """Format a number of bytes for people."""
    unit, name = (1e9, "GB") if size >= 1e9 else (1e6, "MB") if size >= 1e6 else (1e3, "kB")
    return f"{size / unit:,.1f} {name}"


def available_bytes() -> float:
    """Return the memory that this process can take without swapping and within its job's limit; inf if unknown."""
    kilobytes = _number_in(PROC / "meminfo", "MemAvailable:")
    return float(min([math.inf if kilobytes is None else 1024 * kilobytes, *_job_limits()]))


def device_bytes() -> float:
    """Return the memory that JAX can take on each of its devices; devices of a CPU share the available memory."""
    import jax

    statistics = jax.local_devices()[0].memory_stats() or {}  # a CPU has none
    return float(statistics.get("bytes_limit", available_bytes() / jax.local_device_count()))


def _job_limits() -> Iterator[int]:
    """Yield the memory left in each control group of this process that has a limit: its own and all parents.

    Both versions of control groups are read. Caches of files count as free, since the system gives them up.
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
    """Return the number after a key, or the only number of a file if the key is ""; None if there is none."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return None
    numbers = [words[1] if key else words[0] for words in lines if words and key in ("", words[0])]
    return int(numbers[0]) if numbers and numbers[0].isdecimal() else None
