"""The study of a group: which values its trials had and what they scored, in a journal of Optuna, and what to try next.

The score of a trial is eval/score_mean of the evaluation at its end. Pruning compares trials that are in training: at
each of POINTS equal parts of the budget, the mean of train/score_mean over the part. Both are larger for better trials.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages.journal import JournalFileBackend, JournalStorage
from optuna.trial import FrozenTrial, TrialState

from launch.errors import UserError
from launch.experiment.metrics_file import METRICS_FILE, read_columns
from launch.locks import take_lock
from launch.tune.space import Choice, Range, Space, Value

FOLDER = ".tune"  # in the runs folder: the journals of studies, and the locks of those that search
POINTS = 20
BAYESIAN, RANDOM = "bayesian", "random"
SAMPLERS = (BAYESIAN, RANDOM)
RANDOM_TRIALS = 10  # of a Bayesian search, before its model has enough to go by
MATURE_POINTS = POINTS // 5  # before these, no trial is pruned
UNPRUNED_TRIALS = 5  # whole ones, before the first is pruned


class Sampling(NamedTuple):
    """How a study chooses its trials."""

    sampler: str = BAYESIAN
    is_pruning: bool = True
    seed: int = 0


class Study:
    """See the module. Trials are numbered from 0."""

    def __init__(self, file: Path, space: Space, made_for: dict[str, str], sampling: Sampling) -> None:
        """Open a study, or make it; `made_for` has texts by what they are. UserError if it was made for other ones."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        file.parent.mkdir(parents=True, exist_ok=True)
        storage = JournalStorage(JournalFileBackend(str(file)))
        name = file.stem
        known = name in optuna.get_all_study_names(storage)
        begun = len(optuna.load_study(study_name=name, storage=storage).trials) if known else 0
        self._distributions = {key: _distribution(axis) for key, axis in space.axes.items()}
        self._study = optuna.create_study(
            study_name=name,
            storage=storage,
            direction="maximize",
            load_if_exists=True,
            sampler=_sampler(sampling, begun),
            pruner=optuna.pruners.MedianPruner(UNPRUNED_TRIALS, MATURE_POINTS)
            if sampling.is_pruning
            else optuna.pruners.NopPruner(),
        )
        for what, text in made_for.items():
            if (old := self._study.user_attrs.get(what, text)) != text:
                differs = _first_difference(old, text)
                raise UserError(f"the study {file} was made with other {what} ({differs}); give another --group")
            self._study.set_user_attr(what, text)

    def trials(self) -> list[FrozenTrial]:
        """Return all trials in order."""
        return self._study.get_trials(deepcopy=False)

    def ask(self) -> FrozenTrial:
        """Begin a trial: choose its values."""
        number = self._study.ask(self._distributions).number
        return self.trials()[number]

    def report(self, number: int, points: dict[int, float]) -> bool:
        """Note the points of a trial that are new; return whether it is to be pruned."""
        known = self.trials()[number]
        trial = optuna.trial.Trial(self._study, known._trial_id)
        is_pruned = False
        for point in sorted(points.keys() - known.intermediate_values.keys()):
            trial.report(points[point], point)
            is_pruned = is_pruned or bool(trial.should_prune())
        return is_pruned

    def finish(self, number: int, score: float) -> None:
        """End a trial with its score."""
        self._study.tell(number, score)

    def prune(self, number: int) -> None:
        """End a trial that was pruned."""
        self._study.tell(number, state=TrialState.PRUNED)

    def fail(self, number: int) -> None:
        """End a trial whose run has failed."""
        self._study.tell(number, state=TrialState.FAIL)


def file_of(runs_folder: Path, group: str) -> Path:
    """Return the journal of a group's study."""
    return runs_folder / FOLDER / f"{group}.journal"


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other processes from the study until the end of the `with` block; UserError if one has it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file(file).open("w") as lock:
        try:
            take_lock(lock)
        except BlockingIOError as error:
            raise UserError(
                f"another process searches with {file}; wait for it, or `muzero2048 stop {file.stem}`"
            ) from error
        yield


def lock_file(file: Path) -> Path:
    """Return the lock of a study."""
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


def _distribution(axis: Range | Choice) -> BaseDistribution:
    if isinstance(axis, Choice):
        return CategoricalDistribution(axis.values)
    if axis.is_integer:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.is_log)
    return FloatDistribution(axis.low, axis.high, log=axis.is_log)


def _sampler(sampling: Sampling, begun: int) -> optuna.samplers.BaseSampler:
    """Return what chooses values; a study that goes on draws other random numbers than those before."""
    seed = sampling.seed + begun
    if sampling.sampler == RANDOM:
        return optuna.samplers.RandomSampler(seed)
    return optuna.samplers.TPESampler(n_startup_trials=RANDOM_TRIALS, seed=seed)


def _first_difference(old: str, new: str) -> str:
    pairs = zip([*old.splitlines(), ""], [*new.splitlines(), ""], strict=False)
    before, after = next((pair for pair in pairs if pair[0] != pair[1]), (old, new))
    return f"{before.strip() or 'nothing'}, here {after.strip() or 'nothing'}"


def values_of(trial: FrozenTrial) -> dict[str, Value]:
    """Return the values of a trial, by key."""
    return dict[str, Any](trial.params)
