"""`muzero2048 compare`: learning curves of runs on one axis, as figures, an HTML page, and a printed table."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from launch.comparison.curves import (
    Curve,
    GroupResult,
    Run,
    final_evaluations,
    group_results,
    reach_curves,
    read_run,
    score_curves,
)
from launch.comparison.figures import AXIS_LABELS, DARK, LIGHT, draw
from launch.comparison.page import Picture, render
from launch.comparison.searches import search_curves
from launch.errors import UserError, warn
from launch.files import write_text
from launch.run.metrics import TILES

PAGE = "index.html"


def compare(folders: Sequence[Path], x: str, tile: int, out: Path) -> None:
    """Write score.png, reach_<tile>.png and index.html into `out`, and print the results.

    If a run was evaluated with a search of three or more efforts, searches.png is written too (`search_curves`).

    Args:
        folders: run folders of any learners.
        x: the x-axis of the figures: env_steps, games or wall_hours.
        tile: the tile of the figure of reach rates.
        out: the output folder; it is made if it does not exist.

    Raises:
        UserError: a folder is not a run folder, no run has been evaluated, or `out` cannot be written.
    """
    if tile not in TILES:
        raise UserError(f"--tile is {tile}; give one of {', '.join(map(str, TILES))}")
    runs = [read_run(folder) for folder in folders]
    for run in runs:
        if not run.rows:
            warn(f"{run.name} has not been evaluated yet and is left out of the figures")
    if not any(run.rows for run in runs):
        raise UserError("none of these runs has been evaluated yet; set run.evaluate_env_steps, or wait for the end")
    pictures = {
        "score": _picture("mean score of evaluation", score_curves(runs, x), x, as_rate=False),
        f"reach_{tile}": _picture(f"games that reach {tile}", reach_curves(runs, x, tile), x, as_rate=True),
    }
    if searches := search_curves(runs):
        pictures["searches"] = _picture("mean score of searches", searches, "microseconds", as_rate=False)
    results = sorted(final_evaluations(runs), key=lambda result: -result["score_mean"])
    groups = group_results(results)
    page = render("2048: learning curves", _subtitle(runs, x), list(pictures.values()), results, groups)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, picture in pictures.items():
            (out / f"{name}.png").write_bytes(picture.light)
        write_text(out / PAGE, page)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}; give another --out") from error
    for result in results:
        print(
            f"{result['run']:<24} {result['learner']:<8} mean {result['score_mean']:>10,.0f}"
            f"  ({result['score_low']:,.0f} to {result['score_high']:,.0f}), {result['games']:,} games"
        )
    for group in groups:
        print(_group_line(group))
    print(f"wrote {out / PAGE}")


def _group_line(group: GroupResult) -> str:
    score = group.score
    seeds = "1 seed, interval of its games alone" if group.seeds == 1 else f"interval over {group.seeds} seeds"
    return (
        f"group {group.group:<18} {group.learner:<8} mean {score.value:>10,.0f}"
        f"  ({score.low:,.0f} to {score.high:,.0f}), {seeds}, {group.games:,} games, {group.search}"
    )


def _picture(title: str, curves: Sequence[Curve], x: str, as_rate: bool) -> Picture:
    light, dark = (draw(curves, x, title, as_rate, theme) for theme in (LIGHT, DARK))
    return Picture(f"{title} against {AXIS_LABELS[x]}", light, dark)


def _subtitle(runs: Sequence[Run], x: str) -> str:
    learners = sorted({run.learner for run in runs})
    count = f"{len(runs)} run{'s' if len(runs) > 1 else ''}"
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{count} of {' and '.join(learners)}, against {AXIS_LABELS[x]}. Made {made}."
