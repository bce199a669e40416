"""The HTML page of a comparison: one file that works from disk, with plotly.js inside it and no request to anywhere."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from plotly.offline import get_plotlyjs

from launch.report.content import Content
from launch.report.figures import Line
from launch.report.finals import Group
from launch.report.page.figure_data import figure_data
from launch.report.page.html_tables import config_table, cost_table, difference_table, group_table, standing_table
from launch.report.page.paper_tables import paper_tables

HERE = Path(__file__)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
NOTES = """Scores and rates are those of whole games played without exploration. Bands and ± are 95% intervals. For one
seed the interval contains the variance between games of the same network, but not the variance between training seeds.
For several seeds it is Student's interval of the mean over training seeds and contains both, or, if chosen, a bootstrap
interval of the interquartile mean, which is too narrow for few seeds. Median, time and speed of several seeds are means
over the seeds. Games and hours at a point of
several seeds are their means at that number of moves. Training time does not include evaluation and saving. Markers are
evaluations after training, which by default have a seed of their own; a dotted line joins three or more of one run and
search."""


def render(content: Content, out: Path) -> str:
    """Return the text of the page.

    Args:
        content: what it shows.
        out: folder of the page, from which it links to the configs of runs.

    Returns:
        The HTML text.
    """
    data = json.dumps(figure_data(content), allow_nan=False).replace("<", "\\u003c")
    title = "2048: learning curves"
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{title}</title><style>{HERE.with_suffix(".css").read_text(encoding="utf-8")}</style></head>
<body>
<h1>{title}</h1>
<p class="soft">{escape(content.subtitle)}</p>
{_controls()}
<div id="curves" class="figure" role="figure" aria-label="learning curves"></div>
{_searches(content.searches)}
<h2>Final evaluations</h2>
{group_table(content.groups, out)}
{_distributions(content.groups)}
{paper_tables(content.tables)}
<h2>Is a difference real?</h2>
{difference_table(content.groups, content.differences)}
<h2>Equal budgets</h2>
{standing_table(content.curves, content.standings)}
{cost_table(content.costs)}
<h2>What differs</h2>
{config_table(content.curves, content.differing)}
<p><small>{NOTES}</small></p>
<script type="application/json" id="data">{data}</script>
<script>{get_plotlyjs()}</script>
<script>{HERE.with_suffix(".js").read_text(encoding="utf-8")}</script>
</body>
</html>
"""


def _controls() -> str:
    return """<form class="controls" aria-label="what the figure shows">
<label>metric <select id="metric"></select></label>
<label>against <select id="axis"></select></label>
<label>band <select id="band"><option value="mean">mean, Student's interval</option>
<option value="iqm">interquartile mean, bootstrap interval</option></select></label>
<label>panels <select id="panels"></select></label>
<label><input type="checkbox" id="logx"> logarithmic x</label>
<label><input type="checkbox" id="logy"> logarithmic y</label>
<label><input type="checkbox" id="papers"> results of papers</label>
</form>
<p class="soft" id="meaning" aria-live="polite"></p>"""


def _distributions(groups: Sequence[Group]) -> str:
    if not any("score_bins" in result for group in groups for result in group.results):
        return ""
    figures = (("scores", "share of games by score"), ("tiles", "share of games by largest tile"))
    parts = [f'<div id="{name}" class="figure" role="figure" aria-label="{text}"></div>' for name, text in figures]
    return f'<h2>Scores and largest tiles of the games</h2>\n<div class="figures">{"".join(parts)}</div>'


def _searches(searches: Sequence[Line]) -> str:
    if not searches:
        return ""
    figure = '<div id="searches" class="figure" role="figure" aria-label="mean score against the time of a move"></div>'
    return f"<h2>Searches at equal time</h2>\n{figure}"
