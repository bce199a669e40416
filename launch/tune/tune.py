"""`muzero2048 tune`: trainings that look for good values of keys, each a trial of a study (launch/tune/study.py)."""

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from optuna.trial import FrozenTrial, TrialState

from launch.errors import LaunchError, UserError, warn
from launch.experiment.experiment import Experiment, load_experiment
from launch.experiment.metrics_file import last_value, read_last_rows
from launch.jobs.cluster import ClusterConfig, load_cluster, resources
from launch.jobs.detached import detach
from launch.jobs.following import console
from launch.jobs.plan import GridRequest, PlannedRun, check_fits, for_trainings, plan_runs
from launch.locks import is_locked
from launch.output import print_json
from launch.signals import STOPPED
from launch.tables import Column, fields, grid
from launch.tune.engines import Engine, open_engine
from launch.tune.space import Space, Value, parse_space
from launch.tune.study import POINTS, Sampling, Study, file_of, lock_file, locked, read_points, values_of
from launch.tune.sweep import write_sweep

SCORE = "eval/score_mean"
READ_SECONDS = 2.0  # between two readings of the metrics of trials in training
FAILED = 1  # exit code if no trial has a score
STATES = {
    TrialState.COMPLETE: "finished", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed",
    TrialState.RUNNING: "not over",
}  # fmt: skip


class TuneRequest(NamedTuple):
    """The words of a `tune`."""

    config: Path
    words: tuple[str, ...]
    group: str
    trials: int  # of the study, with those of earlier commands
    sampling: Sampling


def tune(
    request: TuneRequest, on: str, dry_run: bool, in_background: bool, as_json: bool, wandb_sweep: Path | None
) -> int:
    """Bring a study to its number of trials; return the exit code: 0, 1 if no trial has a score, 75 if stopped.

    The same command again goes on: trials that were stopped are trained on, all others are kept. With `wandb_sweep`
    nothing is trained: this file of a sweep is written.
    """
    search = Search(request)
    if wandb_sweep:
        write_sweep(wandb_sweep, request.config, search.space, search.base, request.group, request.sampling)
        return 0
    cluster = load_cluster(on)
    if cluster.at_once == 0:
        raise UserError(f"--on {on}: at_once is 0, and tune needs the number of trials at once; give 1 or more")
    cluster = for_trainings(cluster, search.corners)
    check_fits(search.corners, cluster)
    if dry_run or in_background:
        search.explain(cluster)
    if dry_run:
        return 0
    if in_background:
        lock = lock_file(search.file)
        return detach(request.group, search.runs_folder, lambda: is_locked(lock))
    with locked(search.file):
        study = search.open()
        with open_engine(cluster, request.group, search.runs_folder) as engine:
            is_over = search.do(study, engine, cluster.at_once)
    search.print_result(study.trials(), as_json)
    if not is_over:
        return STOPPED
    return 0 if any(trial.state is TrialState.COMPLETE for trial in study.trials()) else FAILED


class Search:
    """One `tune`: its space, and the plan of its trials."""

    def __init__(self, request: TuneRequest) -> None:
        """Check the words; UserError if a key, or an end of a range, is not valid."""
        self._request = request
        space = parse_space(request.words)
        self.base: Experiment = load_experiment(request.config, space.fixed)
        self.space: Space = space.typed(self.base.plain())
        self.corners = [self._plan(values) for values in self.space.corners()]  # refuses values out of range
        self.runs_folder = Path(self.base.run.runs_folder)
        self.file = file_of(self.runs_folder, request.group)

    def open(self) -> Study:
        """Open the study."""
        made_for = {"words": str(self.space), "config": self.base.to_yaml()}
        return Study(self.file, self.space, made_for, self._request.sampling)

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
        runs: dict[str, PlannedRun] = {}
        numbers: dict[str, list[int]] = defaultdict(list)  # by run: a sampler may choose the same values twice
        pruned: set[str] = set()
        read = 0.0

        def begin(trial: FrozenTrial) -> None:
            try:
                run = self._plan(values_of(trial))
            except UserError as error:  # values that exclude each other
                warn(f"trial {trial.number} has failed: {error}")
                study.fail(trial.number)
                return
            numbers[run.name].append(trial.number)
            if run.name not in runs:
                runs[run.name] = run
                print(f"trial {trial.number} of {self._request.trials}: {run.name}", flush=True)
                engine.start(run)

        for trial in study.trials():
            if trial.state is TrialState.RUNNING:
                begin(trial)
        is_stopped = False
        while not engine.is_interrupted:
            while not is_stopped and len(runs) < at_once and len(study.trials()) < self._request.trials:
                begin(study.ask())
            if not runs:
                return not is_stopped
            engine.look()
            if (now := time.monotonic()) - read > READ_SECONDS:
                read = now
                for run in runs.values():
                    if run.name not in pruned and self._is_to_prune(study, numbers[run.name], run):
                        pruned.add(run.name)
                        engine.cancel(run)
            for run in list(runs.values()):
                outcome = engine.outcome(run)
                if outcome is None:
                    continue
                del runs[run.name]
                is_stopped |= not self._end(study, numbers.pop(run.name), run, outcome, run.name in pruned)
                pruned.discard(run.name)
        return False

    def _is_to_prune(self, study: Study, numbers: Sequence[int], run: PlannedRun) -> bool:
        try:
            points = read_points(run.folder, run.experiment.settings.env_steps)
        except LaunchError:  # its metrics are damaged: its end decides
            return False
        to_prune = [study.report(number, points) for number in numbers]
        return any(to_prune)

    def _end(self, study: Study, numbers: Sequence[int], run: PlannedRun, outcome: str, is_pruned: bool) -> bool:
        """Note how the trials of a run ended; return False if the user stopped it, so that it is not over."""
        if outcome == "stopped" and not is_pruned:
            return False
        score = last_value(read_last_rows(run.folder), SCORE) if outcome == "finished" else None
        self._is_to_prune(study, numbers, run)  # the points since the last reading
        for number in numbers:
            if score is not None:
                study.finish(number, score)
                print(f"trial {number}: {score:,.0f}", flush=True)
            elif outcome == "stopped":
                study.prune(number)
                print(f"trial {number}: pruned", flush=True)
            else:
                study.fail(number)
        return True

    def print_result(self, trials: Sequence[FrozenTrial], as_json: bool) -> None:
        """Print the trials, the best first, and how to train the best one again."""
        ranked = sorted(trials, key=lambda trial: (trial.state is not TrialState.COMPLETE, -(trial.value or 0)))
        if as_json:
            print_json([self._plain(trial) for trial in ranked])
            return
        columns = [
            Column("trial", lambda trial: trial.number, lambda trial: str(trial.number)),
            Column("state", lambda trial: trial.state, lambda trial: STATES[trial.state]),
            Column("score", lambda trial: trial.value, lambda trial: _score(trial)),
            *(self._key_column(key) for key in self.space.axes),
        ]
        console().print(grid(ranked, columns, (1,)))
        if ranked and ranked[0].state is TrialState.COMPLETE:
            words = " ".join(self.space.words(values_of(ranked[0])))
            print(
                f"the best of {len(ranked)} trials, so its score is biased upwards; with other seeds:\n"
                f"muzero2048 submit {self._request.config} {words} --seeds 1-3"
            )

    def _plan(self, values: dict[str, Value]) -> PlannedRun:
        """Return the run of a trial; UserError if its values are not valid together."""
        request = GridRequest(
            (self._request.config,),
            self.space.words(values),
            group=self._request.group,
            varied=frozenset(self.space.axes),
        )
        (run,) = plan_runs(request)
        return run

    def _plain(self, trial: FrozenTrial) -> dict[str, object]:
        is_valid = trial.state is not TrialState.FAIL
        values = {key: axis.text(trial.params[key]) for key, axis in self.space.axes.items()}
        score = trial.value if trial.state is TrialState.COMPLETE else None
        name = self._plan(values_of(trial)).name if is_valid else None
        return {"trial": trial.number, "state": STATES[trial.state], "score": score, "run": name, "values": values}

    def _key_column(self, key: str) -> Column:
        axis = self.space.axes[key]
        return Column(key, lambda trial: trial.params[key], lambda trial: axis.text(trial.params[key]))


def _score(trial: FrozenTrial) -> str:
    """Return the score of a finished trial, of a pruned one the part of the budget that it reached."""
    if trial.state is TrialState.COMPLETE:
        return f"{trial.value:,.0f}"
    return f"after {100 * trial.last_step // POINTS}%" if trial.state is TrialState.PRUNED and trial.last_step else ""
