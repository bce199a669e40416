"""The runs and evaluations of the rows of a table: ordinary runs, whose names begin with that of the table."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError
from launch.experiment.experiment import load_experiment
from launch.jobs.evaluations import EvaluationRequest, PlannedEvaluation, plan_evaluations
from launch.jobs.plan import PlannedRun, check_existing
from launch.report.papers.table import SLASH, PaperRow, PaperTable, load_table

REPORTS = 100  # reports of a training
LEAST_REPORT, MOST_REPORT = 1_000_000, 100_000_000  # moves between two reports
CURVE_POINTS = 10  # evaluations during a training, for `muzero2048 compare`
RUN_GAMES = 200  # games of these and of the one that ends a training; the evaluation of the paper comes after it


class Scale(NamedTuple):
    """How much of the paper's work is done."""

    budget: float = 1.0  # share of the paper's moves of training
    seeds: tuple[int, ...] = (1,)  # training seeds
    most_games: int | None = None  # largest number of games of an evaluation; None: the paper's

    @property
    def label(self) -> str:
        """Ending of names of files and runs."""
        return f"b{self.budget:g}"

    def check(self) -> None:
        """Refuse a budget or a number of games that is out of range; UserError has the range."""
        if not 0 < self.budget <= 1:
            raise UserError(f"--budget is {self.budget:g}; give a share of the paper's moves in (0, 1], such as 0.001")
        if self.most_games is not None and self.most_games < 2:
            raise UserError(f"--games is {self.most_games}; give 2 or more, since one game has no interval")

    def moves(self, env_steps: int) -> int:
        """Return this share of a number of moves."""
        return max(1, round(self.budget * env_steps))

    def games(self, games: int) -> int:
        """Return the number of games that are played where the paper plays `games`."""
        return games if self.most_games is None else min(games, self.most_games)


class Trained(NamedTuple):
    """A row whose network is trained, and the table of this row."""

    table: PaperTable
    row: PaperRow


def trained_row(table: PaperTable, row: PaperRow) -> Trained:
    """Return the row whose trained network a row evaluates: itself, or the one that `of` names."""
    return _named(table, row.of) if row.of else Trained(table, row)


def first_row(trained: Trained) -> Trained | None:
    """Return the row whose network is the first one of this training; None: it begins with an empty network."""
    return _named(trained.table, trained.row.begin_from) if trained.row.begin_from else None


def why_not(table: PaperTable, row: PaperRow) -> str:
    """Return why a row cannot be had here; "" if it can."""
    return row.why or (trained_row(table, row).row.why if row.of else "")


def with_firsts(trained: Trained) -> list[Trained]:
    """Return all trainings that a training needs, in the order in which they can be done; the last is itself."""
    first = first_row(trained)
    return [*(with_firsts(first) if first else []), trained]


def overrides_of(trained: Trained, scale: Scale, seed: int) -> list[str]:
    """Return the overrides that make the experiment of a row from the base of its table."""
    table, row = trained
    learner = _learner_of(base_of(trained))
    env_steps = scale.moves(table.moves_of(row))
    report = min(max(env_steps // REPORTS, LEAST_REPORT), MOST_REPORT, env_steps)
    group = f"{table.name}/{row.name}-{scale.label}"
    overrides = [
        f"run.name={run_name(trained, scale, seed)}",
        f"run.group={group}",
        f"run.seed={seed}",
        f"run.evaluate_env_steps={max(report, env_steps // CURVE_POINTS)}",
        f"run.evaluation_games={RUN_GAMES}",
        f"run.final_games={RUN_GAMES}",
        "run.keep_checkpoints=1",  # of up to 32 GB; only the last network is evaluated or trained further
        f"{learner}.env_steps={env_steps}",
        f"{learner}.report_env_steps={report}",
    ]
    if first := first_row(trained):
        overrides.append(f"run.begin_from=runs/{run_name(first, scale, seed)}")
    scaled = [f"{key}={scale.moves(moves)}" for key, moves in row.scaled.items()]
    return [*overrides, *settings_of(trained), *scaled]


def run_name(trained: Trained, scale: Scale, seed: int) -> str:
    """Return the name of the run of a row."""
    return f"{trained.table.name}-{trained.row.name}-{scale.label}-seed{seed}"


def base_of(trained: Trained) -> Path:
    """Return the experiment config that the overrides of a row change."""
    return Path(trained.table.folder) / (trained.row.base or trained.table.base)


def settings_of(trained: Trained) -> list[str]:
    """Return the overrides of a row that its table's file lists, without those of the budget."""
    return [*(() if trained.row.base else trained.table.overrides), *trained.row.overrides]


def plan_run(trained: Trained, scale: Scale, seed: int) -> PlannedRun:
    """Return the run of a row; UserError if its overrides are wrong, or the run exists with another config."""
    base = base_of(trained)
    run = PlannedRun(base, load_experiment(base, overrides_of(trained, scale, seed)))
    check_existing(run)
    return run


def plan_runs(table: PaperTable, rows: Sequence[PaperRow], scale: Scale) -> list[PlannedRun]:
    """Return the runs that the rows need, each once; a run that others begin from comes before them."""
    runs: dict[str, PlannedRun] = {}
    for seed in scale.seeds:
        for row in rows:
            if why_not(table, row):
                continue
            for trained in with_firsts(trained_row(table, row)):
                runs.setdefault(run_name(trained, scale, seed), plan_run(trained, scale, seed))
    return list(runs.values())


def plan_row(table: PaperTable, row: PaperRow, scale: Scale) -> list[tuple[str, PlannedEvaluation]]:
    """Return the evaluations of the finished runs of a row, each with its column; UserError if a search is wrong."""
    evaluations = []
    for seed in () if why_not(table, row) else scale.seeds:
        run = plan_run(trained_row(table, row), scale, seed)
        for column in table.columns if run.is_finished() else ():
            if column.statistic and column.name in row.paper:
                games = scale.games(table.games_of(row, column))
                request = EvaluationRequest(games, None, 1, column.play.over(row.play))
                evaluations += [(column.name, planned) for planned in plan_evaluations([run.folder], request)]
    return evaluations


@functools.lru_cache(maxsize=64)
def _learner_of(base: Path) -> str:
    return load_experiment(base).learner


def _named(table: PaperTable, reference: str) -> Trained:
    """Return the row that ROW or TABLE/ROW names."""
    name, slash, row_name = reference.rpartition(SLASH)
    other = load_table(str(Path(table.folder) / f"{name}.yaml")) if slash else table
    row = other.row(row_name)
    if row.of:
        raise UserError(f"{table.name}: {reference} takes the network of {row.of}: name that row")
    return Trained(other, row)
