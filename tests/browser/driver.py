"""A real Chromium that acts like a person: clicks, keys, a width and a theme. The library is playwright.

The browser is Debian's; playwright downloads none.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
LOCAL = (None, "localhost", "127.0.0.1", "::1")  # None: file:, data: and blob: have no host
HEIGHT = 900
FOCUSED = "selector => document.activeElement !== null && document.activeElement.matches(selector)"


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Start Chromium without a window, and end it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def serving(folder: Path, *runs: str) -> Iterator[str]:
    """Start `muzero2048 serve` in a folder, and return its address."""
    command = [sys.executable, "-m", "launch", "serve", *runs, "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[0]
        finally:
            server.terminate()


def new_page(browser: "Browser", width: int, theme: str) -> tuple["Page", list[str]]:
    """Return an empty page, and a list that its faults are added to.

    Args:
        browser: the browser. The page shares no storage with other pages.
        width: width of the page in CSS pixels; up to 500 it is a phone with a touch screen.
        theme: the theme that the user prefers, light or dark.

    Returns:
        The page; its faults: errors and warnings on the console, exceptions, and requests to other machines.
    """
    is_phone = width <= 500
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT}, color_scheme=theme, is_mobile=is_phone, has_touch=is_phone
    )
    page, faults = context.new_page(), list[str]()

    def check(url: str) -> None:
        if urlsplit(url).hostname not in LOCAL:
            faults.append(f"request to {url}")

    page.on("request", lambda request: check(request.url))
    page.on("websocket", lambda socket: check(socket.url))
    page.on("pageerror", lambda error: faults.append(f"exception: {error}"))
    page.on(
        "console",
        lambda message: faults.append(f"console: {message.text}") if message.type in ("error", "warning") else None,
    )
    return page, faults


def swipe(page: "Page", action: int) -> None:
    """Swipe over the board of a page on a phone: up, right, down, left = 0..3."""
    x, y = ((0, -1), (1, 0), (0, 1), (-1, 0))[action]
    session, box = page.context.new_cdp_session(page), page.locator(".board").bounding_box()
    assert box
    points = [(box["x"] + 150 + 60 * x * i, box["y"] + 150 + 60 * y * i) for i in range(2)]
    for kind, point in (("touchStart", points[0]), ("touchMove", points[1]), ("touchEnd", None)):
        touches = [{"x": point[0], "y": point[1]}] if point else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})


def tab_to(page: "Page", selector: str) -> None:
    """Press the Tab key until an element that the CSS selector matches has the focus."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED, selector):
            return
    raise AssertionError(f"the Tab key does not reach {selector}")
