"""Fixtures of the tests of comparisons."""

import pytest


@pytest.fixture
def figures() -> None:
    """Draw the figures: a second for each comparison, so only tests that look at them do."""


@pytest.fixture(autouse=True)
def _no_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "figures" not in request.fixturenames:
        monkeypatch.setattr("launch.report.figures._images", lambda figure, axes: {})
