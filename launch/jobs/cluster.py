"""Where runs are trained: one YAML file with typed keys, such as configs/clusters/local.yaml."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from launch.errors import UserError, warn
from launch.experiment.examples import examples_folder
from launch.experiment.plain_values import read_settings
from launch.quantities import counted
from ntuple.core.settings import Settings, setting, without_effect

LOCAL, SLURM = "local", "slurm"
ON_SLURM = f"engine={SLURM}"


class ClusterConfig(Settings, prefix="cluster"):
    """What each run gets, and how many train at once."""

    engine: Literal["local", "slurm"] = setting("local", "local: processes on this machine; slurm: jobs of SLURM.")
    at_once: int = setting(
        1, "Number of runs that train at the same time; on SLURM 0: as many as the scheduler starts.", at_least=0
    )
    cores: int = setting(0, "CPU cores of a run, on each node; 0 (local only): all cores, divided.", at_least=0)
    memory_gb: float = setting(
        0.0, "Memory of a run in GB, on each node; 0: local: that of the machine, divided; slurm: its default.",
        at_least=0,
    )  # fmt: skip
    gpus: int = setting(0, "GPUs of a run, on each node.", at_least=0, at_most=64)
    nodes: int = setting(1, "Nodes of a run.", at_least=1, at_most=4096, only_if=ON_SLURM)
    hours: float = setting(24.0, "Time limit of a job; the run goes on in the next job.", above=0, only_if=ON_SLURM)
    save_seconds: int = setting(
        120, "Seconds before the time limit at which a run saves and is requeued.", at_least=1, only_if=ON_SLURM
    )
    partition: str = setting("", "Partition of the jobs.", only_if=ON_SLURM)
    account: str = setting("", "Account of the jobs.", only_if=ON_SLURM)
    qos: str = setting("", "Quality of service of the jobs.", only_if=ON_SLURM)
    constraint: str = setting("", "Constraint on the nodes.", only_if=ON_SLURM)
    options: tuple[str, ...] = setting((), "Further options of sbatch, such as [--exclude=n3].", only_if=ON_SLURM)
    setup: tuple[str, ...] = setting((), "Shell lines before the run, such as [module load cuda].", only_if=ON_SLURM)
    prefix: str = setting("", "Words before the command, such as: apptainer exec --nv muzero2048.sif")
    environment: tuple[str, ...] = setting((), "Environment variables, such as [WANDB_MODE=offline].")
    restarts: int = setting(
        3, "Times that a crashed run is started again from its last save; then it has failed.", at_least=0
    )

    def __post_init__(self) -> None:
        """Check the values."""
        if self.engine == LOCAL and self.at_once == 0:
            self.refuse("at_once", "1 or more on this machine")
        for variable in self.environment:
            if not re.match(r"[A-Za-z_]\w*=", variable):
                self.refuse("environment", "NAME=value for each variable")

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of a run, by name."""
        return dict(variable.split("=", 1) for variable in self.environment)


def load_cluster(word: str) -> ClusterConfig:
    """Read a cluster file: a YAML file, or the name of a file of configs/clusters/ without its suffix."""
    file = Path(word)
    if file.suffix not in (".yaml", ".yml"):
        file = examples_folder() / "clusters" / f"{word}.yaml"
    if not file.is_file():
        known = sorted(path.stem for path in (examples_folder() / "clusters").glob("*.yaml"))
        raise UserError(f"--on {word}: there is no {file}; give a YAML file or one of: {', '.join(known)}")
    cluster = read_settings(ClusterConfig, file)
    for line in without_effect(cluster).values():
        warn(f"{file}: {line}")
    return cluster


def resources(cluster: ClusterConfig, cores: Sequence[int] = ()) -> str:
    """Return what a run gets, in words; `cores` are those of the run on this machine, if they are known."""
    count = len(cores) or cluster.cores
    parts = [
        counted(count, "core") if count else "",
        f"{cluster.memory_gb:g} GB" if cluster.memory_gb else "",
        counted(cluster.gpus, "GPU") if cluster.gpus else "",
        f"{cluster.hours:g} h a job" if cluster.engine == SLURM else "",
    ]
    each = ", ".join(part for part in parts if part)
    return f"{cluster.nodes} nodes, each {each}" if cluster.nodes > 1 else each
