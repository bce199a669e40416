"""Evaluations that are spread over several processes, each of which plays a part of the games."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError
from launch.evaluation.parts import WHOLE, Part, files_of, has_games
from launch.evaluation.result import FOLDER, Evaluation, prepare_folder, result_names
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.searches import resolve
from launch.evaluation.seeds import check_seed, final_evaluation_seed
from launch.experiment import checkpoints, registry
from launch.experiment.experiment import MOST_GAMES, Experiment
from launch.jobs.plan import PlannedRun
from launch.locks import is_locked, lock_owner
from launch.signals import STOPPED

FINAL = "final"  # in names of output files, for the checkpoint at the end of the training


class EvaluationRequest(NamedTuple):
    """The words of a `submit` that evaluates."""

    games: int
    seed: int | None  # None: that of the evaluation that ends the run
    parts: int
    options: SearchOptions  # of the search

    def check(self) -> None:
        """Refuse numbers that `evaluate` would refuse; UserError has the remedy."""
        check_seed(self.seed)
        if self.parts < 1:
            raise UserError(f"--parts is {self.parts}; give 1 or more")
        if not 2 * self.parts <= self.games <= MOST_GAMES:
            raise UserError(
                f"--games is {self.games}; give {2 * self.parts} to {MOST_GAMES}, two or more for each of {self.parts}"
                " parts"
            )


class PlannedEvaluation(NamedTuple):
    """The evaluation of one checkpoint."""

    request: EvaluationRequest
    path: Path  # the checkpoint; the run folder if its training is not over
    run_folder: Path
    env_steps: int | None  # of the checkpoint; None if the training is not over
    label: str  # env_steps, or FINAL
    search: str  # name of the search
    uses_jax: bool
    evaluation: Evaluation  # the games

    @property
    def parts(self) -> list["EvaluationTask"]:
        """The tasks that play the games, each with its part; none if one process plays them all."""
        count = self.request.parts
        return [EvaluationTask(self, Part(number, count)) for number in range(1, count + 1)] if count > 1 else []

    @property
    def whole(self) -> "EvaluationTask":
        """The task that puts the parts together; it plays the games that they lack."""
        return EvaluationTask(self, WHOLE)

    @property
    def tasks(self) -> list["EvaluationTask"]:
        """All tasks of the evaluation."""
        return [*self.parts, self.whole]

    @property
    def log(self) -> Path | None:
        """Game log of the evaluation; None if the training is not over."""
        if self.env_steps is None:
            return None
        return self.evaluation.log_file(self.run_folder, self.env_steps, self.search)

    def check_free(self) -> None:
        """Refuse an evaluation that processes with another number of parts are playing; UserError names a log."""
        if self.log is None:
            return
        own = {task.part.file(self.log) for task in self.tasks}
        for file in sorted(files_of(self.log) - own):
            if is_locked(file):
                raise UserError(
                    f"{file}: another process is playing these games; give its number of --parts, or stop it with"
                    f" `muzero2048 stop {self.run_folder.name}`"
                )

    def result(self) -> Path | None:
        """Return the file of the result; None if there is none."""
        if self.env_steps is None:
            return None
        files = [self.evaluation.file(self.run_folder, self.env_steps, name) for name in result_names(self.search)]
        return next(filter(Path.is_file, files), None)


class EvaluationTask(NamedTuple):
    """One process of an evaluation: a task (launch/jobs/tasks.py)."""

    planned: PlannedEvaluation
    part: Part  # the games that it plays; WHOLE: all of them, most of which its parts have played

    @property
    def name(self) -> str:
        """Name, in lines for the user."""
        what = "result" if self.part == WHOLE else f"part {self.part.number} of {self.part.of}"
        moves = "" if self.planned.label == FINAL else f" at {self.planned.label} moves"
        return f"{self.planned.run_folder.name}{moves}, {what}"

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.planned.run_folder

    @property
    def arguments(self) -> list[str]:
        """Arguments of `muzero2048` that play those of its games that no log has."""
        request = self.planned.request
        seed = [] if request.seed is None else ["--seed", str(request.seed)]
        part = [] if self.part == WHOLE else ["--part", f"{self.part.number}/{self.part.of}"]
        games = ["--games", str(request.games), *seed]
        return ["evaluate", str(self.planned.path), *games, *request.options.arguments(), "--keep", *part]

    @property
    def output(self) -> Path:
        """File beside the results to which its processes print."""
        planned, (games, seed) = self.planned, self.planned.evaluation
        part = "result" if self.part == WHOLE else f"part-{self.part.number}-of-{self.part.of}"
        return self.folder / FOLDER / f"{planned.label}-{planned.search}-{games}games-seed{seed}.{part}.log"

    def prepare(self) -> None:
        """Make the folder of the results."""
        prepare_folder(self.folder)

    def is_running(self) -> bool:
        """Return whether a process plays these games now."""
        log = self._own_log()
        return log is not None and is_locked(log)

    def pid(self) -> int | None:
        """Return the process on this machine that plays these games; None if there is none."""
        log = self._own_log()
        return None if log is None else lock_owner(log)

    def exit_code(self) -> int | None:
        """Return 0 if the games are played and, of a whole evaluation, its result is there; else 75.

        A process that was killed leaves as much as one that was stopped.
        """
        return 0 if self.is_finished() else STOPPED

    def is_finished(self) -> bool:
        """Return whether the games are played and, of a whole evaluation, its result is there."""
        if self.part == WHOLE:
            return self.planned.result() is not None
        log = self.planned.log
        return log is not None and has_games(log, self.part, self.planned.evaluation.games)

    def _own_log(self) -> Path | None:
        log = self.planned.log
        return log and self.part.file(log)


def plan_evaluations(paths: Iterable[Path], request: EvaluationRequest) -> list[PlannedEvaluation]:
    """Return the checked evaluations of checkpoints, or of runs' newest ones, in the order of the paths."""
    request.check()
    planned = []
    for path in paths:
        checkpoint = checkpoints.find_checkpoint(path)
        run_folder = checkpoints.run_folder_of(checkpoint)
        if run_folder is None:
            raise UserError(f"{checkpoint} is in no run folder: play it with `muzero2048 evaluate --keep FILE`")
        prepare_folder(run_folder)
        experiment, state = checkpoints.read_checkpoint(checkpoint)
        planned.append(_planned(request, checkpoint, run_folder, state.progress["env_steps"], experiment))
    _check_different(planned)
    return planned


def plan_final_evaluations(runs: Iterable[PlannedRun], request: EvaluationRequest) -> list[PlannedEvaluation]:
    """Return the checked evaluations of runs at the end of their training, which may be to come."""
    request.check()
    planned = []
    for run in runs:
        checkpoint = checkpoints.find_checkpoint(run.folder) if run.is_finished() else None
        env_steps = int(checkpoint.name) if checkpoint else None
        planned.append(_planned(request, checkpoint or run.folder, run.folder, env_steps, run.experiment))
    return planned


def _planned(
    request: EvaluationRequest, path: Path, run_folder: Path, env_steps: int | None, experiment: Experiment
) -> PlannedEvaluation:
    seed = final_evaluation_seed(experiment.run.seed) if request.seed is None else request.seed
    search = resolve(experiment, request.options, path)
    uses_jax = registry.plays_on_jax(experiment.learner, search.player)
    label = FINAL if env_steps is None or env_steps >= experiment.settings.env_steps else str(env_steps)
    games = Evaluation(request.games, seed)
    return PlannedEvaluation(request, path, run_folder, env_steps, label, search.name, uses_jax, games)


def _check_different(planned: Sequence[PlannedEvaluation]) -> None:
    outputs = set[Path]()
    for evaluation in planned:
        if evaluation.whole.output in outputs:
            raise UserError(f"{evaluation.path} is given twice; give each checkpoint once")
        outputs.add(evaluation.whole.output)
