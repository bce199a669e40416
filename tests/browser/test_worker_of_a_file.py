"""docs/javascripts/iframe-worker.js in Chromium: a page that is opened as a file has a worker, as the search needs."""

from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage

pytestmark = pytest.mark.browser
SHIM = Path(__file__).parents[2] / "docs" / "javascripts" / "iframe-worker.js"
WORKER = 'addEventListener("message", (event) => postMessage({ answer: 2 * event.data.asked }));'
PAGE = """<!doctype html><link rel="icon" href="data:,"><title>page</title><body><script>{}</script><script>
  const worker = new Worker(new URL("worker.js", location.href));
  worker.addEventListener("message", (event) => {{ document.title += " " + event.data.answer; }});
  for (const asked of [1, 2]) worker.postMessage({{ asked }});
</script>"""


def test_a_worker_answers_in_order(open_page: OpenPage, tmp_path: Path):
    (tmp_path / "worker.js").write_text(WORKER)
    (tmp_path / "page.html").write_text(PAGE.format(SHIM.read_text(encoding="utf-8")))
    page = open_page(tmp_path / "page.html")
    page.wait_for_function("document.title === 'page 2 4'")
