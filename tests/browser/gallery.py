"""Write the pictures of docs/gallery.md: each page at three widths in both themes, with the runs of `make demo`.

python tests/browser/gallery.py
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from driver import ROOT, chromium, new_page, serving
from PIL import Image

from launch.cli import main as muzero2048

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NTUPLE, MUZERO = "runs/quick-ntuple", "runs/quick-muzero"
WIDTHS = (390, 1000, 1600)
THEMES = ("light", "dark")
HEIGHT = 1000
COLOURS = 128  # of a picture: a third of the size of one with all colours
# A game that is far on, and a search whose tree has outcomes to show.
POSITION = "1024 2 0 0 / 2048 8 2 0 / 256 64 2 0 / 32 16 8 4"
SIMULATIONS = 500


def main() -> None:
    """Make the pages and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "gallery")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium() as browser, serving(Path(), NTUPLE, MUZERO) as address:
        made = Path(name)
        assert muzero2048(["compare", NTUPLE, MUZERO, "--x", "wall_hours", "--out", str(made)]) == 0
        words = ["--games", "4", "--judge", NTUPLE, "--judge-search", "expectimax", "--judge-plies", "3"]
        assert muzero2048(["replay", NTUPLE, *words, "--out", str(made / "replay.html")]) == 0
        pages: dict[str, tuple[str, Callable[[Page], None]]] = {
            "compare": ((made / "index.html").as_uri(), _nothing),
            "replay": ((made / "replay.html").as_uri(), _open_worst_move),
            "serve": (address, _ask_search),
            "two": (address, _let_two_play),
        }
        for page, (place, prepare) in pages.items():
            for width in WIDTHS:
                for theme in THEMES:
                    _take(browser, place, prepare, width, theme, out / f"{page}-{width}-{theme}.png")


def _take(
    browser: "Browser", place: str, prepare: Callable[["Page"], None], width: int, theme: str, image: Path
) -> None:
    page, faults = new_page(browser, width, theme)
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.goto(place)
    prepare(page)
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    page.screenshot(path=image)
    page.context.close()
    assert not faults, faults
    with Image.open(image) as picture:
        picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(image, optimize=True)
    print(image)


def _nothing(page: "Page") -> None:
    """Leave the page as it opens."""


def _open_worst_move(page: "Page") -> None:
    page.locator("#mistakes tbody button").first.click()


def _ask_search(page: "Page") -> None:
    page.wait_for_selector(".moves .chosen", timeout=60_000)
    page.locator(".search").select_option("mcts")
    page.locator(".count").fill(str(SIMULATIONS))
    page.locator(".count").press("Enter")
    page.locator("#position").fill(POSITION)
    page.locator("#paste button").click()
    page.locator(f".side[data-position^='{POSITION[:9]}']").wait_for()
    page.wait_for_selector(".moves .chosen", timeout=60_000)
    page.locator(".side summary").last.click()


def _let_two_play(page: "Page") -> None:
    page.wait_for_selector(".moves .chosen", timeout=60_000)
    page.locator("#two").check()
    page.locator(".agent").nth(1).select_option("heuristic")
    page.locator(".moves .chosen").nth(1).wait_for(timeout=60_000)
    page.locator("#speed").fill("7")
    page.locator("#play").click()
    while len(page.locator(".side b").nth(1).inner_text()) < 3:  # until a hundred moves
        page.wait_for_timeout(50)
    page.locator("#play").click()
    page.locator(".moves .chosen").nth(1).wait_for(timeout=60_000)


if __name__ == "__main__":
    main()
