"""`muzero2048 leaderboard`: one table for each board, from evaluation files and from results of papers and programs.

A row needs MIN_GAMES games, a known version, and a training from normal starts. Evaluations that lack one of these are
refused, each with one line.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.evaluation.boards.notation import board_order
from launch.evaluation.result import FOLDER, last_of_each_search, read_result
from launch.evaluation.result_columns import rates, reached_tiles
from launch.experiment.machine_info import project_version
from launch.files import write_text
from launch.quantities import duration, short_number
from launch.report.published.papers import BOARD, PaperResult, read_papers
from launch.report.published.programs import Program, read_programs
from launch.tables import Column, entry, render

PUBLISHED = Path("docs/evaluations")  # the evaluations of the published page
PAGE = Path("docs/leaderboard.md")
MIN_GAMES = 100
NORMAL = "normal"  # the start of training games of which nothing else is said
UNKNOWN = "-"  # cell of a value that a source does not give
HERE = "this project"
# The column `checked`; UNKNOWN: not judged.
JUDGED, QUOTED, INVALID = "judged", "quoted", "invalid: "
VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
RESULT_KEYS = ("run", "learner", "board", "search", "machine", "command", "env_steps", "wall_hours", "games",
               "score_mean", "score_high", "reach", "moves_per_second")  # fmt: skip
INTRODUCTION = f"""\
# Leaderboard

`muzero2048 leaderboard` writes this page from evaluation files (docs/evaluations/), from the tables of papers
(configs/papers/) and from what the authors of open programs state (launch/report/published/programs.yaml); do not edit
it by hand. To publish a result, copy its file and run the command: `cp runs/NAME/evaluations/FILE.json
docs/evaluations/`.

- Rows of this project have at least {MIN_GAMES} games and a training from normal starts. ± is half of the 95% interval
  of the mean over the games of one network. Games are played without exploration.
- Rows whose source is a paper or a program are figures that it states. Nothing in them was measured here. Their ± is
  the interval that the paper gives (Guei and Matsuzaki: over five trained networks). "{UNKNOWN}" stands for what the
  source does not give. Papers may train from other than normal starts; some programs learn nothing.
- `checked` says who held the games against the rules. {JUDGED}: `muzero2048 judge` replayed all of them, and tested
  their spawns. {UNKNOWN}: a row of this project that was not judged. {QUOTED}: the figures are those of the source.
  invalid: the figures are known not to be those of this game; such rows come last.
- moves/s of a judged row includes the writing of its games, one move of all games after another.
- Columns named by a tile give the share of games that reached it.
"""


def write_leaderboard(paths: Sequence[Path], out: Path | None, check: bool) -> None:
    """Write the leaderboard, and print one line for each evaluation that it refuses.

    Args:
        paths: evaluation files, and run folders, which stand for their final evaluations; none: those of PUBLISHED.
        out: the Markdown file; None: PAGE.
        check: write nothing; only report whether the file differs, UserError if it does.
    """
    out, version = out or PAGE, project_version()
    rows = [*map(paper_row, read_papers()), *map(program_row, read_programs())]
    for file in evaluation_files(paths):
        result = read_evaluation(file)
        if reasons := refusals(result, version):
            print(f"{file} is left out: {'; '.join(reasons)}")
        else:
            rows.append(result_row(result))
    page = page_text(rows)
    try:
        old = out.read_text(encoding="utf-8") if out.exists() else ""
        if check and page != old:
            raise UserError(f"{out} differs from its evaluations; run the command without --check")
        if page != old:
            write_text(out, page)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot use {out}: {error}; give another --out") from error
    print(f"{out}: {'up to date' if page == old else 'written'}")


def evaluation_files(paths: Sequence[Path]) -> list[Path]:
    """Return the evaluation files that paths name, each once, see `write_leaderboard`."""
    if not paths:
        if not PUBLISHED.is_dir():
            raise UserError(f"there is no folder {PUBLISHED}; run the command in a checkout, or give files or runs")
        return sorted(PUBLISHED.glob("*.json"))
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UserError(f"there is no {path}; give an evaluation file or a run folder")
        files += _final_files(path) if path.is_dir() else [path]
    return list(dict.fromkeys(files))


def _final_files(run_folder: Path) -> list[Path]:
    """Return the files of the last evaluation of each search of a run."""
    files = sorted((run_folder / FOLDER).glob("*.json"))
    if not files:
        raise UserError(f"{run_folder} has no evaluations; play one: muzero2048 evaluate {run_folder}")
    return [result["file"] for result in last_of_each_search({**read_evaluation(file), "file": file} for file in files)]


def read_evaluation(file: Path) -> dict[str, Any]:
    """Read an evaluation file of a trained player."""
    return read_result(file, RESULT_KEYS)


def refusals(result: dict[str, Any], version: str) -> list[str]:
    """Return why an evaluation is not in the leaderboard, and what to do about it; none if it is.

    Later versions than `version`, that of this program, are unknown to it.
    """
    reasons = []
    if result["games"] < MIN_GAMES:
        reasons.append(f"it has {result['games']} games; evaluate with --games {MIN_GAMES} or more")
    if not _is_known(result.get("version"), version):
        other = json.dumps(result.get("version"))
        reasons.append(f"its version {other} is unknown to version {version}; evaluate again")
    if "against" in result:
        reasons.append("its tiles were placed by an adversary; evaluate without --against")
    # A learner whose results do not name the start has only normal starts.
    if (start := result.get("training_start", NORMAL)) != NORMAL:
        reasons.append(f"it was trained with start.kind={start}; train with start.kind={NORMAL}")
    return reasons


def _is_known(other: Any, version: str) -> bool:
    """Return whether a version is N.N.N and at most that of this program."""
    parts, own = VERSION.fullmatch(other) if isinstance(other, str) else None, VERSION.match(version)
    if parts is None or own is None:
        return bool(other == version)
    return [int(part) for part in parts.groups()] <= [int(part) for part in own.groups()]


def result_row(result: dict[str, Any]) -> dict[str, Any]:
    """Return the row of an evaluation, as `read_evaluation` returns it."""
    return {
        **result,
        "source": HERE,
        "player": f"{result['run']} ({result['learner']})",
        "score_margin": result["score_high"] - result["score_mean"],
        "training": f"{short_number(result['env_steps'])} moves, {duration(result['wall_hours'])}",
        "command": f"`{result['command']}`",
        "checked": JUDGED if "judged" in result else UNKNOWN,
    }


def paper_row(paper: PaperResult) -> dict[str, Any]:
    """Return the row of a paper's result, which its source marks."""
    about = {"source": f"paper: {paper.paper}, {paper.table}", "training": paper.budget, "checked": QUOTED}
    return paper._asdict() | about | dict.fromkeys(("version", "machine", "command"), UNKNOWN)


def program_row(program: Program) -> dict[str, Any]:
    """Return the row of a program's result, which its source marks."""
    return {
        **asdict(program),
        "source": f"program: {program.source}",
        "board": BOARD,
        "score_margin": None,
        "moves_per_second": program.moves_per_second or None,
        "machine": program.machine or UNKNOWN,
        "checked": f"{INVALID}{program.invalid}" if program.invalid else QUOTED,
        **dict.fromkeys(("training", "version", "command"), UNKNOWN),
    }


def page_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return the page: a table for each board, the largest first; high scores first, invalid ones last."""
    ordered = sorted(rows, key=lambda row: (board_order(row["board"]), _is_invalid(row), -row["score_mean"]))
    tables = [
        f"\n## {board}\n\n{_table(list(group))}\n" for board, group in groupby(ordered, key=lambda row: row["board"])
    ]
    return INTRODUCTION + "".join(tables)


def _is_invalid(row: dict[str, Any]) -> bool:
    return bool(row["checked"].startswith(INVALID))


def _table(rows: Sequence[dict[str, Any]]) -> str:
    columns = [
        *map(entry, ("source", "player", "search")),
        entry("games", form=lambda games: UNKNOWN if games is None else f"{games:,}"),
        Column("mean score", lambda row: row["score_mean"], _score),
        entry("checked"),
        *rates(reached_tiles(rows)),
        entry("moves/s", "moves_per_second", _speed),
        *map(entry, ("training", "version", "machine", "command")),
    ]
    return render(rows, columns, "markdown")


def _score(row: dict[str, Any]) -> str:
    margin = "" if row["score_margin"] is None else f" ± {row['score_margin']:,.0f}"
    return f"{row['score_mean']:,.0f}{margin}"


def _speed(moves_per_second: float | None) -> str:
    if moves_per_second is None:
        return UNKNOWN
    return f"{moves_per_second:.2g}" if moves_per_second < 10 else short_number(moves_per_second)
