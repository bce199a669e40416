"""The tables of the page as HTML. A click on a heading sorts them (page.js)."""

import os
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from launch.evaluation.summary import short_number
from launch.experiment.experiment import CONFIG_FILE
from launch.report.budgets import Cost, Standing
from launch.report.curves import Curve
from launch.report.differences import COLUMNS, Difference, difference_texts
from launch.report.finals import Group, Result
from launch.report.published.markdown_tables import duration, reached_tiles, shared_cells
from launch.words import counted

Cell = tuple[Any, str]  # the value to sort by, and the HTML


def group_table(groups: Sequence[Group], out: Path) -> str:
    """Return the table of final evaluations: a row for each group, and below it one for each seed, folded."""
    if not groups:
        return '<p class="soft">No run has been evaluated at its end yet.</p>'
    tiles = reached_tiles([result for group in groups for result in group.results])
    names = ["experiment", "learner", "moves of training", "training games", "training time", "core- or GPU-hours",
             "games", "mean score", "median", "max", *map(str, tiles), "moves/s in play"]  # fmt: skip
    bodies = [_group_rows(group, tiles, out) for group in groups]
    return html_table("groups", names, bodies, grouped=True)


def _group_rows(group: Group, tiles: Sequence[int], out: Path) -> str:
    half = (group.score.high - group.score.low) / 2
    button = f'<button type="button" class="fold" aria-expanded="false">{counted(group.seeds, "seed")}</button>'
    mean = f"<b>{group.score.value:,.0f}</b> ± {half:,.0f}<small>{group.scope}</small>"
    cells = [
        (group.name, f"<b>{escape(group.label)}</b> {button}<small>{escape(group.search)}</small>"),
        (group.learner, escape(group.learner)),
        (group.env_steps, short_number(group.env_steps)),
        _mean_cell(group, "training_games", short_number),
        _mean_cell(group, "wall_hours", duration),
        _hours_cell(group.device_hours()),
        (group.games, f"{group.games:,}"),
        (group.score.value, mean),
        _mean_cell(group, "score_median", lambda value: f"{value:,.0f}"),
        (group.score_max, f"{group.score_max:,}"),
        *((group.reach(tile), f"{group.reach(tile):.1%}") for tile in tiles),
        _mean_cell(group, "moves_per_second", short_number),
    ]
    seeds = "".join(_seed_row(result, tiles, out) for result in group.results)
    return html_row(cells) + seeds


def _mean_cell(group: Group, key: str, text: Callable[[float], str]) -> Cell:
    return group.mean(key), text(group.mean(key))


def _hours_cell(found: tuple[float, str] | None) -> Cell:
    if found is None:
        return -1, ""
    hours, unit = found
    return hours, f"{hours:.2g} {unit}-h" if hours < 10 else f"{hours:,.0f} {unit}-h"


def _seed_row(result: Result, tiles: Sequence[int], out: Path) -> str:
    half = (result["score_high"] - result["score_low"]) / 2
    config = Path(result["folder"], CONFIG_FILE)
    link = f'<a href="{escape(_relative(config, out))}">{escape(result["run"])}</a>'
    about = f"{result['board']}, seed {result['training_seed']}, {result.get('command', '')}"
    cells = [
        f"{link}<small>{escape(about)}</small>",
        escape(result["learner"]),
        short_number(result["env_steps"]),
        short_number(result["training_games"]),
        duration(result["wall_hours"]),
        "",
        f"{result['games']:,}",
        f"{result['score_mean']:,.0f} ± {half:,.0f}",
        *shared_cells(result, tiles),
    ]
    return '<tr class="seed" hidden>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _relative(file: Path, out: Path) -> str:
    """Return the path of a file as seen from the folder of the page."""
    return Path(os.path.relpath(file.resolve(), out.resolve())).as_posix()


def difference_table(groups: Sequence[Group], differences: Sequence[Difference]) -> str:
    """Return the choice of a group, and the table of tests of each group against each other one.

    Each pair is in it twice, once for each group as the first one; page.js shows the rows of the chosen group.
    """
    if not differences:
        return '<p class="soft">There are no two groups on one board.</p>'
    firsts = list(dict.fromkeys(name for pair in differences for name in (pair.first, pair.second)))
    options = "".join(f'<option value="{number}">{escape(name)}</option>' for number, name in enumerate(firsts))
    choice = f'<p><label>group <select id="first">{options}</select></label> minus each other group</p>'
    rest = len(groups) - len(firsts)
    why = "with lower scores or alone on their board"
    note = f'<p class="soft">Not tested: {counted(rest, "group")} {why}.</p>' if rest else ""
    both = [turned for pair in differences for turned in (pair, pair.turned())]
    rows = "".join(_difference_row(pair, firsts.index(pair.first)) for pair in both)
    return choice + html_table("differences", COLUMNS, [rows]) + note


def _difference_row(pair: Difference, first: int) -> str:
    """Return the row of a pair, hidden until its first group is chosen."""
    texts = difference_texts(pair)
    improvement = f"{texts.improvement}<small>{texts.improvement_interval}</small>" if pair.improvement else ""
    return html_row(
        [
            (pair.second, f"{escape(texts.first)}<small>minus {escape(texts.second)}</small>"),
            (pair.difference.value, f"<b>{texts.difference}</b><small>{texts.interval}</small>"),
            (pair.p, texts.p),
            (pair.improvement.value if pair.improvement else -1, improvement),
            (pair.scope, escape(texts.scope)),
        ],
        f' data-first="{first}"{" hidden" if first else ""}',
    )


def standing_table(curves: Sequence[Curve], found: Sequence[Standing]) -> str:
    """Return the table of scores at the last place of each axis that all curves reached."""
    if not found:
        return '<p class="soft">There is one curve alone.</p>'
    names = ["mean score", *(f"after {_place(standing)}" for standing in found)]
    rows = []
    for curve in curves:
        cells: list[Cell] = [(curve.label, escape(curve.label))]
        for standing in found:
            score = dict(standing.scores).get(curve.label)
            if score is None:
                cells.append((-1, ""))
                continue
            text = f"{score.value:,.0f}<small>{score.low:,.0f} to {score.high:,.0f}</small>"
            cells.append((score.value, f"<b>{text}</b>" if standing.scores[0][0] == curve.label else text))
        rows.append(html_row(cells))
    return html_table("standings", names, rows)


def _place(standing: Standing) -> str:
    if standing.axis == "wall_hours":
        return duration(standing.at)
    return f"{short_number(standing.at)} {'moves' if standing.axis == 'env_steps' else 'games'}"


def cost_table(found: Sequence[Cost]) -> str:
    """Return the table of what each score cost: a row for each curve, a column for each score."""
    levels = sorted({cost.level for cost in found})
    spent = {(cost.label, cost.level): cost.spent for cost in found}
    rows = []
    for label in dict.fromkeys(cost.label for cost in found):
        cells: list[Cell] = [(label, escape(label))]
        for level in levels:
            here = spent.get((label, level))
            cells.append((np.inf, "") if here is None else (here["env_steps"], _spent(here)))
        rows.append(html_row(cells))
    return html_table("costs", ["first reached", *(f"{level:,.0f} points" for level in levels)], rows) if rows else ""


def _spent(spent: dict[str, float]) -> str:
    rest = f"{short_number(spent['games'])} games, {duration(spent['wall_hours'])}"
    return f"{short_number(spent['env_steps'])} moves<small>{rest}</small>"


def config_table(curves: Sequence[Curve], found: dict[str, list[str]]) -> str:
    """Return the table of the config keys in which the curves differ."""
    if not found:
        return '<p class="soft">The configs are equal but for names and seeds.</p>'
    names = ["key", *(curve.label for curve in curves)]
    rows = [html_row([(key, escape(key)), *((text, escape(text)) for text in texts)]) for key, texts in found.items()]
    return html_table("config", names, rows)


def html_row(cells: Sequence[Cell], attributes: str = "") -> str:
    """Return a row of cells (value to sort by, HTML); `attributes` of the row begin with a space."""
    return (
        f"<tr{attributes}>"
        + "".join(f'<td data-value="{escape(str(value))}">{text}</td>' for value, text in cells)
        + "</tr>"
    )


def html_table(name: str, columns: Sequence[str], bodies: Sequence[str], grouped: bool = False) -> str:
    """Return a table that page.js sorts by a click on a heading; if `grouped`, each body is sorted as a whole."""
    heads = "".join(f'<th scope="col"><button type="button">{escape(column)}</button></th>' for column in columns)
    inside = "\n".join(f"<tbody>{body}</tbody>" for body in bodies) if grouped else f"<tbody>{''.join(bodies)}</tbody>"
    head = f"<thead><tr>{heads}</tr></thead>"
    return f'<div class="table" tabindex="0"><table id="{escape(name)}">{head}\n{inside}</table></div>'
