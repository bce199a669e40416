"""`muzero2048 compare`: learning curves of runs on one axis, as a page, figures, CSV files, and a printed table."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError, warn
from launch.report.budgets import costs, standings
from launch.report.config_table import differing_keys
from launch.report.content import Content
from launch.report.curves import REACH, SCORE, Curve, make_curves, values_of
from launch.report.differences import differences
from launch.report.export import csv_files
from launch.report.figures import SUFFIXES, Line, draw, draw_scores, draw_tiles, line_of
from launch.report.finals import Group, distributions, final_evaluations, make_groups
from launch.report.page.page import render
from launch.report.papers.table_file import tables_of_runs
from launch.report.published.papers import read_papers
from launch.report.runs import Run, read_runs
from launch.report.searches import search_curves
from launch.report.selection import check_key, select
from launch.train.metrics import TILES
from launch.words import counted

PAGE = "index.html"
# Points of a series: as many as keep the page's data below PAGE_BYTES, in these limits. A point takes 4 numbers of 4
# bytes in base64, and 2 more with a band. With MOST_POINTS, a part of which `kept_points` keeps the extremes is about
# 5 of the 1,300 pixels of the figure.
MOST_POINTS, FEWEST_POINTS = 2000, 96
PAGE_BYTES = 6_000_000
POINT_BYTES = 30


class Selection(NamedTuple):
    """Which runs are compared, see `launch.report.selection.select`."""

    names: Sequence[str]
    where: Sequence[str]
    since: str | None
    runs_folder: Path


def compare(selection: Selection, keys: Sequence[str], x: str, tile: int, out: Path) -> None:
    """Write index.html, figures as PNG and SVG, and CSV files into `out`, and print the results.

    If a run was evaluated with a search of three or more efforts, its figure is written too (`search_curves`).

    Args:
        selection: the runs. Damaged ones cause a warning and are left out.
        keys: dotted keys of configs. Runs of one learner with equal values of all keys are seeds of one curve.
        x: the x-axis of the figures: env_steps, games or wall_hours. The page can change its own.
        tile: the tile of the figure of reach rates.
        out: the output folder; it is made if it does not exist.

    Raises:
        UserError: no run is selected or has been evaluated, a key is unknown, or `out` cannot be written.
    """
    if tile not in TILES:
        raise UserError(f"--tile is {tile}; give one of {', '.join(map(str, TILES))}")
    configs = select(*selection)
    for key in keys:
        check_key(key, configs, "--by")
    runs = read_runs(configs)
    for run in runs:
        if SCORE not in run.columns:
            warn(f"{run.name} has not been evaluated yet and is left out of the curves of scores")
    curves = make_curves(runs, keys, _most_points(runs, keys))
    results = final_evaluations(runs)
    if not results and not any(SCORE in curve.series for curve in curves):
        raise UserError("none of these runs has been evaluated yet; set run.evaluate_env_steps, or wait for the end")
    groups = make_groups(results, keys)
    searches = search_curves(results)
    boards = {result["board"] for result in results}
    papers = [paper for paper in read_papers() if paper.board in boards]
    tables = tables_of_runs(run.folder for run in runs)
    budgets = standings(curves), costs(curves), differing_keys(curves)
    shown = curves, groups, distributions(groups), differences(groups), searches, *budgets, papers, tables
    content = Content(_subtitle(runs), x, tile, keys, *shown)
    files = {PAGE: render(content, out).encode()} | _figures(content)
    files |= {name: text.encode() for name, text in csv_files(content).items()}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (out / name).write_bytes(data)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}; give another --out") from error
    for result in results:
        print(
            f"{result['run']:<24} {result['learner']:<8} mean {result['score_mean']:>10,.0f}"
            f"  ({result['score_low']:,.0f} to {result['score_high']:,.0f}), {result['games']:,} games,"
            f" {result['search']}"
        )
    for group in groups:
        print(_group_line(group))
    print(f"wrote {out / PAGE}")


def _most_points(runs: Sequence[Run], keys: Sequence[str]) -> int:
    """Return how many points each series may have, see PAGE_BYTES."""
    series = {
        (run.learner, run.board, *map(str, values_of(run, keys)), metric) for run in runs for metric in run.columns
    }
    return min(MOST_POINTS, max(FEWEST_POINTS, PAGE_BYTES // (POINT_BYTES * max(len(series), 1))))


def _figures(content: Content) -> dict[str, bytes]:
    """Return the files of the figures by name."""
    axis, tile = content.axis, content.tile
    lines = {
        "score": ("mean score of evaluation", _lines(content.curves, SCORE, axis), axis, False),
        f"reach_{tile}": (f"games that reach {tile}", _lines(content.curves, f"{REACH}{tile}", axis), axis, True),
        "searches": ("mean score of searches", content.searches, "microseconds", False),
    }
    figures: dict[str, bytes] = {}
    for suffix in SUFFIXES:
        figures |= {
            f"{name}.{suffix}": draw(found, x, title, as_rate, suffix)
            for name, (title, found, x, as_rate) in lines.items()
            if found
        }
        if content.distributions:
            figures[f"scores.{suffix}"] = draw_scores(content.distributions, suffix)
            figures[f"tiles.{suffix}"] = draw_tiles(content.distributions, suffix)
    return figures


def _lines(curves: Sequence[Curve], metric: str, x: str) -> list[Line]:
    return [line_of(curve.label, curve.series[metric], x) for curve in curves if metric in curve.series]


def _group_line(group: Group) -> str:
    score = group.score
    seeds = "1 seed, interval of its games alone" if group.seeds == 1 else f"interval over {group.seeds} seeds"
    return (
        f"group {group.label:<18} {group.learner:<8} mean {score.value:>10,.0f}"
        f"  ({score.low:,.0f} to {score.high:,.0f}), {seeds}, {group.games:,} games, {group.search}"
    )


def _subtitle(runs: Sequence[Run]) -> str:
    learners = sorted({run.learner for run in runs})
    return f"{counted(len(runs), 'run')} of {' and '.join(learners)}. Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
