"""`muzero2048 compare`: learning curves of runs on one axis, as a page, figures, CSV files, and a printed table."""

from collections.abc import Sequence
from pathlib import Path

from launch.errors import UserError, warn
from launch.experiment.metrics import REACH
from launch.report.comparison import Comparison, make_comparison
from launch.report.curves import SCORE
from launch.report.export import csv_files
from launch.report.figures import PlotLine, draw, draw_scores, draw_tiles, line_of
from launch.report.finals import Group, Result
from launch.report.page.page import page_text
from launch.report.runs import read_runs
from launch.report.selection import Config, check_key

PAGE = "index.html"


def compare(configs: dict[Path, Config], keys: Sequence[str], x: str, tile: int, out: Path) -> None:
    """Write index.html, figures as PNG and SVG, and CSV files into `out`, and print the results.

    If a run was evaluated with a search of three or more efforts, its figure is written too (`search_curves`).

    Args:
        configs: the runs, as `select` returns them. Damaged ones cause a warning and are left out.
        keys: dotted keys of configs. Runs of one learner with equal values of all keys are seeds of one curve.
        x: the x-axis of the figures: env_steps, games or wall_hours. The page can change its own.
        tile: the tile of the figure of reach rates.
        out: the output folder; it is made if it does not exist.
    """
    for key in keys:
        check_key(key, configs, "--by")
    runs = read_runs(configs)
    for run in runs:
        if SCORE not in run.columns:
            warn(f"{run.name} has not been evaluated yet and is left out of the curves of scores")
    tiles = sorted({int(name.removeprefix(REACH)) for run in runs for name in run.columns if name.startswith(REACH)})
    if tiles and tile not in tiles:
        rates = ", ".join(map(str, tiles))
        warn(f"no run has the rate of the tile {tile}, so its figure is left out; give a --tile of {rates}")
    comparison = make_comparison(runs, keys, x, tile)
    files = {PAGE: page_text(comparison, out).encode()} | _figures(comparison)
    files |= {name: text.encode() for name, text in csv_files(comparison).items()}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (out / name).write_bytes(data)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}; give another --out") from error
    for result in comparison.results:
        print(_line(result, f"{result['run']:<24}", ""))
    for group in comparison.groups:
        print(_group_line(group))
    print(f"wrote {out / PAGE}")


def _figures(comparison: Comparison) -> dict[str, bytes]:
    """Return the files of the figures by name."""
    axis, tile = comparison.axis, comparison.tile

    def lines_of(metric: str) -> list[PlotLine]:
        curves = [curve for curve in comparison.curves if metric in curve.series]
        return [line_of(curve.label, curve.series[metric], axis) for curve in curves]

    plots = {
        "score": ("mean score of evaluation", lines_of(SCORE), axis, False),
        f"reach_{tile}": (f"games that reach {tile}", lines_of(f"{REACH}{tile}"), axis, True),
        "searches": ("mean score of searches", comparison.searches, "microseconds", False),
    }
    figures = {name: draw(lines, x, title, as_rate) for name, (title, lines, x, as_rate) in plots.items() if lines}
    if comparison.distributions:
        figures["scores"] = draw_scores(comparison.distributions)
        figures["tiles"] = draw_tiles(comparison.distributions)
    return {f"{name}.{suffix}": image for name, images in figures.items() for suffix, image in images.items()}


def _group_line(group: Group) -> str:
    seeds = "1 seed, interval of its games alone" if group.seeds == 1 else f"interval over {group.seeds} seeds"
    return _line(group.as_result(), f"group {group.label:<18}", f" {seeds},")


def _line(result: Result, name: str, seeds: str) -> str:
    return (
        f"{name} {result['learner']:<8} mean {result['score_mean']:>10,.0f}"
        f"  ({result['score_low']:,.0f} to {result['score_high']:,.0f}),{seeds} {result['games']:,} games,"
        f" {result['search']}"
    )
