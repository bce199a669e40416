"""The one loop that trains either learner.

Order: advance, metrics, evaluation, checkpoint. A stop ends a report within seconds: it has a row at the move where it
ended, is saved there, and a resumed run trains the rest of it. A resumed run takes the newest good checkpoint, cuts
metrics.jsonl back to it, makes up an evaluation that a signal cut off, and goes on; with one thread or one
device its rows (all but times and speeds) and its weights equal those of a run that was never stopped.

Of several processes all train and save. The first alone keeps the folder, evaluates, and decides by its clock.
"""

import math
import re
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from launch.config.experiment import CONFIG_FILE, Experiment, changes, load_experiment, warn_without_effect
from launch.errors import DivergedError, UserError, warn
from launch.evaluation.result import Evaluation, prepare_folder, report, save_result
from launch.evaluation.search_options import Options, Search, resolve
from launch.evaluation.seeds import final_evaluation_seed, training_evaluation_seed
from launch.evaluation.summary import probe_metrics, summarize
from launch.files import write_text
from launch.learners import registry
from launch.learners.interfaces import Learner
from launch.run import checkpoints, tracking
from launch.run.checkpoints import State
from launch.run.environment import project_version, record_environment
from launch.run.journal import Journal, WrittenJournal
from launch.run.memory import check_memory
from launch.run.metrics import Row
from launch.run.processes import Processes, join
from launch.run.profile import recording
from launch.run.signals import STOPPED, StopSignals
from ntuple.game.interfaces import Games

BUDGET = ("env_steps", "report_env_steps")  # keys of a learner that change nothing of what it has learned


def train(config: Path, overrides: Sequence[str], resume: bool) -> int:
    """Train, save and evaluate one experiment.

    Args:
        config: a YAML file, or the folder of a run, wherever it was moved to.
        overrides: "key=value", which win over the file.
        resume: go on from the newest good checkpoint, or start if there is none.

    Returns:
        The exit code: 0 done, 75 stopped by a signal after saving.

    Raises:
        UserError: a mistake in the config, the folder or the checkpoint.
        DivergedError: a metric became NaN or infinite.
    """
    experiment = load_experiment(config, overrides)
    warn_without_effect(experiment)
    if is_run_folder(config):
        experiment = in_folder(experiment, config, overrides)
    processes = join(experiment.learner)
    # StopSignals first: a signal that the others pass on at the very end finds its handler too.
    with StopSignals(lost="nothing was trained yet") as stop, processes:
        processes.watch(stop)
        try:
            return _train(experiment, resume, processes, stop)
        except RuntimeError as error:
            if not re.search("RESOURCE_EXHAUSTED.*(memory|allocat)", str(error)):  # JAX, of a program that does not fit
                raise
            keys = registry.entry(experiment.learner).memory_keys
            reason = str(error).partition("\n")[0]
            raise UserError(
                f"{experiment.run.name} takes more memory than there is ({reason}); lower {keys}"
            ) from error


def _train(experiment: Experiment, resume: bool, processes: Processes, stop: StopSignals) -> int:
    checkpoint = _agree_on_start(experiment, resume, processes)
    if checkpoint and processes.of_first(lambda: is_finished(experiment, checkpoint)):
        refuse_changes(experiment, checkpoint)
        if processes.is_first:
            print(f"{experiment.run.folder} is finished; to train on, give a larger {experiment.learner}.env_steps")
        return 0
    with TrainingRun(experiment, checkpoint, processes) as run:
        stop.explain_loss(run.what_is_lost)
        run.evaluate_if_due(stop)
        stopping = processes.anyone(stop.requested)
        while not run.done and not stopping:
            run.advance(stop)
            run.snapshot_if_due()
            run.evaluate_if_due(stop)
            stopping = processes.anyone(stop.requested)
            if run.done or stopping or run.save_is_due():
                run.save()
        run.evaluate_finally(stop)
    if not processes.anyone(stop.requested):
        return 0
    if processes.is_first:
        print(f"stopped at {run.env_steps:,} moves; the same command with --resume goes on")
    return STOPPED


class TrainingRun:
    """One learner in training, with its run folder, its metrics and its clock."""

    def __init__(self, experiment: Experiment, checkpoint: Path | None, processes: Processes) -> None:
        """Start at the checkpoint, or at the beginning if there is none."""
        self._experiment = experiment
        self._processes = processes
        self._folder = experiment.run.folder
        if experiment.run.profile and not registry.entry(experiment.learner).uses_jax:
            raise UserError(
                f"run.profile records what JAX does, and '{experiment.learner}' learns without: leave it out"
            )
        memory = check_memory(experiment)
        self._learner = registry.make_learner(experiment.learner, experiment.settings, experiment.run.seed)
        self._wall_hours = 0.0
        self._reports = 0  # of this process
        self._evaluated_env_steps = 0
        self._checkpoint = checkpoint
        if checkpoint:
            self._restore(checkpoint)
        elif experiment.run.begin_from:
            self._begin_from(Path(experiment.run.begin_from))
        self._snapshot_env_steps = self.env_steps
        self._journal = self._open_journal(memory) if processes.is_first else Journal()
        self._saved_at = time.monotonic()

    def _open_journal(self, memory: str) -> Journal:
        experiment, folder = self._experiment, self._folder
        write_config(experiment)  # not before: settings that do not fit the learner or its checkpoint must not stay
        # What the checkpoint does not know of is made up: a kill may have kept its row alone.
        evaluate_again = self._evaluated_env_steps < self.env_steps
        tracking.drop_rows_after(folder, self.env_steps, evaluate_again)
        record_environment(folder)
        return WrittenJournal(experiment, self._learner.env_steps_total, self.env_steps, memory)

    def __enter__(self) -> "TrainingRun":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._experiment.run.profile and self._reports == 1 and self._processes.is_first:
            warn("run.profile records the second report, and there was one alone; lower the report_env_steps")
        self._journal.close(exit_code=0 if error is None else 1)

    @property
    def env_steps(self) -> int:
        """Moves trained so far."""
        return self._learner.progress["env_steps"]

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.env_steps >= self._learner.env_steps_total

    def advance(self, stop: StopSignals) -> None:
        """Train until the next report or a signal, and record what came of it; DivergedError if it is not finite."""
        self._reports += 1
        # The first report compiles. Of several processes the first records.
        is_recorded = self._experiment.run.profile and self._reports == 2 and self._processes.is_first
        before = self.env_steps

        def tick(moves: int) -> bool:
            self._journal.moved(before + moves)
            return stop.requested and self._processes.is_alone  # several end a report together, at its end

        self._journal.begin()
        began = time.perf_counter()
        with recording(self._folder / "profile") if is_recorded else nullcontext():
            values = self._learner.advance(tick)
        self._wall_hours += (time.perf_counter() - began) / 3600
        self._check_finite(values)
        self._journal.show(self._record(values))

    def evaluate_if_due(self, stop: StopSignals) -> None:
        """Evaluate after a report that passed a multiple of `evaluate_env_steps`; `evaluate_finally` does at the end.

        A signal ends the playing at once, and nothing else: a row and the note of it belong together.
        """
        every = self._experiment.run.evaluate_env_steps
        if (
            not every
            or self.done
            or self._learner.within_report
            or self.env_steps // every == self._evaluated_env_steps // every
        ):
            return
        run = self._experiment.run
        evaluation = Evaluation(run.evaluation_games, training_evaluation_seed(run.seed))
        played = self._play(evaluation, stop)
        if played is not None:
            games, probes = played
            self._journal.show(self._record({**summarize(games).metrics(), **probes}))
        if self._processes.of_first(lambda: played is not None):
            self._evaluated_env_steps = self.env_steps

    def evaluate_finally(self, stop: StopSignals) -> None:
        """Evaluate at the end of training, with more games and a seed of its own, and print the block."""
        if not self.done or not self._processes.is_first:
            return
        prepare_folder(self._folder)
        evaluation = final_evaluation(self._experiment)
        played = self._play(evaluation, stop)
        self._journal.end_display()
        if played is not None:
            games, probes = played
            search = own_search(self._experiment)
            summary, record = report(games, self._experiment, self._state(), evaluation, search)
            self._record({**summary.metrics(), **probes})  # first: the file says that the run is finished
            save_result(record, evaluation.file(self._folder, self.env_steps, search.name))

    def save_is_due(self) -> bool:
        """Whether `save_minutes` have passed since the last checkpoint, by the clock of the first process."""
        minutes = self._experiment.run.save_minutes
        return self._processes.of_first(lambda: minutes > 0 and time.monotonic() - self._saved_at >= 60 * minutes)

    def snapshot_if_due(self) -> None:
        """Write a snapshot if a multiple of `snapshot_env_steps` was passed."""
        every, before = self._experiment.run.snapshot_env_steps, self._snapshot_env_steps
        self._snapshot_env_steps = self.env_steps
        if every and self.env_steps // every > before // every:
            checkpoints.save_snapshot(self._folder, *self._to_save())

    def save(self) -> None:
        """Write a checkpoint."""
        self._checkpoint = checkpoints.save_checkpoint(self._folder, *self._to_save())
        self._saved_at = time.monotonic()

    def what_is_lost(self) -> str:
        """What a process that ends at once loses, as words of a sentence."""
        if self._checkpoint is None:
            return f"nothing of {self._folder} was saved, so its training is lost"
        return f"the training after {self._checkpoint} is lost; the same command with --resume goes on from there"

    def _to_save(self) -> tuple[Learner, Experiment, State, Processes]:
        return self._learner, self._experiment, self._state(), self._processes

    def _play(self, evaluation: Evaluation, stop: StopSignals) -> tuple[Games, Row] | None:
        """What an evaluation finds, of the first process; None if a signal ended it."""
        if not self._processes.is_first:
            return None
        try:
            with self._journal.evaluating(evaluation.games):
                return stop.interruptible(lambda: self._play_whole(evaluation))
        except ValueError as error:  # values that are no numbers
            raise DivergedError(f"evaluation stopped at env_steps {self.env_steps}: {error}") from error

    def _play_whole(self, evaluation: Evaluation) -> tuple[Games, Row]:
        """The games of an evaluation, and the metrics of the probes, which play under the same seed."""
        games = self._learner.player().play(evaluation.games, evaluation.seed)
        probes: dict[str, float] = {}
        num_games = self._experiment.run.probe_games
        if num_games:
            for name, player in self._learner.probes().items():
                probes |= probe_metrics(name, player.play(num_games, evaluation.seed), games)
        return games, probes

    def _check_finite(self, values: Row) -> None:
        kept = f"the last good checkpoint is {self._checkpoint}" if self._checkpoint else "nothing was saved yet"
        for name, value in values.items():
            if not math.isfinite(value):
                raise DivergedError(f"training stopped: {name} is {value} at env_steps {self.env_steps}; {kept}")

    def _restore(self, checkpoint: Path) -> None:
        _, state = checkpoints.read_checkpoint(checkpoint)
        try:
            self._learner.restore(checkpoint)
        except ValueError as error:
            raise UserError(f"{checkpoint}: {error}") from error
        self._wall_hours = state.wall_hours
        self._evaluated_env_steps = state.evaluated_env_steps
        if self._processes.is_first:
            print(f"resumed from {checkpoint}", flush=True)

    def _begin_from(self, path: Path) -> None:
        name = self._experiment.learner
        if name != "ntuple":
            raise UserError(f"run.begin_from is for n-tuple networks; leave it out for the learner '{name}'")
        from launch.commands.networks import begin_from  # other learners do without its numba

        begin_from(path, cast(Any, self._learner))

    def _state(self) -> State:
        return State(
            learner=self._experiment.learner,
            progress=self._learner.progress,
            wall_hours=self._wall_hours,
            evaluated_env_steps=self._evaluated_env_steps,
            version=project_version(),
        )

    def _record(self, values: Row) -> Row:
        row = {**self._learner.progress, "wall_hours": self._wall_hours, **values}
        self._journal.record(row)
        return row


def _agree_on_start(experiment: Experiment, resume: bool, processes: Processes) -> Path | None:
    """`starting_checkpoint`, found by the first process for all; UserError if they do not train the same."""
    config = experiment.to_yaml()
    if processes.of_first(lambda: config) != config:
        raise UserError("its config is not that of the first process; start all with the same command")
    name = processes.of_first(lambda: str(starting_checkpoint(experiment, resume) or ""))
    return Path(name) if name else None


def starting_checkpoint(experiment: Experiment, resume: bool) -> Path | None:
    """Find where a run begins.

    Returns:
        The checkpoint to go on from, if the run is resumed and has one.

    Raises:
        UserError: the folder holds a run that is not to be resumed, or a checkpoint of another learner.
    """
    folder = experiment.run.folder
    if not resume and (folder / CONFIG_FILE).exists():
        raise UserError(f"{folder} holds a run; add --resume to go on with it, or give another run.name=...")
    if not (resume and checkpoints.has_checkpoints(folder)):
        return None
    checkpoint = checkpoints.find_checkpoint(folder, set_aside=True)
    check_same_learner(experiment, checkpoint)
    return checkpoint


def write_config(experiment: Experiment) -> None:
    """Write config.yaml into the run's folder, made if it is not there; UserError if that is not possible."""
    folder = experiment.run.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / CONFIG_FILE, experiment.to_yaml())
    except OSError as error:
        raise UserError(
            f"cannot write the run folder {folder}: {error.strerror}; give another run.runs_folder=..."
        ) from error


def is_run_folder(path: Path) -> bool:
    """Whether a config argument is a run, not a YAML file or one of a run's checkpoints."""
    return path.is_dir() and not (path / checkpoints.MANIFEST_FILE).exists()


def in_folder(experiment: Experiment, folder: Path, overrides: Sequence[str]) -> Experiment:
    """The experiment with the given folder for its run folder, except for what the overrides name."""
    place = folder if folder.name not in ("", "..") else folder.resolve()
    named = {override.partition("=")[0] for override in overrides}
    runs_folder = experiment.run.runs_folder if "run.runs_folder" in named else str(place.parent)
    name = experiment.run.name if "run.name" in named else place.name
    try:
        return replace(experiment, run=replace(experiment.run, runs_folder=runs_folder, name=name))
    except ValueError as error:
        raise UserError(f"{folder}: {error}; rename the folder") from error


def check_same_learner(experiment: Experiment, checkpoint: Path) -> None:
    """Refuse another learner's checkpoint; print what else differs between its experiment and this one."""
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


def refuse_changes(experiment: Experiment, checkpoint: Path) -> None:
    """Refuse settings of the learner that a finished run would not use; UserError names them."""
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


def final_evaluation(experiment: Experiment) -> Evaluation:
    """The evaluation that ends a run."""
    return Evaluation(experiment.run.final_games, final_evaluation_seed(experiment.run.seed))


def own_search(experiment: Experiment) -> Search:
    """The search that the learner's own player plays with, in training and after it."""
    return resolve(experiment, Options(), experiment.run.folder)


def is_finished(experiment: Experiment, checkpoint: Path) -> bool:
    """Whether the budget is spent at the checkpoint and its last evaluation is there.

    A run that ended before evaluation seeds depended on `run.seed` plays its last evaluation once more.
    """
    env_steps = int(checkpoint.name)
    search = own_search(experiment)
    result = final_evaluation(experiment).file(experiment.run.folder, env_steps, search.name)
    return env_steps >= experiment.settings.env_steps and result.exists()
