"""`muzero2048 leaderboard`: one table for each board, from evaluation files and from the results of papers.

A row needs MIN_GAMES games, a known version, and a training from normal starts. Evaluations that lack one of these are
refused, each with one line.
"""

import json
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from launch.errors import UserError
from launch.evaluation.boards.notation import board_order
from launch.evaluation.result import FOLDER, last_of_each_search, read_result
from launch.evaluation.summary import short_number
from launch.experiment.environment import project_version
from launch.files import markdown_table, write_text
from launch.report.published.markdown_tables import duration
from launch.report.published.papers import PaperResult, read_papers
from launch.train.metrics import TILES

PUBLISHED = Path("docs/evaluations")  # the evaluations of the published page
PAGE = Path("docs/leaderboard.md")
MIN_GAMES = 100
NORMAL = "normal"  # the start of training games of which nothing else is said
UNKNOWN = "-"  # cell of a value that a paper does not give
HERE = "this project"
VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
RESULT_KEYS = ("run", "learner", "board", "search", "machine", "command", "env_steps", "wall_hours", "games",
               "score_mean", "score_high", "reach", "moves_per_second")  # fmt: skip
COLUMNS = ("source", "player", "search", "games", "mean score")
LAST_COLUMNS = ("moves/s", "training", "version", "machine", "command")
INTRODUCTION = f"""\
# Leaderboard

`muzero2048 leaderboard` writes this page from evaluation files (docs/evaluations/) and from the tables of papers
(configs/papers/); do not edit it by hand. To publish a result, copy its file and run the command:
`cp runs/NAME/evaluations/FILE.json docs/evaluations/`.

- Rows of this project have at least {MIN_GAMES} games and a training from normal starts. ± is half of the 95% interval
  of the mean over the games of one network. Games are played without exploration.
- Rows whose source is a paper are figures that the paper states. Nothing in them was measured here. Their ± is the
  interval that the paper gives (Guei and Matsuzaki: over five trained networks). "{UNKNOWN}" stands for what the paper
  does not give. Papers may train from other than normal starts.
- Columns named by a tile give the share of games that reached it.
"""


class Row(NamedTuple):
    """One row of the leaderboard, of this project or of a paper. None is what a paper does not give."""

    board: str
    source: str
    player: str
    search: str
    games: int | None
    score_mean: float
    score_margin: int | float | None  # half of the 95% interval
    reach: dict[int, int | float]
    moves_per_second: int | float | None
    training: str
    version: str
    machine: str
    command: str


def write_leaderboard(paths: Sequence[Path], out: Path, check: bool) -> int:
    """Write the leaderboard, and print one line for each evaluation that it refuses.

    Args:
        paths: evaluation files, and run folders, which stand for their final evaluations; none: those of PUBLISHED.
        out: the Markdown file.
        check: write nothing; only report whether the file differs.

    Returns:
        The exit code 0.

    Raises:
        UserError: a file is no evaluation or cannot be used, or `check` found that the page differs.
    """
    version = project_version()
    rows = [paper_row(paper) for paper in read_papers()]
    for file in evaluation_files(paths):
        result = read_evaluation(file)
        if reasons := refusals(result, version):
            print(f"{file} is left out: {'; '.join(reasons)}")
        else:
            rows.append(result_row(result))
    page = render(rows)
    try:
        old = out.read_text(encoding="utf-8") if out.exists() else ""
        if check and page != old:
            raise UserError(f"{out} differs from its evaluations; run the command without --check")
        if page != old:
            write_text(out, page)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot use {out}: {error}; give another --out") from error
    print(f"{out}: {'up to date' if page == old else 'written'}")
    return 0


def evaluation_files(paths: Sequence[Path]) -> list[Path]:
    """Return the evaluation files that paths name, each once.

    Args:
        paths: evaluation files and run folders; none: the files of PUBLISHED.

    Returns:
        The files.

    Raises:
        UserError: a path does not exist, or a folder has no evaluations.
    """
    if not paths:
        if not PUBLISHED.is_dir():
            raise UserError(f"there is no folder {PUBLISHED}; run the command in a checkout, or give files or runs")
        return sorted(PUBLISHED.glob("*.json"))
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UserError(f"there is no {path}; give an evaluation file or a run folder")
        found += _final_files(path) if path.is_dir() else [path]
    return list(dict.fromkeys(found))


def _final_files(run_folder: Path) -> list[Path]:
    """Return the files of the last evaluation of each search of a run."""
    files = sorted((run_folder / FOLDER).glob("*.json"))
    if not files:
        raise UserError(f"{run_folder} has no evaluations; play one: muzero2048 evaluate {run_folder}")
    return [result["file"] for result in last_of_each_search({**read_evaluation(file), "file": file} for file in files)]


def read_evaluation(file: Path) -> dict[str, Any]:
    """Read an evaluation file of a trained player.

    Raises:
        UserError: the file is not an evaluation of a trained player.
    """
    return read_result(file, RESULT_KEYS)


def refusals(result: dict[str, Any], version: str) -> list[str]:
    """Return why an evaluation is not in the leaderboard; none if it is.

    Args:
        result: as `read_evaluation` returns it.
        version: version of this program; later ones are unknown to it.

    Returns:
        The reasons, each with what to do about it.
    """
    reasons = []
    if result["games"] < MIN_GAMES:
        reasons.append(f"it has {result['games']} games; evaluate with --games {MIN_GAMES} or more")
    if not _is_known(result.get("version"), version):
        found = json.dumps(result.get("version"))
        reasons.append(f"its version {found} is unknown to version {version}; evaluate again")
    # A learner whose results do not name the start has only normal starts.
    if (start := result.get("training_start", NORMAL)) != NORMAL:
        reasons.append(f"it was trained with start.kind={start}; train with start.kind={NORMAL}")
    return reasons


def _is_known(found: Any, version: str) -> bool:
    """Return whether a version is N.N.N and at most that of this program."""
    parts, own = VERSION.fullmatch(found) if isinstance(found, str) else None, VERSION.match(version)
    if parts is None or own is None:
        return found == version
    return [int(part) for part in parts.groups()] <= [int(part) for part in own.groups()]


def result_row(result: dict[str, Any]) -> Row:
    """Return the row of an evaluation, as `read_evaluation` returns it."""
    return Row(
        board=result["board"],
        source=HERE,
        player=f"{result['run']} ({result['learner']})",
        search=result["search"],
        games=result["games"],
        score_mean=float(result["score_mean"]),
        score_margin=float(result["score_high"] - result["score_mean"]),
        reach={tile: result["reach"][str(tile)] for tile in TILES},
        moves_per_second=float(result["moves_per_second"]),
        training=f"{short_number(result['env_steps'])} moves, {duration(result['wall_hours'])}",
        version=result["version"],
        machine=result["machine"],
        command=f"`{result['command']}`",
    )


def paper_row(paper: PaperResult) -> Row:
    """Return the row of a paper's result, which its source marks."""
    return Row(
        board=paper.board,
        source=f"paper: {paper.paper}, {paper.table}",
        player=paper.player,
        search=paper.search,
        games=paper.games,
        score_mean=paper.score_mean,
        score_margin=paper.score_margin,
        reach=paper.reach,
        moves_per_second=paper.moves_per_second,
        training=paper.budget,
        version=UNKNOWN,
        machine=UNKNOWN,
        command=UNKNOWN,
    )


def render(rows: Sequence[Row]) -> str:
    """Return the page: a table for each board, the largest board first, and the highest mean score first in each."""
    ordered = sorted(rows, key=lambda row: (board_order(row.board), -row.score_mean))
    tables = [
        f"\n## {board}\n\n{_table(list(group))}\n" for board, group in groupby(ordered, key=lambda row: row.board)
    ]
    return INTRODUCTION + "".join(tables)


def _table(rows: Sequence[Row]) -> str:
    tiles = [tile for tile in TILES if any(row.reach.get(tile, 0.0) > 0 for row in rows)]
    head = (*COLUMNS, *map(str, tiles), *LAST_COLUMNS)
    return markdown_table(head, [_cells(row, tiles) for row in rows])


def _cells(row: Row, tiles: Sequence[int]) -> tuple[str, ...]:
    margin = "" if row.score_margin is None else f" ± {row.score_margin:,.0f}"
    return (
        row.source,
        row.player,
        row.search,
        UNKNOWN if row.games is None else f"{row.games:,}",
        f"{row.score_mean:,.0f}{margin}",
        *(f"{row.reach[tile]:.1%}" if tile in row.reach else UNKNOWN for tile in tiles),
        UNKNOWN if row.moves_per_second is None else _speed(row.moves_per_second),
        row.training,
        row.version,
        row.machine,
        row.command,
    )


def _speed(moves_per_second: int | float) -> str:
    return f"{moves_per_second:.2g}" if moves_per_second < 10 else short_number(moves_per_second)
