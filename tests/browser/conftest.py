"""Pages in a real Chromium. A test that opens a page fails if the page has faults, see `driver.new_page`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.driver import chromium, new_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OpenPage = Callable[..., "Page"]


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Return one Chromium for all tests."""
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[OpenPage]:
    """Return a function that opens a page: a file or an address, what follows it from #, a width and a theme."""
    opened = []

    def open_at(place: Path | str, state: str = "", width: int = 1400, theme: str = "light") -> "Page":
        page, faults = new_page(browser, width, theme)
        opened.append((page, faults))
        page.goto(f"{place.resolve().as_uri() if isinstance(place, Path) else place}{state}")
        return page

    yield open_at
    for page, _ in opened:
        page.context.close()
    assert [faults for _, faults in opened] == [[] for _ in opened]
