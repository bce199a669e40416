"""The page of `compare`, read and used as a person does: what it shows, its controls, its legend and its tables."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from launch.cli import main
from tests.browser.conftest import OpenPage
from tests.browser.driver import tab_to
from tests.launch.report.made_runs import write_evaluation, write_run
from tests.launch.report.made_tables import write_table

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
GAMES = {"score_bins": {"80": 30, "81": 70}, "max_tiles": {"512": 40, "1024": 60}}
A, B, C = "a, rate=1 (toy), 3 seeds", "b, rate=1 (toy), 1 seed", "a, rate=2 (toy), 1 seed"
# The lines of a figure with a name that are drawn: name, x, y, and the axes of their panel.
LINES = """id => document.getElementById(id).data.filter(line => line.name && line.visible === true)
    .map(line => [line.name, [...line.x], [...line.y], line.xaxis || "x"])"""


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """Compare three seeds, a run with another value of a key, and a longer run of another group."""
    folder = tmp_path_factory.mktemp("runs")
    for seed, top in enumerate((100.0, 110.0, 120.0)):
        run = write_run(folder / f"a{seed}", [(10, 50.0), (40, top)], group="a", seed=seed, rate=1)
        write_evaluation(run, top, 3.0, group="a", training_seed=seed, seed=seed, **GAMES)
    write_evaluation(write_run(folder / "b", [(10, 20.0), (4000, 95.0)], group="b", rate=1), 95.0, 3.0, seed=3)
    write_evaluation(write_run(folder / "c", [(10, 20.0), (40, 80.0)], group="a", rate=2), 800.0, 3.0, seed=4)
    write_table(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        words = ["compare", "--runs-folder", str(folder), "--by", "run.group,toy.rate", "--out", str(folder / "out")]
        assert main(words) == 0
    return folder / "out" / "index.html"


def _rows(page: Path, name: str) -> list[dict[str, str]]:
    with (page.parent / name).open(newline="") as file:
        return list(csv.DictReader(file))


def _lines(opened: "Page", figure: str = "curves") -> dict[str, Any]:
    return {name: (x, y, axis) for name, x, y, axis in opened.evaluate(LINES, figure)}


def _column(opened: "Page", table: str, column: int) -> list[str]:
    """Return the cells of a column that can be seen, without their second lines."""
    cells = opened.locator(f"#{table} tbody tr:visible td:nth-child({column})")
    return [text.split("\n")[0] for text in cells.all_inner_texts()]


def _axis_titles(opened: "Page") -> list[str]:
    return opened.locator("#curves .xtitle, #curves .ytitle").all_text_contents()


# What the page shows


def test_the_page_opens_with_the_scores(page: Path, open_page: OpenPage):
    opened = open_page(page)
    assert set(_axis_titles(opened)) == {"moves of training", "mean score [points]"}
    assert set(_lines(opened)) == {A, B, C}
    assert set(opened.locator("#curves .legendtext").all_text_contents()) == {A, B, C}
    assert (
        opened.locator("#headline")
        .inner_text()
        .startswith("On 4x4, a, rate=2 (toy), 1ply has the highest mean score: 800")
    )
    words = "mean score (bands: 95% intervals, Student's over three seeds or more)"
    assert opened.locator("#meaning").inner_text() == words
    assert opened.locator(".modebar-btn").count() > 0
    assert opened.locator(".modebar-btn[data-title*='Share']").count() == 0


@pytest.mark.parametrize("axis", ["env_steps", "games", "wall_hours"])
@pytest.mark.parametrize("metric", ["eval/score_mean", "eval/reach_2048"])
def test_the_lines_are_those_of_the_csv_file(page: Path, open_page: OpenPage, metric: str, axis: str):
    opened = open_page(page, f"#metric={metric}&axis={('env_steps', 'games', 'wall_hours').index(axis)}")
    rows = [row for row in _rows(page, "curves.csv") if row["metric"] == metric]
    lines = _lines(opened)
    assert set(lines) == {row["curve"] for row in rows} == {A, B, C}
    for name, (x, y, _) in lines.items():
        assert x == pytest.approx([float(row[axis]) for row in rows if row["curve"] == name])
        assert y == pytest.approx([float(row["value"]) for row in rows if row["curve"] == name])


def test_the_tables_are_those_of_the_csv_files(page: Path, open_page: OpenPage):
    opened = open_page(page)
    groups = _rows(page, "groups.csv")
    assert [float(row["score_mean"]) for row in groups] == [800, 110, 95]  # computed by hand
    assert _column(opened, "groups", 2) == [
        f"{float(row['score_mean']):,.0f} ± {(float(row['score_high']) - float(row['score_low'])) / 2:,.0f}"
        for row in groups
    ]
    pairs = _rows(page, "differences.csv")
    best = [row for row in pairs if row["first"] == pairs[0]["first"]]
    assert _column(opened, "differences", 2) == [f"{float(row['difference']):+,.0f}" for row in best]
    budgets = [row for row in _rows(page, "budgets.csv") if row["axis"] == "env_steps"]
    shown = dict(zip(_column(opened, "standings", 1), _column(opened, "standings", 2), strict=True))
    assert shown == {row["curve"]: f"{float(row['score_mean']):,.0f}" for row in budgets}


def test_results_of_papers_are_lines_of_their_own(page: Path, open_page: OpenPage):
    opened = open_page(page)
    before = set(_lines(opened))
    opened.get_by_label("results of papers").check()
    added = set(_lines(opened)) - before
    assert any(label.startswith("Guei 2023, table 7: 8x6-tuple network, OTD+TC, 1 ply") for label in added)


# Controls


def test_a_choice_is_drawn_and_kept_in_the_address(page: Path, open_page: OpenPage):
    opened = open_page(page)
    opened.get_by_label("metric").select_option("eval/reach_2048")
    opened.locator(".controls").get_by_label("against").select_option("games of training")
    assert set(_axis_titles(opened)) == {"games of training", "games that reached the tile 2048 [fraction]"}
    again = open_page(opened.url)
    assert set(_axis_titles(again)) == {"games of training", "games that reached the tile 2048 [fraction]"}
    again.evaluate("location.hash = '#metric=eval/score_mean&axis=2'")
    again.wait_for_function("document.querySelector('#curves .xtitle').textContent === 'hours of training'")


def test_a_choice_is_drawn_once(page: Path, open_page: OpenPage):
    opened = open_page(page)
    events = """() => new Promise((resolve) => {
      const axis = document.getElementById("axis");
      let count = 0;
      addEventListener("hashchange", () => { count += 1; });
      axis.value = "2";
      axis.dispatchEvent(new Event("change"));
      setTimeout(() => resolve(count), 200);
    })"""
    assert opened.evaluate(events) == 0
    assert "axis=2" in opened.url


def test_a_single_group_can_be_sorted(tmp_path: Path, open_page: OpenPage):
    for seed in (1, 2):
        run = write_run(tmp_path / f"a{seed}", [(10, 50.0), (40, 60.0)], seed=seed)
        write_evaluation(run, 60.0 + seed, 3.0, seed=seed, training_seed=seed)
    assert main(["compare", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    opened = open_page(tmp_path / "out" / "index.html")
    opened.locator("#groups th button").nth(1).click()
    assert opened.locator("#groups th[aria-sort]").count() == 1
    rows = opened.locator("#groups tbody tr")
    assert [rows.nth(i).get_attribute("class") for i in range(3)] == [None, "seed", "seed"]


def test_the_band_of_several_seeds_can_be_that_of_the_interquartile_mean(page: Path, open_page: OpenPage):
    """With three seeds the interval of the mean is 4.3 standard errors wide; a bootstrap stays between their scores."""
    opened = open_page(page)
    top = "document.getElementById('curves').data.filter(line => line.legendgroup === 'curve0')"
    highest = f"Math.max(...{top}.flatMap(line => line.fill ? [...line.y] : []))"
    order = opened.evaluate(f"{top}.find(line => line.name).name")
    assert order == A  # has the highest last score, so it is the first curve
    assert opened.evaluate(highest) == pytest.approx(110 + 4.3027 * 10 / 3**0.5, rel=1e-3)
    opened.get_by_label("band").select_option("iqm")
    assert opened.evaluate(highest) == pytest.approx(120)


def test_the_x_axis_is_logarithmic_where_runs_differ_widely(page: Path, open_page: OpenPage):
    opened = open_page(page)
    kind = "document.getElementById('curves').layout"
    box = opened.get_by_label("logarithmic x")
    assert box.is_checked()
    box.uncheck()
    assert opened.evaluate(f"[{kind}.xaxis.type, {kind}.yaxis.type]") == ["linear", "linear"]
    opened.get_by_label("logarithmic y").check()
    assert opened.evaluate(f"[{kind}.xaxis.type, {kind}.yaxis.type]") == ["linear", "log"]
    assert opened.url.endswith("&logx=0&logy=1&papers=0")


@pytest.mark.parametrize(
    ("key", "panels"),
    [("by run.group", {"a": {A, C}, "b": {B}}), ("by toy.rate", {"rate=1": {A, B}, "rate=2": {C}})],
)
def test_each_value_of_a_key_has_a_panel_on_the_same_axes(
    page: Path, open_page: OpenPage, key: str, panels: dict[str, set[str]]
):
    opened = open_page(page, "#logx=0")
    opened.get_by_label("panels").select_option(key)
    assert opened.locator("#curves .annotation-text").all_text_contents() == list(panels)
    lines = _lines(opened)
    for axis, names in zip(("x", "x2"), panels.values(), strict=True):
        assert {name for name, (_, _, here) in lines.items() if here == axis} == names
    layout = opened.evaluate(
        "(({xaxis, xaxis2, yaxis, yaxis2}) => [[xaxis, yaxis], [xaxis2, yaxis2]].map("
        "axes => axes.map(axis => axis.range)))(document.getElementById('curves')._fullLayout)"
    )
    assert layout[0] == layout[1]
    assert layout[0][0][1] >= 4000
    opened.get_by_label("panels").select_option("one")
    assert opened.locator("#curves .annotation-text").count() == 0
    assert {axis for _, _, axis in _lines(opened).values()} == {"x"}


def test_the_figure_is_as_high_as_its_box_after_every_choice(page: Path, open_page: OpenPage):
    opened = open_page(page)
    height = "document.querySelector('#curves').clientHeight - document.querySelector('#curves .main-svg').clientHeight"
    assert opened.evaluate(height) == 0
    opened.get_by_label("panels").select_option("by toy.rate")
    assert opened.evaluate(height) == 0
    opened.get_by_label("results of papers").check()
    assert opened.evaluate(height) == 0


def test_the_band_of_the_figure_is_named(page: Path, open_page: OpenPage):
    opened = open_page(page, "#band=iqm")
    words = "mean score (interquartile means with bootstrap intervals; curves of one seed: their mean)"
    assert opened.locator("#meaning").inner_text() == words


def test_a_logarithmic_axis_leaves_out_zeros(page: Path, open_page: OpenPage, tmp_path: Path):
    """The band of a score that begins at 0 ends at the lowest number that the axis can show."""
    for seed in range(3):
        write_run(tmp_path / "runs" / f"z{seed}", [(10, 0.0), (20, 50.0), (40, 80.0)], seed=seed)
    words = ["compare", "--runs-folder", str(tmp_path / "runs"), "--out", str(tmp_path)]
    assert main(words) == 0
    opened = open_page(tmp_path / "index.html", "#logy=1&axis=2")
    ((x, y, _),) = _lines(opened).values()
    assert y == [None, 50, 80]
    assert (x, _axis_titles(opened)[0]) == ([pytest.approx(minutes) for minutes in (6, 12, 24)], "minutes of training")
    band = opened.evaluate("document.getElementById('curves').data[0].y")
    assert min(band) == 50


# Legend and tables


def test_any_two_groups_are_compared(page: Path, open_page: OpenPage):
    """The table has the chosen group minus each other one: the differences of the CSV file, with their sign."""
    opened = open_page(page)
    pairs = _rows(page, "differences.csv")
    names = opened.locator("#first option").all_text_contents()
    assert len(names) == 3
    for name in names[::-1]:
        opened.locator("#first").select_option(name)
        shown = dict(zip(_column(opened, "differences", 1), _column(opened, "differences", 2), strict=True))
        assert set(shown) == {name}
        expected = [float(row["difference"]) for row in pairs if row["first"] == name]
        expected += [-float(row["difference"]) for row in pairs if row["second"] == name]
        assert sorted(_column(opened, "differences", 2)) == sorted(f"{value:+,.0f}" for value in expected)


def test_a_click_in_the_legend_hides_a_curve_under_all_settings(page: Path, open_page: OpenPage):
    opened = open_page(page)
    entry = opened.locator("#curves .legend .traces", has_text=B)
    entry.locator(".legendtoggle").click()
    opened.wait_for_function(f"!({LINES})('curves').some(([name]) => name === '{B}')")
    assert opened.locator("#curves .scatterlayer .trace").count() == _traces_of(opened, "curves")
    opened.get_by_label("metric").select_option("eval/reach_2048")
    assert set(_lines(opened)) == {A, C}
    entry.locator(".legendtoggle").click()
    opened.wait_for_function(f"({LINES})('curves').some(([name]) => name === '{B}')")


def _traces_of(opened: "Page", figure: str) -> int:
    return opened.evaluate(
        "id => document.getElementById(id).data.filter(line => line.visible === true).length", figure
    )


def test_a_double_click_in_the_legend_shows_one_curve_alone_and_then_all(page: Path, open_page: OpenPage):
    opened = open_page(page)
    entry = opened.locator("#curves .legend .traces", has_text=A).locator(".legendtoggle")
    entry.dblclick()
    opened.wait_for_function(f"({LINES})('curves').length === 1")
    assert set(_lines(opened)) == {A}
    opened.wait_for_timeout(400)  # a click within 0.3 s would be a third one of the same
    entry.dblclick()
    opened.wait_for_function(f"({LINES})('curves').length === 3")


def test_a_heading_sorts_its_table_down_and_then_up(page: Path, open_page: OpenPage):
    opened = open_page(page)
    heading = opened.locator("#groups").get_by_role("button", name="mean score")
    scores = [f"{score:,.0f}" for score in (800, 110, 95)]
    for ordered, order in ((scores, "descending"), (scores[::-1], "ascending")):
        heading.click()
        assert [text.split()[0] for text in _column(opened, "groups", 2)] == ordered
        assert opened.locator("#groups th[aria-sort]").get_attribute("aria-sort") == order
    opened.locator("#groups").get_by_role("button", name="experiment").click()
    assert [text.split(",")[0] for text in _column(opened, "groups", 1)] == ["b", "a", "a"]
    assert opened.locator("#groups th[aria-sort]").count() == 1


def test_the_seeds_of_a_group_are_unfolded_and_stay_with_it(page: Path, open_page: OpenPage):
    opened = open_page(page)
    assert opened.locator("#groups tr.seed:visible").count() == 0
    button = opened.get_by_role("button", name="3 seeds", exact=True)
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    assert _column(opened, "groups", 2)[2:5] == ["120 ± 3", "110 ± 3", "100 ± 3"]
    opened.locator("#groups").get_by_role("button", name="mean score").click()
    opened.locator("#groups").get_by_role("button", name="mean score").click()
    assert [text.split()[0] for text in _column(opened, "groups", 2)] == ["95", "110", "120", "110", "100", "800"]
    config = opened.locator("#groups tr.seed:visible a").first.get_attribute("href")
    assert (page.parent / config).is_file()
    button.click()
    assert opened.locator("#groups tr.seed:visible").count() == 0


def test_everything_can_be_done_with_the_keyboard_alone(page: Path, open_page: OpenPage):
    opened = open_page(page)
    keys = opened.keyboard
    tab_to(opened, "#metric")
    keys.type("games that reached the tile 2048")
    tab_to(opened, "#axis")
    keys.press("ArrowDown")
    assert set(_axis_titles(opened)) == {"games of training", "games that reached the tile 2048 [fraction]"}
    tab_to(opened, "#logy")
    keys.press("Space")
    assert "logy=1" in opened.url
    tab_to(opened, f"#curves .legend [aria-label='{B}']")
    keys.press("Enter")
    assert set(_lines(opened)) == {A, C}
    opened.wait_for_selector(f"#curves .legend [aria-label='{B}'][aria-checked=false]:focus")
    keys.press("Space")
    assert set(_lines(opened)) == {A, B, C}
    tab_to(opened, "#groups th:nth-child(2) button")
    keys.press("Enter")
    keys.press("Enter")
    assert [text.split()[0] for text in _column(opened, "groups", 2)] == ["95", "110", "800"]
    tab_to(opened, "#groups .fold")
    tab_to(opened, "#groups .fold")
    keys.press("Enter")
    assert opened.locator("#groups tr.seed:visible").count() == 3


# Widths and themes


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_fits_its_width(page: Path, open_page: OpenPage, width: int, theme: str):
    opened = open_page(page, "#panels=1&papers=1", width, theme)
    assert opened.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
    ends = opened.evaluate(
        "[...document.querySelectorAll("
        "'.controls select, .controls input, .figure, .main-svg, .legendtext, .table, h2')]"
        ".map(part => part.getBoundingClientRect()).filter(box => box.width).flatMap(box => [box.left, box.right])"
    )
    assert min(ends) >= 0
    assert max(ends) <= width


def test_a_wide_table_scrolls_in_its_own_box_on_a_phone(page: Path, open_page: OpenPage):
    opened = open_page(page, "", 390)
    box = opened.locator(".table", has=opened.locator("#groups"))
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    last = opened.locator("#groups thead th").last
    last.scroll_into_view_if_needed()
    assert last.evaluate("cell => cell.getBoundingClientRect().right") <= 390
    assert opened.evaluate("scrollX") == 0


def test_panels_stand_below_each_other_on_a_phone(page: Path, open_page: OpenPage):
    places = "document.querySelectorAll('#curves .annotation-text')"
    for width, expected in ((390, 1), (1400, 2)):
        opened = open_page(page, "#panels=1", width)
        lefts = opened.evaluate(f"[...{places}].map(title => Math.round(title.getBoundingClientRect().left))")
        assert len(set(lefts)) == expected


def test_a_finger_on_the_figure_scrolls_the_page(page: Path, open_page: OpenPage):
    assert open_page(page, "", 390).evaluate("document.getElementById('curves').layout.dragmode") is False
    assert open_page(page, "", 1400).evaluate("document.getElementById('curves').layout.dragmode") == "zoom"


def test_text_can_be_read_in_both_themes(page: Path, open_page: OpenPage):
    """The contrast of text and background is at least 4.5, the limit of WCAG 2.1 (1.4.3)."""
    for theme in ("light", "dark"):
        opened = open_page(page, theme=theme)
        background = _luminance(opened.evaluate("getComputedStyle(document.body).backgroundColor"))
        for selector, property_ in (("h1", "color"), (".soft", "color"), ("th", "color"), ("td", "color"),
                                    ("#groups a", "color"), ("#curves .xtick text", "fill")):  # fmt: skip
            script = f"part => getComputedStyle(part).{property_}"
            text = _luminance(opened.locator(selector).first.evaluate(script))
            low, high = sorted((text, background))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (theme, selector)


def _luminance(colour: str) -> float:
    """Return the relative luminance of an opaque colour such as `rgb(255, 0, 10)` (WCAG 2.1)."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_tables_of_papers_have_a_section_with_both_numbers_and_the_caveats(page: Path, open_page: OpenPage):
    section = open_page(page).locator("section.papers").inner_html()
    for text in ("Guei 2023, table 5", "239,075 ± 14,781", "<b>20,123</b>", "<li>First caveat.</li>"):
        assert text in section
