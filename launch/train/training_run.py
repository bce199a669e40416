"""One training with its run folder: the steps that the loop (launch/train/loop.py) makes in turn."""

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType

from launch.errors import DivergedError, UserError, warn
from launch.evaluation.boards.notation import game_of
from launch.evaluation.loading import LoadedPlayer
from launch.evaluation.result import Evaluation, prepare_folder, report
from launch.evaluation.seeds import training_evaluation_seed
from launch.evaluation.summary import summarize, value_metrics
from launch.experiment import checkpoints, registry
from launch.experiment.checkpoints import State
from launch.experiment.experiment import CONFIG_FILE, Experiment
from launch.experiment.interfaces import Learner
from launch.experiment.machine_info import project_version, record_environment
from launch.experiment.metrics import Row
from launch.experiment.metrics_file import MetricsFile, drop_rows_after
from launch.experiment.processes import Processes
from launch.files import write_json, write_text
from launch.memory import check_memory
from launch.signals import StopSignals
from launch.train.game_picture import draw_game_of, picture_file
from launch.train.progress import ProgressDisplay
from launch.train.resume import begin_with_network, final_evaluation, own_search
from launch.train.wandb_sink import WandbSink
from ntuple.core.interfaces import Games, Watch


class TrainingRun(AbstractContextManager["TrainingRun"]):
    """One learner in training, with its run folder, its metrics and its clock."""

    def __init__(self, experiment: Experiment, checkpoint: Path | None, processes: Processes) -> None:
        """Start at the checkpoint, or at the beginning if it is None."""
        self._experiment = experiment
        self._processes = processes
        self._folder = experiment.run.folder
        if experiment.run.profile and not registry.spec_of(experiment.learner).uses_jax:
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
            begin_with_network(experiment, self._learner)
        self._snapshot_env_steps = self.env_steps
        self._outputs = self._open_outputs(memory) if processes.is_first else None
        name, total = experiment.run.name, self._learner.env_steps_total
        self._display = ProgressDisplay(name, total, self.env_steps, is_shown=processes.is_first)
        self._saved_at = time.monotonic()

    def _open_outputs(self, memory: str) -> tuple[MetricsFile, WandbSink]:
        experiment, folder = self._experiment, self._folder
        # Not earlier: settings that do not fit the learner or its checkpoint must not stay in the folder.
        write_text(folder / CONFIG_FILE, experiment.to_yaml())
        # A killed run may have written the row of an evaluation after its last checkpoint was saved.
        is_noted = self._evaluated_env_steps == self.env_steps
        evaluate_again = self._evaluation_is_due or (self.done and not is_noted)
        drop_rows_after(folder, self.env_steps, evaluate_again)
        record_environment(folder, self._wall_hours)
        outputs = MetricsFile(folder), WandbSink(folder, experiment)
        done = f"{self.env_steps:,} of {self._learner.env_steps_total:,} moves done"
        print(f"training {experiment.learner} in {folder}: {done}\n{memory}", flush=True)
        return outputs

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._experiment.run.profile and self._reports == 1 and self._processes.is_first:
            warn("run.profile records the second report, and there was one alone; lower the report_env_steps")
        self._display.close()
        if self._outputs:
            metrics, wandb = self._outputs
            metrics.close()
            wandb.finish(exit_code=0 if error is None else 1)

    @property
    def env_steps(self) -> int:
        """Moves trained so far."""
        return self._learner.progress["env_steps"]

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.env_steps >= self._learner.env_steps_total

    def advance(self, stop: StopSignals) -> None:
        """Train until the next report or a signal, and record the metrics; DivergedError if one is not finite."""
        self._reports += 1
        # The second report, because the first compiles. Of several processes the first records.
        is_recorded = self._experiment.run.profile and self._reports == 2 and self._processes.is_first
        before = self.env_steps

        def tick(moves: int) -> bool:
            self._display.moved(before + moves)
            # Several processes stop together, at the end of a report.
            return stop.requested and self._processes.is_alone

        self._display.begin()
        began = time.perf_counter()
        with _trace(self._folder / "profile") if is_recorded else nullcontext():
            values = self._learner.advance(tick)
        self._wall_hours += (time.perf_counter() - began) / 3600
        self._check_finite(values)
        self._display.update(self._record(values))

    def evaluate_if_due(self, stop: StopSignals) -> None:
        """Evaluate if the last report passed a multiple of `evaluate_env_steps` and training is not done.

        A signal ends the playing at once. It cannot come between the row of an evaluation and the note that it was
        made: after a resume an evaluation is neither lost nor played twice.
        """
        if not self._evaluation_is_due:
            return
        run = self._experiment.run
        played = self._play(Evaluation(run.evaluation_games, training_evaluation_seed(run.seed)), stop)
        if played is not None:
            self._display.update(self._record(_evaluation_metrics(*played)))
        if self._processes.of_first(lambda: played is not None):
            self._evaluated_env_steps = self.env_steps

    @property
    def _evaluation_is_due(self) -> bool:
        every = self._experiment.run.evaluate_env_steps
        return (
            every > 0
            and not self.done
            and not self._learner.within_report
            and self.env_steps // every > self._evaluated_env_steps // every
        )

    def evaluate_finally(self, stop: StopSignals) -> None:
        """Play the final evaluation if training is done; print its result and keep it in the run folder."""
        if not self.done or not self._processes.is_first:
            return
        prepare_folder(self._folder)
        evaluation = final_evaluation(self._experiment)
        played = self._play(evaluation, stop)
        self._display.close()
        if played is not None:
            search = own_search(self._experiment)
            result = report(played[0], self._experiment, self._state(), evaluation, search)
            # The row comes first: the file means that the run is finished.
            self._record(_evaluation_metrics(*played))
            write_json(evaluation.file(self._folder, self.env_steps, search.name), result)

    def save_is_due(self) -> bool:
        """Return whether `save_minutes` have passed since the last checkpoint, by the clock of the first process."""
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
        """Return what is lost if the process ends now, as words of a sentence."""
        if self._checkpoint is None:
            return f"nothing of {self._folder} was saved, so its training is lost"
        return f"the training after {self._checkpoint} is lost; the same command with --resume goes on from there"

    def _to_save(self) -> tuple[Learner, Experiment, State, Processes]:
        return self._learner, self._experiment, self._state(), self._processes

    def _play(self, evaluation: Evaluation, stop: StopSignals) -> tuple[Games, Row] | None:
        """Play in the first process; None in the others, or if a signal ended the playing."""
        if not self._processes.is_first:
            return None
        probes = self._experiment.run.probe_games
        try:
            with self._display.evaluating(evaluation.games) as watch:
                played = stop.interruptible(lambda: _play_with_probes(self._learner, evaluation, probes, watch))
        except ValueError as error:  # the network's values are NaN
            raise DivergedError(f"evaluation stopped at env_steps {self.env_steps}: {error}") from error
        if played is not None and self._experiment.run.picture:
            stop.interruptible(lambda: self._draw(evaluation.seed))
        return played

    def _draw(self, seed: int) -> None:
        settings, file = self._experiment.settings, picture_file(self._folder, self.env_steps)
        player = LoadedPlayer(self._learner.player(), "", settings.rows, settings.columns, game_of(settings))
        draw_game_of(player, seed, file)

    def _check_finite(self, values: Row) -> None:
        saved = f"the last good checkpoint is {self._checkpoint}" if self._checkpoint else "nothing was saved yet"
        for name, value in values.items():
            if not math.isfinite(value):
                raise DivergedError(f"training stopped: {name} is {value} at env_steps {self.env_steps}; {saved}")

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
        if self._outputs:
            metrics, wandb = self._outputs
            metrics.append(row)
            wandb.log(row)
        return row


@contextmanager
def _trace(folder: Path) -> Iterator[None]:
    """Record a trace of JAX in the `with` block into the folder, and print the path of the trace."""
    import jax

    with jax.profiler.trace(folder):
        yield
    trace = max(folder.rglob("*.trace.json.gz"), key=lambda file: file.stat().st_mtime)
    print(f"profile of one report: {trace} for ui.perfetto.dev, or tensorboard --logdir {folder}", flush=True)


def _play_with_probes(learner: Learner, evaluation: Evaluation, probe_games: int, watch: Watch) -> tuple[Games, Row]:
    """Play an evaluation and the learner's probes with the current weights, and diagnose the learned model.

    Probes play `probe_games` games under the same seed; 0: none. Returns the games of the evaluation, and the metrics
    of the probes and of the diagnosis.
    """
    games = learner.player().play(evaluation.games, evaluation.seed, watch)
    probes = dict(learner.diagnose())
    if probe_games:
        for name, player in learner.probes().items():
            probes |= _probe_metrics(name, player.play(probe_games, evaluation.seed), games)
    return games, probes


def _evaluation_metrics(games: Games, probes: Row) -> Row:
    """Return the row of an evaluation: the metrics eval/*, and those of its probes."""
    return {**summarize(games).metrics(), **value_metrics(games), **probes}


def _probe_metrics(name: str, probe: Games, games: Games) -> dict[str, float]:
    """Return the metrics probe/<name>_* of a probe's games.

    gap = mean score of the probe - mean score of the evaluation
    """
    summary = summarize(probe)
    scalars = {
        "score_mean": summary.score_mean,
        "score_low": summary.score_low,
        "score_high": summary.score_high,
        "gap": summary.score_mean - float(games.score.mean()),
    }
    return {f"probe/{name}_{metric}": value for metric, value in scalars.items()}
