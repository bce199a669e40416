"""The page of `compare` in a real Chromium without a window; `make test-browser` installs one on Debian.

Chromium prints the page as its scripts have left it, and what they write to the console. The page's address sets the
figure, so each state is one call.
"""

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from launch.cli import main
from tests.launch.comparison.made_runs import write_evaluation, write_run
from tests.launch.comparison.made_tables import write_table

pytestmark = pytest.mark.browser
GAMES = {"score_bins": {"80": 30, "81": 70}, "max_tiles": {"512": 40, "1024": 60}}


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """Compare two seeds and a longer run of another group."""
    folder = tmp_path_factory.mktemp("runs")
    for seed, top in enumerate((100.0, 120.0)):
        run = write_run(folder / f"a{seed}", [(10, 50.0), (40, top)], group="a", seed=seed)
        write_evaluation(run, top, 3.0, group="a", training_seed=seed, seed=seed, **GAMES)
    write_evaluation(write_run(folder / "b", [(10, 20.0), (4000, 90.0)], group="b"), 95.0, 3.0, group="b", seed=3)
    write_table(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["compare", "--runs-folder", str(folder), "--out", str(folder / "out")]) == 0
    return folder / "out" / "index.html"


def _open(page: Path, state: str = "", size: str = "1400,1200") -> str:
    """Return the page as Chromium has drawn it; fail if it wrote to the console."""
    command = [
        shutil.which("chromium") or "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
        "--enable-logging=stderr", "--log-level=0", f"--window-size={size}", "--virtual-time-budget=3000", "--dump-dom",
        f"file://{page}{state}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert not [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return unescape(done.stdout)


def _axis_titles(drawn: str) -> list[str]:
    return [re.sub(r"<[^>]+>", "", text) for text in re.findall(r'<text class="[xy]title"[^>]*>(.*?)</text>', drawn)]


def _legend(drawn: str) -> list[str]:
    return re.findall(r'<text class="legendtext"[^>]*>(.*?)</text>', drawn)


def test_the_page_opens_with_the_scores(page: Path):
    drawn = _open(page)
    assert _axis_titles(drawn)[:2] == ["moves of training", "eval/score_mean [points]"]
    assert _axis_titles(drawn)[2:] == ["score", "share of games", "largest tile", "share of games"]
    assert {"a (toy), 2 seeds", "b (toy), 1 seed"} <= set(_legend(drawn))
    assert 'id="meaning" aria-live="polite">mean score<' in drawn


@pytest.mark.parametrize(
    ("state", "titles"),
    [
        ("#metric=eval/reach_2048&axis=1", ["games of training", "eval/reach_2048 [fraction]"]),
        ("#axis=2&band=iqm&logx=0&logy=1", ["hours of training", "eval/score_mean [points]"]),
    ],
)
def test_the_address_sets_metric_and_axis(page: Path, state: str, titles: list[str]):
    assert _axis_titles(_open(page, state))[:2] == titles


def test_the_x_axis_is_logarithmic_where_runs_differ_widely(page: Path):
    assert len(set(_ticks(_open(page)))) != len(set(_ticks(_open(page, "#logx=0"))))


def _ticks(drawn: str) -> list[str]:
    return re.findall(r'<g class="xtick"><text[^>]*>(.*?)</text>', drawn)


def test_the_figure_fits_a_phone(page: Path):
    widths = [
        float(width) for width in re.findall(r'<svg class="main-svg"[^>]* width="([\d.]+)"', _open(page, "", "500,900"))
    ]
    assert widths
    assert max(widths) <= 500


def test_results_of_papers_are_lines_of_their_own(page: Path):
    added = set(_legend(_open(page, "#papers=1"))) - set(_legend(_open(page)))
    assert any(label.startswith("Guei 2023, table 7: 8x6-tuple network, OTD+TC, 1 ply") for label in added)


def test_tables_of_papers_have_a_section_with_both_numbers_and_the_caveats(page: Path):
    section = _open(page).partition('<section class="papers">')[2].partition("</section>")[0]
    for text in ("Guei 2023, table 5", "239,075 ± 14,781", "<b>20,123</b>", "<li>First caveat.</li>"):
        assert text in section
