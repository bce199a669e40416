"""The faults of a page that `driver.new_page` finds, so that the other tests can rely on it."""

from pathlib import Path

import pytest

from tests.browser.driver import new_page, tab_to

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("console.error('an error')", "console: an error"),
        ("console.warn('a warning')", "console: a warning"),
        ("throw new Error('thrown')", "exception: thrown"),
        ("new Image().src = 'http://elsewhere.invalid/x.png'", "request to http://elsewhere.invalid/x.png"),
        ("new WebSocket('ws://elsewhere.invalid/x')", "request to ws://elsewhere.invalid/x"),
    ],
)
def test_a_fault_of_a_page_is_found(browser, tmp_path: Path, script: str, fault: str):
    (tmp_path / "page.html").write_text(f"<!doctype html><title>page</title><script>{script}</script>")
    page, faults = new_page(browser, 1400, "light")
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_timeout(200)
    page.context.close()
    assert fault in faults


def test_requests_to_this_machine_are_no_fault(open_page, tmp_path: Path):
    (tmp_path / "page.html").write_text("<!doctype html><title>page</title><img src='data:,'><img src='there.png'>")
    (tmp_path / "there.png").write_bytes(b"")
    assert open_page(tmp_path / "page.html").title() == "page"


def test_a_width_and_a_theme_are_those_of_the_page(open_page, tmp_path: Path):
    (tmp_path / "page.html").write_text('<!doctype html><meta name="viewport" content="width=device-width"><p>page')
    for width, theme in ((390, "dark"), (1400, "light")):
        page = open_page(tmp_path / "page.html", width=width, theme=theme)
        assert page.evaluate("innerWidth") == width
        assert page.evaluate(f"matchMedia('(prefers-color-scheme: {theme})').matches")


def test_the_tab_key_reaches_what_can_have_the_focus_alone(open_page, tmp_path: Path):
    (tmp_path / "page.html").write_text(
        "<!doctype html><button id=one>1</button><p id=two>2</p><a id=three href=#>3</a>"
    )
    page = open_page(tmp_path / "page.html")
    tab_to(page, "#three")
    with pytest.raises(AssertionError, match="does not reach #two"):
        tab_to(page, "#two")
