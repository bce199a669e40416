"""The HTML page of a comparison: one file that works from disk, with plotly.js inside it and no request to anywhere."""

from html import escape
from pathlib import Path
from string import Template

from plotly.offline import get_plotlyjs

from launch.report.comparison import Comparison
from launch.report.page import tables
from launch.report.page.figure_data import figure_data
from launch.viewing import one_file

TEMPLATE, STYLE, SCRIPT = (Path(__file__).with_suffix(suffix) for suffix in (".html", ".css", ".js"))
FIGURE = '<div id="{}" class="figure" role="figure" aria-label="{}"></div>'
SEARCHES = "<h2>Searches at equal time</h2>\n" + FIGURE.format("searches", "mean score against the time of a move")
DISTRIBUTIONS = (
    '<h2>Scores and largest tiles of the games</h2>\n<div class="figures">'
    + FIGURE.format("scores", "share of games by score")
    + FIGURE.format("tiles", "share of games by largest tile")
    + "</div>"
)


def page_text(comparison: Comparison, out: Path) -> str:
    """Return the text of the page; `out` is its folder, from which it links to the configs of runs."""
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        style=one_file.read(STYLE),
        games=escape(comparison.games),
        headline=escape(comparison.headline),
        subtitle=escape(comparison.subtitle),
        searches=SEARCHES if comparison.searches else "",
        groups=tables.group_table(comparison.groups, out),
        distributions=DISTRIBUTIONS if comparison.distributions else "",
        papers=tables.paper_tables(comparison.tables),
        differences=tables.difference_table(comparison.groups, comparison.differences),
        standings=tables.standing_table(comparison.curves, comparison.standings),
        costs=tables.cost_table(comparison.costs),
        config=tables.config_table(comparison.curves, comparison.differing),
        data=one_file.json_text(figure_data(comparison)),
        plotly=get_plotlyjs(),
        script=one_file.read(SCRIPT),
    )
