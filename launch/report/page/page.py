"""The HTML page of a comparison: one file that works from disk, with plotly.js inside it and no request to anywhere."""

import json
from html import escape
from pathlib import Path

from plotly.offline import get_plotlyjs

from launch.report.comparison import Comparison
from launch.report.page import tables
from launch.report.page.figure_data import figure_data

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


def page_text(comparison: Comparison, out: Path) -> str:
    """Return the text of the page; `out` is its folder, from which it links to the configs of runs."""
    data = json.dumps(figure_data(comparison), allow_nan=False).replace("<", "\\u003c")
    title = "2048: learning curves"
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{title}</title><style>{HERE.with_suffix(".css").read_text(encoding="utf-8")}</style></head>
<body>
<h1>{title}</h1>
<p class="soft">{escape(comparison.subtitle)}</p>
{_controls()}
{_figure("curves", "learning curves")}
{_searches(comparison)}
<h2>Final evaluations</h2>
{tables.group_table(comparison.groups, out)}
{_distributions(comparison)}
{tables.paper_tables(comparison.tables)}
<h2>Is a difference real?</h2>
{tables.difference_table(comparison.groups, comparison.differences)}
<h2>Equal budgets</h2>
{tables.standing_table(comparison.curves, comparison.standings)}
{tables.cost_table(comparison.costs)}
<h2>What differs</h2>
{tables.config_table(comparison.curves, comparison.differing)}
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


def _figure(name: str, label: str) -> str:
    return f'<div id="{name}" class="figure" role="figure" aria-label="{label}"></div>'


def _distributions(comparison: Comparison) -> str:
    if not comparison.distributions:
        return ""
    figures = _figure("scores", "share of games by score") + _figure("tiles", "share of games by largest tile")
    return f'<h2>Scores and largest tiles of the games</h2>\n<div class="figures">{figures}</div>'


def _searches(comparison: Comparison) -> str:
    if not comparison.searches:
        return ""
    return f"<h2>Searches at equal time</h2>\n{_figure('searches', 'mean score against the time of a move')}"
