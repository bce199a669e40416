"""The HTML page of a comparison: figures, tables and notes in one file without links."""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from launch.comparison.curves import GroupResult
from launch.comparison.tables import reached_tiles, shared_cells
from launch.evaluation.summary import short_number


class Picture(NamedTuple):
    """A figure as PNG files for light and dark pages."""

    description: str
    light: bytes
    dark: bytes


STYLE = Path(__file__).with_suffix(".css")


def render(
    title: str,
    subtitle: str,
    pictures: Sequence[Picture],
    results: Sequence[dict[str, Any]],
    groups: Sequence[GroupResult],
) -> str:
    """Return the page.

    Args:
        title: title of the page.
        subtitle: line below the title.
        pictures: the figures.
        results: final evaluations (result files, launch/evaluation/result.py), best first.
        groups: the same results by experiment, best first.

    Returns:
        The HTML text.
    """
    figures = "\n".join(_figure(picture) for picture in pictures)
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{STYLE.read_text(encoding="utf-8")}</style></head>
<body>
<h1>{escape(title)}</h1>
<p class="soft">{escape(subtitle)}</p>
<div class="figures">
{figures}
</div>
<h2>Experiments</h2>
{_group_table(groups)}
<h2>Final evaluations</h2>
{_table(results)}
<p><small>Scores and rates are those of whole games played without exploration. Bands and ± are 95% intervals. For one
seed the interval contains the variance between games of the same network, but not the variance between training
seeds. For several seeds it is Student's interval of the mean over training seeds, and contains both variances. The
tables show evaluations after training, which by default have a seed of their own. Training time does not include
evaluation and saving.</small></p>
</body>
</html>
"""


def _figure(picture: Picture) -> str:
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{_inline(picture.dark)}">'
        f'<img src="{_inline(picture.light)}" alt="{escape(picture.description)}"></picture>'
    )


def _inline(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _group_table(groups: Sequence[GroupResult]) -> str:
    if not groups:
        return '<p class="soft">No run has been evaluated at its end yet.</p>'
    rows = "\n".join(_group_row(group) for group in groups)
    head = "".join(
        f"<th>{name}</th>" for name in ("experiment", "learner", "moves of<br>training", "seeds", "games", "mean score")
    )
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return f'<div class="table">{table}</div>'


def _group_row(group: GroupResult) -> str:
    half = (group.score.high - group.score.low) / 2
    meaning = "of its games alone" if group.seeds == 1 else f"over {group.seeds} seeds"
    cells = [
        f"<b>{escape(group.group)}</b><small>{escape(group.search)}</small>",
        escape(group.learner),
        short_number(group.env_steps),
        f"{group.seeds}",
        f"{group.games:,}",
        f"<b>{group.score.value:,.0f}</b> ± {half:,.0f}<small>{meaning}</small>",
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _table(results: Sequence[dict[str, Any]]) -> str:
    if not results:
        return '<p class="soft">No run has been evaluated at its end yet.</p>'
    tiles = reached_tiles(results)
    names = ["run", "learner", "moves of<br>training", "training<br>time", "games", "mean score", "median", "max"]
    head = [*names, *(str(tile) for tile in tiles), "moves/s<br>in play"]
    rows = "\n".join(_row(result, tiles) for result in results)
    cells = "".join(f"<th>{name}</th>" for name in head)
    table = f"<table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return f'<div class="table">{table}</div>'


def _row(result: dict[str, Any], tiles: Sequence[int]) -> str:
    details = f"{result['board']}, {result['search']}, seed {result['training_seed']}"
    half = (result["score_high"] - result["score_low"]) / 2
    cells = [
        f"<b>{escape(result['run'])}</b><small>{escape(details)}</small>",
        escape(result["learner"]),
        short_number(result["env_steps"]),
        _time(result["wall_hours"]),
        f"{result['games']:,}",
        f"<b>{result['score_mean']:,.0f}</b> ± {half:,.0f}",
        *shared_cells(result, tiles),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _time(hours: int | float) -> str:
    return f"{60 * hours:.1f} min" if hours < 1 else f"{hours:.1f} h"
