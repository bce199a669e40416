"""The tables of the page as HTML. A click on a heading sorts them (page.js)."""

import os
from collections.abc import Callable, Sequence
from html import escape
from itertools import chain
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import numpy as np

from launch.evaluation.result_columns import GAMES, MAX, MEDIAN, rates, shown_tiles, speed
from launch.experiment.experiment import CONFIG_FILE
from launch.quantities import counted, duration, short_number
from launch.report.budgets import Cost, Standing
from launch.report.curves import Curve
from launch.report.differences import COLUMNS, Difference
from launch.report.finals import Group, Result
from launch.report.papers.comparison import TableData
from launch.report.papers.lines import line_columns, lines_of
from launch.report.runs import X_AXES
from launch.tables import Column, entry, fields, html_head, html_rows, html_table, markup, render

Cell = tuple[int | float | str, str]  # the value to sort by, and the HTML
T = TypeVar("T", Standing, Cost)


def group_table(groups: Sequence[Group], out: Path) -> str:
    """Return the table of final evaluations: a row for each group, and below it one for each seed, folded."""
    if not groups:
        return '<p class="soft">No run has been evaluated at its end yet.</p>'
    tiles = shown_tiles(result for group in groups for result in group.results)
    columns = _result_columns(_group_name, _group_score, tiles)
    of_seeds = _result_columns(lambda result: _seed_name(result, out), _score, tiles)
    bodies = [
        html_rows([group.as_result()], columns) + html_rows(group.results, of_seeds, ' class="seed" hidden', False)
        for group in groups
    ]
    return html_table("groups", "\n".join([html_head(columns), *(f"<tbody>{body}</tbody>" for body in bodies)]))


def _result_columns(
    name: Callable[[Result], str], score: Callable[[Result], str], tiles: Sequence[int]
) -> list[Column]:
    """Return the columns of groups or of their seeds; `name` and `score` return HTML."""
    return [
        Column("experiment", lambda result: result.get("name"), name, name),
        Column("mean score", lambda result: result["score_mean"], score, score),
        entry("learner"),
        entry("moves of training", "env_steps", short_number),
        entry("training games", "training_games", short_number),
        entry("training time", "wall_hours", duration),
        Column(
            "core- or GPU-hours",
            lambda result: -1 if result["device"] is None else result["device_hours"],
            _device_hours,
        ),
        GAMES,
        MEDIAN,
        MAX,
        *rates(tiles),
        speed("moves/s in play"),
    ]


def _group_name(result: Result) -> str:
    button = f'<button type="button" class="fold" aria-expanded="false">{counted(result["seeds"], "seed")}</button>'
    return f"<b>{escape(result['group'])}</b> {button}<small>{escape(result['search'])}</small>"


def _seed_name(result: Result, out: Path) -> str:
    """Return a link to the config of a seed, as seen from the folder of the page, and about its training."""
    config = Path(os.path.relpath(Path(result["folder"], CONFIG_FILE).resolve(), out.resolve())).as_posix()
    about = f"{result['board']}, seed {result['training_seed']}, {result.get('command', '')}"
    return f'<a href="{escape(quote(config))}">{escape(result["run"])}</a><small>{escape(about)}</small>'


def _score(result: Result) -> str:
    return f"{result['score_mean']:,.0f} ± {(result['score_high'] - result['score_low']) / 2:,.0f}"


def _group_score(result: Result) -> str:
    margin = (result["score_high"] - result["score_low"]) / 2
    return f"<b>{result['score_mean']:,.0f}</b> ± {margin:,.0f}<small>{result['scope']}</small>"


def _device_hours(result: Result) -> str:
    hours = result.get("device_hours")
    if hours is None:
        return ""
    return f"{hours:{'.2g' if hours < 10 else ',.0f'}} {result['device']}-h"


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
    why = "with lower scores, alone on their board, or against an adversary"
    note = f'<p class="soft">Not tested: {counted(rest, "group")} {why}.</p>' if rest else ""
    rows = ""
    for pair in chain.from_iterable((pair, pair.turned()) for pair in differences):
        first = firsts.index(pair.first)
        rows += html_rows([pair], COLUMNS, f' data-first="{first}"{" hidden" if first else ""}')
    return choice + html_table("differences", f"{html_head(COLUMNS)}\n<tbody>{rows}</tbody>") + note


def standing_table(curves: Sequence[Curve], standings: Sequence[Standing]) -> str:
    """Return a table of `standings` for each board; the best score is bold."""
    if not standings:
        return '<p class="soft">There are no two curves on one board.</p>'

    def cell(standing: Standing, label: str) -> Cell:
        score = dict(standing.scores).get(label)
        if score is None:
            return -1, ""
        html = markup(f"{score.value:,.0f}", f"{score.low:,.0f} to {score.high:,.0f}")
        return score.value, f"<b>{html}</b>" if standing.scores[0][0] == label else html

    def of_board(name: str, here: list[Standing]) -> str:
        names = ["mean score", *(f"after {_place(standing)}" for standing in here)]
        labels = [curve.label for curve in curves if curve.board == here[0].board]
        return _cell_table(name, names, {label: [cell(standing, label) for standing in here] for label in labels})

    return _tables_by_board("standings", standings, of_board)


def _place(standing: Standing) -> str:
    if standing.axis == "wall_hours":
        return duration(standing.at)
    return f"{short_number(standing.at)} {'moves' if standing.axis == 'env_steps' else 'games'}"


def cost_table(costs: Sequence[Cost]) -> str:
    """Return a table of what each score cost for each board: a row for each curve, a column for each score."""

    def of_board(name: str, here: list[Cost]) -> str:
        levels = sorted({cost.level for cost in here})
        rows: dict[str, list[Cell]] = {cost.label: [(np.inf, "")] * len(levels) for cost in here}
        for cost in here:
            moves, games, hours = (cost.spent[axis] for axis in X_AXES)
            rest = f"{short_number(games)} games, {duration(hours)}"
            rows[cost.label][levels.index(cost.level)] = moves, markup(f"{short_number(moves)} moves", rest)
        return _cell_table(name, ["first reached", *(f"{level:,.0f} points" for level in levels)], rows)

    return _tables_by_board("costs", costs, of_board)


def _tables_by_board(name: str, values: Sequence[T], table: Callable[[str, list[T]], str]) -> str:
    """Return a table of the values of each board; the names of the second and later ones end with a number."""
    boards = enumerate(dict.fromkeys(value.board for value in values))
    tables = [table(f"{name}{n or ''}", [value for value in values if value.board == board]) for n, board in boards]
    return "\n".join(tables)


def _cell_table(name: str, names: Sequence[str], rows: dict[str, list[Cell]]) -> str:
    """Return a table of cells by label of the row."""

    def column(place: int) -> Column:
        def html(row: Sequence[Cell]) -> str:
            return row[place][1]

        return Column(names[place], lambda row: row[place][0], html, html)

    lines = [[(label, escape(label)), *cells] for label, cells in rows.items()]
    return html_table(name, render(lines, [column(place) for place in range(len(names))], "html"))


def config_table(curves: Sequence[Curve], differing: dict[str, list[str]]) -> str:
    """Return the table of the config keys in which the curves differ."""
    if not differing:
        return '<p class="soft">The configs are equal but for names and seeds.</p>'
    columns = fields("key", *(curve.label for curve in curves))
    return html_table("config", render([(key, *texts) for key, texts in differing.items()], columns, "html"))


def paper_tables(tables: Sequence[TableData]) -> str:
    """Return the section of papers' tables: the paper's number and ours, one above the other; "" if there are none."""
    if not tables:
        return ""
    return "\n".join(['<h2 id="papers-tables">Papers\' tables</h2>', *map(_paper_section, tables)])


def _paper_section(data: TableData) -> str:
    columns = line_columns(data)
    bodies = []
    for row in data.rows:
        paper, here = lines_of(row)
        ours = html_rows([here], columns)
        if row.why:
            ours = f'<tr><td></td><td>here</td><td colspan="{len(columns) - 2}">not here: {escape(row.why)}</td></tr>'
        bodies.append(f"<tbody>{html_rows([paper], columns)}{ours}</tbody>")
    table = html_table(f"{data.table}-b{data.budget:g}", "\n".join([html_head(columns), *bodies]))
    budget = f"Trained here with {data.budget:g} of the paper's moves."
    about = f"{data.source}. {budget} The paper: {data.conditions}"
    lines = "".join(f"<li>{escape(line)}</li>" for line in data.caveats)
    origin = f"{data.command}, version {data.version}, {data.machine}, {data.time}"
    return (
        f'<section class="papers"><h3>{escape(data.title)}</h3>\n<p class="soft">{escape(about)}</p>\n{table}\n'
        f"<ul>{lines}</ul>\n<p><small>{escape(origin)}</small></p></section>"
    )
