"""The file of one result table of a paper, configs/papers/<name>.yaml: rows, numbers, budget and conditions.

A row is one trained network and how it plays. Numbers are those that the paper prints, in the paper's units.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from launch.errors import UserError
from launch.evaluation.search_options import SearchOptions
from launch.experiment.examples import examples_folder
from launch.experiment.metrics import TILES
from launch.experiment.plain_values import MISTAKES, mistake_text, read_settings
from ntuple.core.settings import Settings

STATISTICS = ("score_mean", "score_median", "score_max", "moves_mean", "moves_per_second", "wall_hours")
REACH = tuple(f"reach_{tile}" for tile in TILES)
NO_OPTIONS = SearchOptions()
SLASH = "/"  # between a table and a row in `of` and `begin_from`


class PaperColumn(Settings):
    """One column of numbers."""

    name: str = ""  # as in the paper
    statistic: str = "score_mean"  # of STATISTICS or REACH; "": this project does not compute it, `why` says so
    unit: float = 1.0  # our number = the paper's number * unit: 0.01 for percent
    play: SearchOptions = NO_OPTIONS
    games: int = 0  # of the evaluation; 0: those of the row
    why: str = ""

    def __post_init__(self) -> None:
        """Check the statistic."""
        if self.statistic and self.statistic not in STATISTICS + REACH:
            raise ValueError(f"columns: {self.name}: no statistic {self.statistic}; give one of {STATISTICS + REACH}")
        if not self.statistic and not self.why:
            raise ValueError(f"columns: {self.name} has no statistic; say why")


class PaperRow(Settings):
    """One row."""

    name: str = ""  # part of names of runs
    paper: dict[str, list[float]] = field(default_factory=dict)  # by column: the value, and its margin if it has one
    base: str = ""  # experiment config of this row alone, which then has no overrides of the table; "": the table's
    overrides: tuple[str, ...] = ()  # "key=value" of the experiment, after those of the table
    scaled: dict[str, int] = field(default_factory=dict)  # keys that follow the budget, in moves or boards
    env_steps: int = 0  # budget in moves; 0: that of the table
    training_games: int = 0  # budget in games, where the paper gives games; 0: that of the table
    moves_per_second: float = 0.0  # see PaperTable; 0: that of the table
    of: str = ""  # another row, as ROW or TABLE/ROW, whose trained network this row evaluates
    begin_from: str = ""  # another row, whose trained network is the first one of this training
    play: SearchOptions = NO_OPTIONS
    games: int = 0  # of the evaluation; 0: those of the table
    why: str = ""  # why this project cannot train the row; "": it can

    def __post_init__(self) -> None:
        """Check the name."""
        if not re.fullmatch(r"[\w.+-]+", self.name):
            raise ValueError(f"rows: the name '{self.name}' needs letters, digits and any of _ . + - only")
        if self.of and (self.base or self.overrides or self.begin_from or self.env_steps):
            raise ValueError(f"rows: {self.name} takes the network of {self.of}: leave out its own training")


class PaperTable(Settings):
    """One table of a paper."""

    title: str = ""
    source: str = ""  # paper, table, section
    conditions: str = ""  # of the paper
    caveat: str = ""  # what differs here at any budget
    base: str = ""  # experiment config, a path from the folder of the file
    overrides: tuple[str, ...] = ()  # "key=value" of the experiment, for all rows
    env_steps: int = 0  # budget of a training in moves
    training_games: int = 0  # budget in games, if the paper gives games
    seeds: int = 1  # trained networks of a number of the paper
    games: int = 0  # games of an evaluation of one network
    moves_per_second: float = 0.0  # rough speed of training on two cores, until this machine has measured its own
    columns: list[PaperColumn] = field(default_factory=list)
    rows: list[PaperRow] = field(default_factory=list)
    name: str = ""  # of the file
    folder: str = ""  # of the file

    def row(self, name: str) -> PaperRow:
        """Return the row of a name; UserError if there is none."""
        for row in self.rows:
            if row.name == name:
                return row
        raise UserError(f"{self.name} has no row {name}; its rows are {', '.join(row.name for row in self.rows)}")

    def with_columns(self, names: Sequence[str]) -> "PaperTable":
        """Return the table with these columns alone, all if none is named; UserError if there is no such column."""
        known = [column.name for column in self.columns]
        if unknown := [name for name in names if name not in known]:
            raise UserError(f"{self.name} has no column {unknown[0]}; its columns are {', '.join(known)}")
        return replace(self, columns=[column for column in self.columns if not names or column.name in names])

    def moves_of(self, row: PaperRow) -> int:
        """Return the budget of a row in moves."""
        return row.env_steps or self.env_steps

    def games_of_training(self, row: PaperRow) -> int:
        """Return the budget of a row in games; 0 if the paper gives it in moves."""
        return row.training_games or (0 if row.env_steps else self.training_games)

    def games_of(self, row: PaperRow, column: PaperColumn) -> int:
        """Return the number of games of the evaluation that gives a number."""
        return column.games or row.games or self.games

    def check(self) -> None:
        """Refuse a table with missing keys, a name twice or numbers of no column; ValueError names it."""
        for key in ("title", "source", "conditions", "caveat", "base", "env_steps", "games", "moves_per_second"):
            if not getattr(self, key):
                raise ValueError(f"{key} is missing; set it")
        for kind, names in (("columns", [one.name for one in self.columns]), ("rows", [one.name for one in self.rows])):
            if not names or len(set(names)) < len(names):
                raise ValueError(f"{kind}: give one or more, each name once")
        for row in self.rows:
            if unknown := set(row.paper) - {column.name for column in self.columns}:
                raise ValueError(f"rows: {row.name} has a number of no column: {min(unknown)}")
            if not row.paper or not all(len(numbers) in (1, 2) for numbers in row.paper.values()):
                raise ValueError(f"rows: {row.name} needs numbers of the paper, each [value] or [value, margin]")


def papers_folder() -> Path:
    """Return the folder of the tables."""
    return examples_folder() / "papers"


def table_names() -> list[str]:
    """Return the names of all tables: by paper, then by number."""

    def key(name: str) -> list[str | int]:
        return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]

    return sorted((file.stem for file in papers_folder().glob("*.yaml")), key=key)


def load_table(word: str) -> PaperTable:
    """Read the table of configs/papers/ with this name, or a YAML file; UserError names what is wrong in it."""
    file = Path(word)
    if file.suffix not in (".yaml", ".yml"):
        file = papers_folder() / f"{word}.yaml"
    if not file.is_file():
        raise UserError(f"there is no table {word} ({file}); `muzero2048 reproduce` lists them")
    return _read(file, file.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)  # more than there are tables
def _read(file: Path, changed: int) -> PaperTable:
    """Read a file; `changed` is its time of change, since rows of other tables read it again and again."""
    read = read_settings(PaperTable, file)
    try:
        table = replace(read, name=file.stem, folder=str(file.parent))
        table.check()
    except MISTAKES as error:
        raise UserError(f"{file}: {mistake_text(error)}") from error
    return table
