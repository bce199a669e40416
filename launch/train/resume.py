"""Where a training begins: new, with a stored network, at a checkpoint of its run; or not, if the run is finished.

All processes of a run agree on it before any of them allocates memory.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from launch.errors import UserError
from launch.evaluation.result import Evaluation
from launch.evaluation.search_options import SearchChoice, SearchOptions
from launch.evaluation.searches import resolve
from launch.evaluation.seeds import final_evaluation_seed
from launch.experiment import checkpoints, registry
from launch.experiment.experiment import CONFIG_FILE, Experiment, changes
from launch.experiment.interfaces import Learner, LearnerConfig
from launch.experiment.processes import Processes

BUDGET = ("env_steps", "report_env_steps")  # settings of a learner that change nothing it has learned


def is_run_folder(path: Path) -> bool:
    """Return whether a config argument is the folder of a run, not a YAML file or a checkpoint."""
    return path.is_dir() and not (path / checkpoints.MANIFEST_FILE).exists()


def in_folder(experiment: Experiment, folder: Path, overrides: Sequence[str]) -> Experiment:
    """Return the experiment with its run folder set to the folder that it was read from, which may have been moved.

    `run.name` and `run.runs_folder` keep the values that overrides set.
    """
    place = folder if folder.name not in ("", "..") else folder.resolve()
    named = {override.partition("=")[0] for override in overrides}
    runs_folder = experiment.run.runs_folder if "run.runs_folder" in named else str(place.parent)
    name = experiment.run.name if "run.name" in named else place.name
    try:
        return replace(experiment, run=replace(experiment.run, runs_folder=runs_folder, name=name))
    except ValueError as error:
        raise UserError(f"{folder}: {error}; rename the folder") from error


def agree_on_config(experiment: Experiment, processes: Processes) -> None:
    """Return when all processes have the same config, UserError if one differs; nothing is written before."""
    config = experiment.to_yaml()
    if processes.of_first(lambda: config) != config:
        raise UserError("its config is not that of the first process; start all with the same command")
    processes.wait()


def agree_on_start(experiment: Experiment, resume: bool, processes: Processes) -> Path | None:
    """Return the `starting_checkpoint` that the first process finds, in all processes."""
    name = processes.of_first(lambda: str(starting_checkpoint(experiment, resume) or ""))
    return Path(name) if name else None


def starting_checkpoint(experiment: Experiment, resume: bool) -> Path | None:
    """Return the checkpoint to go on from; None if the run is new or has saved nothing.

    UserError if the folder holds a run and `resume` is false, or the checkpoint is of another learner or seed.
    """
    folder = experiment.run.folder
    if not resume and (folder / CONFIG_FILE).exists():
        raise UserError(f"{folder} holds a run; add --resume to go on with it, or give another run.name=...")
    if not (resume and checkpoints.newest_checkpoint(folder)):
        return None
    checkpoint = checkpoints.find_checkpoint(folder, set_aside=True)
    check_same_training(experiment, checkpoint)
    return checkpoint


def check_same_training(experiment: Experiment, checkpoint: Path) -> None:
    """Refuse a checkpoint of another learner or seed; print every other setting that differs from the checkpoint's."""
    saved, _ = checkpoints.read_checkpoint(checkpoint)
    if saved.learner != experiment.learner:
        raise UserError(
            f"{checkpoint} was made by the learner '{saved.learner}', the config asks for"
            f" '{experiment.learner}'; give another run.name=..."
        )
    if saved.run.seed != experiment.run.seed:
        raise UserError(
            f"{checkpoint} was trained with run.seed = {saved.run.seed}, which a resumed run keeps; leave out"
            f" run.seed = {experiment.run.seed} or give another run.name=..."
        )
    for change in changes(saved, experiment):
        print(f"resuming with {change}")


def begin_with_network(experiment: Experiment, learner: Learner) -> None:
    """Let a new learner begin with the network that `run.begin_from` names: a run, a checkpoint or a file."""
    name, path = experiment.learner, Path(experiment.run.begin_from)
    spec = registry.spec_of(name)
    if not spec.begin_from:
        raise UserError(f"the learner '{name}' cannot begin with a stored network; leave out run.begin_from")
    config: LearnerConfig | None = None
    if path.suffix not in spec.network_files:
        path = checkpoints.find_checkpoint(path)
        saved, _ = checkpoints.read_checkpoint(path)
        if saved.learner != name:
            raise UserError(f"run.begin_from = {path} was trained by '{saved.learner}'; give a network of '{name}'")
        config = saved.settings
    registry.begin_from(name, learner, path, config)


def final_evaluation(experiment: Experiment) -> Evaluation:
    """Return the games of the evaluation that ends a run: more of them, under another seed."""
    return Evaluation(experiment.run.final_games, final_evaluation_seed(experiment.run.seed))


def own_search(experiment: Experiment) -> SearchChoice:
    """Return the search that the learner's own player plays with, in training and after it."""
    return resolve(experiment, SearchOptions(), experiment.run.folder)


def is_finished(experiment: Experiment, checkpoint: Path) -> bool:
    """Return whether the checkpoint has spent the budget and the final evaluation of the run exists."""
    env_steps = int(checkpoint.name)
    search = own_search(experiment)
    result = final_evaluation(experiment).file(experiment.run.folder, env_steps, search.name)
    return env_steps >= experiment.settings.env_steps and result.exists()


def refuse_changes(experiment: Experiment, checkpoint: Path) -> None:
    """Refuse changed settings of the learner, which a finished run would ignore; UserError names them."""
    saved, _ = checkpoints.read_checkpoint(checkpoint)
    learner = experiment.learner
    unused = [
        change
        for change in changes(saved, experiment)
        if change.startswith(f"{learner}.") and change.partition(":")[0].partition(".")[2] not in BUDGET
    ]
    if unused:
        raise UserError(
            f"{experiment.run.folder} is finished and takes no other settings ({', '.join(unused)}); leave them out,"
            f" give another run.name=..., or a larger {learner}.env_steps to train on"
        )
