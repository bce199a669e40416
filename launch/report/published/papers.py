"""Results that papers state, for the page of `compare` and the leaderboard: rows of configs/papers/.

papers.yaml lists references. Numbers, search, games and budget are those of the row that a
reference names, so that no number stands twice.
"""

from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError
from launch.evaluation.search_options import SearchOptions
from launch.experiment.plain_values import MISTAKES, mistake_text, read_settings
from launch.report.papers.comparison import REACH
from launch.report.papers.estimate import TIME_LIMIT
from launch.report.papers.lines import training_text
from launch.report.papers.plan import trained_row, with_firsts
from launch.report.papers.table import SLASH, PaperRow, PaperTable, load_table
from ntuple.core.learner_spec import EXPECTIMAX
from ntuple.core.settings import Settings

REFERENCES = Path(__file__).with_suffix(".yaml")
BOARD = "4x4"  # of all tables
SCORE, SPEED = "score_mean", "moves_per_second"
DOWNGRADE = "search.downgrade="


class Reference(Settings):
    """One entry of papers.yaml."""

    row: str  # TABLE/ROW
    player: str  # in words
    column: str = ""  # of mean scores; "": the first one
    games_are_known: bool = True  # false: the paper does not say how many games of how many networks it played
    moves_per_second: float = 0.0  # speed of play that only the text of the paper gives; 0: none


class References(Settings):
    """The content of papers.yaml."""

    references: list[Reference]


class PaperResult(NamedTuple):
    """One result of a paper."""

    paper: str  # short citation
    table: str
    player: str
    search: str
    board: str  # "HxW"
    budget: str  # training
    score_mean: float
    score_margin: float | None  # half of the 95% interval, as the paper gives it
    games: int | None  # of all networks; None: not known
    reach: dict[str, float]  # share of the games that reached a tile, as far as the table has it
    moves_per_second: float | None


def read_papers(file: Path = REFERENCES) -> list[PaperResult]:
    """Read the results that a file like papers.yaml refers to, in its order."""
    references = read_settings(References, file).references
    try:
        return [_result(reference) for reference in references]
    except (UserError, *MISTAKES) as error:
        raise UserError(f"{file}: {mistake_text(error)}") from error


def _result(reference: Reference) -> PaperResult:
    name, _, row_name = reference.row.partition(SLASH)
    table = load_table(name)
    row = table.row(row_name)
    scores = [
        column
        for column in table.columns
        if column.statistic == SCORE and column.name in row.paper and reference.column in ("", column.name)
    ]
    if not scores:
        raise UserError(f"{reference.row} has no mean score in a column {reference.column or 'of its own'}")
    score = scores[0]
    # Other columns of the same games.
    same = {
        column.statistic: row.paper[column.name][0] * column.unit
        for column in table.columns
        if column.name in row.paper and (column.play, column.games) == (score.play, score.games)
    }
    mean, *margin = (number * score.unit for number in row.paper[score.name])
    paper, number, *_ = table.source.split(", ")
    return PaperResult(
        paper=paper,
        table=number,
        player=reference.player,
        search=search_text(score.play.over(row.play)),
        board=BOARD,
        budget=_budget(table, row),
        score_mean=mean,
        score_margin=margin[0] if margin else None,
        games=table.seeds * table.games_of(row, score) if reference.games_are_known else None,
        reach={key.removeprefix(REACH): rate for key, rate in same.items() if key.startswith(REACH)},
        moves_per_second=same.get(SPEED, reference.moves_per_second or None),
    )


def search_text(play: SearchOptions) -> str:
    """Return how a row plays, in words: "1 ply", "expectimax, 3 plies", "50 simulations"."""
    parts = []
    limits = [word.removeprefix(TIME_LIMIT) for word in play.overrides if word.startswith(TIME_LIMIT)]
    if limits:
        parts.append(f"{1000 * float(limits[-1]):g} ms a move")
    if play.plies and play.plies > 1:
        parts.append(f"{play.plies} plies")
    if play.simulations:
        parts.append(f"{play.simulations} simulations")
    if any(word.startswith(DOWNGRADE) for word in play.overrides):
        parts.append("tile-downgrading")
    is_deep = play.search == EXPECTIMAX and (limits or (play.plies or 1) > 1)
    return ", ".join(([EXPECTIMAX] if is_deep else [] if play.simulations else ["1 ply"]) + parts)


def _budget(table: PaperTable, row: PaperRow) -> str:
    """Return the training of a row with all networks that it begins from, as the paper counts it."""
    trainings = with_firsts(trained_row(table, row))
    games = [table.games_of_training(row) for table, row in trainings]
    moves = sum(table.moves_of(row) for table, row in trainings)
    return training_text(moves, sum(games) if all(games) else 0)
