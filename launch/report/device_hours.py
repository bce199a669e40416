"""How much of a machine a training took: core-hours, or GPU-hours if it ran on accelerators."""

import json
from typing import Any, NamedTuple

from launch.experiment import registry
from launch.experiment.environment import ENVIRONMENT_FILE, accelerators
from launch.report.runs import Run


class Devices(NamedTuple):
    """What a training ran on."""

    unit: str  # core or GPU
    number: int


def devices_of(run: Run) -> Devices | None:
    """Return what a run was trained on, from its config and the last entry of its environment.json.

    A learner without a setting for threads counts with all cores of the machine.

    Args:
        run: the run.

    Returns:
        The accelerators of JAX, or the cores; None if the file is missing or damaged.
    """
    try:
        last = json.loads((run.folder / ENVIRONMENT_FILE).read_text(encoding="utf-8"))[-1]
        devices, cores = list(last["devices"]), int(last["cpu_count"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if gpus := accelerators(devices):
        return Devices("GPU", len(gpus))
    return Devices("core", min(_threads(run.learner, run.config) or cores, cores))


def _threads(learner: str, config: dict[str, Any]) -> int:
    """Return the number of threads of a training; 0: all cores."""
    key = registry.spec_of(learner).threads_key if learner in registry.LEARNERS else ""
    threads = config.get(f"{learner}.{key}", 0)
    return threads if isinstance(threads, int) else 0
