"""`muzero2048 tune`: trainings that look for good values of keys, each a trial of a study (launch/tune/study.py)."""

import shlex
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from optuna.trial import FrozenTrial, TrialState

from launch.errors import LaunchError, UserError, warn
from launch.experiment.experiment import Experiment, load_experiment
from launch.experiment.metrics_file import last_value, read_last_rows
from launch.experiment.plain_values import flat
from launch.files import check_new_file
from launch.jobs import slurm
from launch.jobs.cluster import LOCAL, ClusterConfig, load_cluster, resources
from launch.jobs.detached import detach
from launch.jobs.local import FAILED, make_slots
from launch.jobs.plan import SEED, GridRequest, PlannedRun, check_fits, for_trainings, plan_runs
from launch.jobs.submit import check_writable
from launch.output import console, print_json
from launch.signals import STOPPED
from launch.tables import Column, fields, grid
from launch.tune.engines import Engine, Outcome, open_engine
from launch.tune.request import TuneRequest
from launch.tune.space import Space, Value, parse_space
from launch.tune.study import POINTS, RUN, SCORE, Study, busy, file_of, is_busy, locked, read_points
from launch.tune.sweep import write_sweep

PlanTrial = Callable[[dict[str, Value]], PlannedRun]  # the run of a trial's values; UserError: they are not valid

READ_SECONDS = 2.0  # between two readings of the metrics of trials in training
STATES = {
    TrialState.COMPLETE: "finished", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed",
    TrialState.RUNNING: "not over",
}  # fmt: skip


def tune(
    request: TuneRequest, on: str, *, dry_run: bool, in_background: bool, as_json: bool, wandb_sweep: Path | None
) -> int:
    """Bring a study to its number of trials; return the exit code: 0, 1 if no trial has a score, 75 if stopped.

    The same command again goes on: trials that were stopped are trained on, all others are kept. With `wandb_sweep`
    nothing is trained: this file of a sweep is written.
    """
    tuning = Tuning(request)
    if wandb_sweep:
        check_new_file(wandb_sweep, "--wandb-sweep")
        write_sweep(wandb_sweep, request, tuning.space, tuning.base)
        return 0
    cluster = load_cluster(on)
    if cluster.at_once == 0:
        raise UserError(f"--on {on}: at_once is 0, and tune needs the number of trials at once; give 1 or more")
    cluster = for_trainings(cluster, tuning.corners)
    check_fits(tuning.corners, cluster)
    check_writable(tuning.runs_folder)
    if cluster.engine == LOCAL:
        make_slots(cluster)  # refuses too many cores or GPUs
    else:
        slurm.check_folder(tuning.runs_folder)
    if dry_run or in_background:
        tuning.explain(cluster)
    if dry_run:
        return 0
    if in_background:
        if is_busy(tuning.file):
            raise busy(tuning.file)
        return detach(request.group, tuning.runs_folder, lambda: is_busy(tuning.file))
    with locked(tuning.file):
        study = tuning.open()
        with open_engine(cluster, request.group, tuning.runs_folder) as engine:
            is_over = tuning.do(study, engine, cluster.at_once)
    tuning.print_result(study.trials(), as_json)
    if not is_over:
        return STOPPED
    return 0 if any(trial.state is TrialState.COMPLETE for trial in study.trials()) else FAILED


class Tuning:
    """One `tune`: its space, and the plan of its trials."""

    def __init__(self, request: TuneRequest) -> None:
        """Check the words; UserError if a key, or an end of a range, is not valid."""
        self._request = request
        space = parse_space(request.words)
        self.base: Experiment = load_experiment(request.config, space.fixed)
        self.space: Space = space.typed(self.base.plain())
        self.corners = [self._plan(values) for values in self.space.corners()]  # refuses values out of range
        budget = f"{self.base.learner}.env_steps"
        if axis := self.space.axes.get(budget):
            raise UserError(f"{budget}={axis}: trials are compared at equal parts of one budget; give one value")
        self.runs_folder = Path(self.base.run.runs_folder)
        self.file = file_of(self.runs_folder, request.group)

    def open(self) -> Study:
        """Open the study."""
        return Study(self.file, self.space, flat(self.base.plain()), self._request.sampling)

    def explain(self, cluster: ClusterConfig) -> None:
        """Print what would be searched."""
        console().print(grid(self.space.axes.items(), fields("key", "values"), (0, 1)))
        known = len(self.open().trials()) if self.file.is_file() else 0
        gets = resources(cluster)
        print(
            f"{self._request.trials} trials of {self.base.settings.env_steps:,} moves, {known} of them known;"
            f" {cluster.at_once} at once{f', each {gets}' if gets else ''}; {self.file}"
        )

    def do(self, study: Study, engine: Engine, at_once: int) -> bool:
        """Train trials until there are enough; return False if they were stopped before."""
        return _Loop(self._plan, study, engine).do(self._request.trials, at_once)

    def print_result(self, trials: Sequence[FrozenTrial], as_json: bool) -> None:
        """Print the trials, the best first, and how to train the best one again."""
        ranked = sorted(trials, key=lambda trial: (trial.state is not TrialState.COMPLETE, -(trial.value or 0)))
        if as_json:
            print_json([self._plain(trial) for trial in ranked])
            return
        columns = [
            Column("trial", lambda trial: trial.number, lambda trial: str(trial.number)),
            Column("state", lambda trial: trial.state, lambda trial: STATES[trial.state]),
            Column("score", lambda trial: trial.value, _score),
            *(self._key_column(key) for key in self.space.axes),
        ]
        console().print(grid(ranked, columns, (1,)))
        if ranked and ranked[0].state is TrialState.COMPLETE:
            words = [word for word in self.space.words(ranked[0].params) if not word.startswith(f"{SEED}=")]
            seed = max(corner.experiment.run.seed for corner in self.corners)  # the largest that a trial may have
            print(
                f"the best of {len(ranked)} trials, so its score is biased upwards; with other seeds:\n"
                f"muzero2048 submit {shlex.join([str(self._request.config), *words])} --seeds {seed + 1}-{seed + 3}"
            )

    def _plan(self, values: dict[str, Value]) -> PlannedRun:
        """Return the run of a trial; UserError if its values are not valid together."""
        request = GridRequest(
            configs=(self._request.config,),
            overrides=self.space.words(values),
            group=self._request.group,
            varied=frozenset(self.space.axes),
        )
        (run,) = plan_runs(request)
        return run

    def _plain(self, trial: FrozenTrial) -> dict[str, object]:
        values = {key: self._text(trial, key) for key in self.space.axes}
        score = trial.value if trial.state is TrialState.COMPLETE else None
        run = trial.user_attrs.get(RUN)
        return {"trial": trial.number, "state": STATES[trial.state], "score": score, "run": run, "values": values}

    def _key_column(self, key: str) -> Column:
        return Column(key, lambda trial: trial.params.get(key), lambda trial: self._text(trial, key))

    def _text(self, trial: FrozenTrial, key: str) -> str:
        """Return a value of a trial; "" if the process was killed before it was chosen."""
        return self.space.axes[key].text(trial.params[key]) if key in trial.params else ""


class _Loop:
    def __init__(self, plan: PlanTrial, study: Study, engine: Engine) -> None:
        self._plan, self._study, self._engine = plan, study, engine
        self._runs: dict[str, PlannedRun] = {}  # in training, by name
        self._numbers: dict[str, list[int]] = defaultdict(list)  # trials of each: the same values may come twice
        self._pruned: set[str] = set()
        self._read = 0.0  # when the metrics were read last

    def do(self, trials: int, at_once: int) -> bool:
        """See `Tuning.do`."""
        unfinished = [trial for trial in self._study.trials() if trial.state is TrialState.RUNNING]
        is_stopped = False
        while not self._engine.is_interrupted:
            is_stopped = is_stopped or not all(map(self._is_wanted, self._runs.values()))
            while not is_stopped and sum(map(len, self._numbers.values())) < at_once:
                if unfinished:
                    self._begin(unfinished.pop(0))
                elif len(self._study.trials()) < trials:
                    self._begin(self._study.ask())
                else:
                    break
            if not self._runs:
                return not is_stopped
            self._engine.look()
            self._prune()
            for run in list(self._runs.values()):
                if outcome := self._engine.outcome(run):
                    is_stopped |= not self._end(run, outcome)
        return False

    def _begin(self, trial: FrozenTrial) -> None:
        """Train a trial, or take what an earlier one with the same values has."""
        try:
            run = self._plan(dict(trial.params))
        except (KeyError, LaunchError) as error:  # killed while the values were chosen; or they exclude each other
            warn(f"trial {trial.number} has failed: {error}")
            self._study.tell(trial.number, TrialState.FAIL)
            return
        self._study.name_run(trial.number, run.name)
        same = [other for other in self._study.trials() if other.user_attrs.get(RUN) == run.name]
        over = next((other for other in same if other.state.is_finished()), None)
        if over is not None:
            print(f"trial {trial.number}: the same values as trial {over.number}", flush=True)
            self._tell(trial.number, over.state, over.value if over.state is TrialState.COMPLETE else None)
            return
        self._numbers[run.name].append(trial.number)
        if run.name not in self._runs:
            self._runs[run.name] = run
            print(f"trial {trial.number}: {run.name}", flush=True)
            self._engine.start(run)

    def _is_wanted(self, run: PlannedRun) -> bool:
        return run.name in self._pruned or self._engine.is_wanted(run)

    def _prune(self) -> None:
        """Cancel the runs that are to be pruned."""
        if (now := time.monotonic()) - self._read < READ_SECONDS:
            return
        self._read = now
        for run in self._runs.values():
            if run.name not in self._pruned and self._report(run):
                self._pruned.add(run.name)
                self._engine.cancel(run)

    def _report(self, run: PlannedRun) -> bool:
        """Note the points of a run; return whether it is to be pruned."""
        try:
            points = read_points(run.folder, run.experiment.settings.env_steps)
        except LaunchError:  # its metrics are damaged: its end decides
            return False
        to_prune = [self._study.report(number, points) for number in self._numbers[run.name]]
        return any(to_prune)

    def _end(self, run: PlannedRun, outcome: Outcome) -> bool:
        """Note how the trials of a run ended; return False if the user stopped it, so that it is not over."""
        is_pruned = run.name in self._pruned
        self._report(run)  # the points since the last reading
        del self._runs[run.name]
        self._pruned.discard(run.name)
        numbers = self._numbers.pop(run.name)
        if outcome == "stopped" and not is_pruned:
            return False
        score = None
        if outcome == "finished":
            try:
                score = last_value(read_last_rows(run.folder), SCORE)
            except LaunchError as error:
                warn(f"{run.name} has no score: {error}")
        state = TrialState.PRUNED if outcome == "stopped" else TrialState.FAIL
        for number in numbers:
            self._tell(number, state if score is None else TrialState.COMPLETE, score)
        return True

    def _tell(self, number: int, state: TrialState, score: float | None) -> None:
        self._study.tell(number, state, score)
        print(f"trial {number}: {STATES[state] if score is None else f'{score:,.0f}'}", flush=True)


def _score(trial: FrozenTrial) -> str:
    """Return the score of a finished trial, of a pruned one the part of the budget that it reached."""
    if trial.state is TrialState.COMPLETE:
        return f"{trial.value:,.0f}"
    return f"after {100 * trial.last_step // POINTS}%" if trial.state is TrialState.PRUNED and trial.last_step else ""
