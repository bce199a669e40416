"""What a training takes of the memory, told before it begins; one that cannot fit is refused before it takes any."""

from launch.config.experiment import Experiment
from launch.errors import UserError
from launch.learners import registry
from launch.run.environment import available_bytes, device_bytes


def check_memory(experiment: Experiment) -> str:
    """One line that says what the training takes, and of how much.

    Raises:
        UserError: it takes more than there is; the line has the numbers and the settings that lower them.
    """
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
    """A number of bytes, to be read."""
    unit, name = (1e9, "GB") if size >= 1e9 else (1e6, "MB") if size >= 1e6 else (1e3, "kB")
    return f"{size / unit:,.1f} {name}"
