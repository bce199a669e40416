"""The study of a search: the values of its trials, what they scored, and what to try next, in a journal of Optuna.

The score of a trial is eval/score_mean of the evaluation at its end. Pruning compares a trial in training with those
that are finished: at each of POINTS equal parts of the budget, the mean of train/score_mean over the part. Both are
larger for better trials.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages.journal import JournalFileBackend, JournalStorage
from optuna.trial import FrozenTrial, TrialState

from launch.errors import UserError
from launch.experiment.metrics_file import METRICS_FILE, read_columns
from launch.files import in_json
from launch.locks import is_locked, take_lock
from launch.tune.request import RANDOM, Sampling
from launch.tune.space import Range, Space, ValueList

FOLDER = ".tune"  # in the runs folder: the journals of studies, and the locks of the processes that search
SCORE = "eval/score_mean"
POINTS = 20
RANDOM_TRIALS = 10  # of a Bayesian search, before its model has enough to go by
MATURE_POINTS = POINTS // 5  # before these, no trial is pruned
UNPRUNED_TRIALS = 5  # finished ones, before the first is pruned
RUN = "run"  # attribute of a trial: the name of its run


class Study:
    """See the module. Trials are numbered from 0."""

    def __init__(self, file: Path, space: Space, experiment: Mapping[str, Any], sampling: Sampling) -> None:
        """Open a study, or make it; UserError if it was made for another space or experiment.

        The file is its journal, whose name is that of the study; `experiment` has the values by dotted key.
        """
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        file.parent.mkdir(parents=True, exist_ok=True)
        storage = JournalStorage(JournalFileBackend(str(file)))
        known = file.stem in optuna.get_all_study_names(storage)
        begun = len(optuna.load_study(study_name=file.stem, storage=storage).trials) if known else 0
        pruner = optuna.pruners.MedianPruner(UNPRUNED_TRIALS, MATURE_POINTS)
        self._distributions = {key: _distribution(axis) for key, axis in space.axes.items()}
        self._study = optuna.create_study(
            study_name=file.stem,
            storage=storage,
            direction="maximize",
            load_if_exists=True,
            sampler=_sampler(sampling, begun),
            pruner=pruner if sampling.is_pruning else optuna.pruners.NopPruner(),
        )
        if not self._study.user_attrs:
            self._study.set_user_attr("words", str(space))
            self._study.set_user_attr("experiment", json.dumps(experiment))
        words, old = self._study.user_attrs["words"], json.loads(self._study.user_attrs["experiment"])
        differing = [] if words == str(space) else [f"{words}, here {space}"]
        differing += [
            f"{key}: {old[key]} -> {value}"
            for key, value in in_json(experiment).items()
            if key in old and old[key] != value  # a key of a later version has its default
        ]
        if differing:
            raise UserError(f"the study {file} was made for other settings ({differing[0]}); give another --group")

    def trials(self) -> list[FrozenTrial]:
        """Return all trials in order."""
        return self._study.get_trials(deepcopy=False)

    def ask(self) -> FrozenTrial:
        """Begin a trial: choose its values."""
        number = self._study.ask(self._distributions).number
        return self.trials()[number]

    def name_run(self, number: int, name: str) -> None:
        """Note the run of a trial."""
        self._trial(number).set_user_attr(RUN, name)

    def report(self, number: int, points: Mapping[int, float]) -> bool:
        """Note the points of a trial that are new; return whether it is to be pruned."""
        trial = self._trial(number)
        for point in sorted(points.keys() - self.trials()[number].intermediate_values.keys()):
            trial.report(points[point], point)
        last = self.trials()[number].last_step
        return last is not None and last < POINTS and bool(trial.should_prune())

    def tell(self, number: int, state: TrialState, score: float | None = None) -> None:
        """End a trial: finished with its score, pruned, or failed."""
        self._study.tell(number, score, state)

    def _trial(self, number: int) -> optuna.trial.Trial:
        return optuna.trial.Trial(self._study, self.trials()[number]._trial_id)


def file_of(runs_folder: Path, group: str) -> Path:
    """Return the journal of the study of a group."""
    return runs_folder / FOLDER / f"{group}.journal"


def is_busy(file: Path) -> bool:
    """Return whether a process searches with this study."""
    return is_locked(_lock_file(file))


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other processes from the study until the end of the `with` block; UserError if one has it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with _lock_file(file).open("w") as lock:
        try:
            take_lock(lock)
        except BlockingIOError as error:
            raise busy(file) from error
        yield


def busy(file: Path) -> UserError:
    """Return the error of a study that another process has."""
    return UserError(f"another process searches with {file}; wait for it, or `muzero2048 stop {file.stem}`")


def _lock_file(file: Path) -> Path:
    return file.with_suffix(".lock")


def read_points(run: Path, env_steps_total: int) -> dict[int, float]:
    """Return train/score_mean of a run over each complete part of its budget, by the number of the part from 1 on.

    A part without a report, or whose reports had no finished game, is left out.
    """
    if not (run / METRICS_FILE).is_file():
        return {}
    columns = read_columns(run)
    if not {"env_steps", "train/score_mean"} <= columns.keys():
        return {}
    parts = np.ceil(POINTS * columns["env_steps"] / env_steps_total)
    complete = int(np.max(columns["env_steps"], initial=0) * POINTS // env_steps_total)
    scores = columns["train/score_mean"]
    points = {part: scores[(parts == part) & ~np.isnan(scores)] for part in range(1, complete + 1)}
    return {part: float(np.mean(of_part)) for part, of_part in points.items() if len(of_part)}


def _distribution(axis: Range | ValueList) -> BaseDistribution:
    if isinstance(axis, ValueList):
        return CategoricalDistribution(axis.values)
    if axis.is_integer:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.is_log)
    return FloatDistribution(axis.low, axis.high, log=axis.is_log)


def _sampler(sampling: Sampling, begun: int) -> optuna.samplers.BaseSampler:
    """Return what chooses values; a study that goes on draws other random numbers than those before."""
    seed = sampling.seed + begun
    if sampling.sampler == RANDOM:
        return optuna.samplers.RandomSampler(seed)
    # The liar: trials in training count as bad ones, so that trials at the same time differ.
    return optuna.samplers.TPESampler(n_startup_trials=RANDOM_TRIALS, seed=seed, constant_liar=True)
