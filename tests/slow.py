"""Parameters of which some are left to `make test-slow`."""

from collections.abc import Iterable
from typing import Any

import pytest


def others_slow(cases: Iterable[Any], *fast: Any) -> list[Any]:
    """Return the values of a test's parameter; those that are not in `fast` are slow tests."""
    cases = list(cases)
    assert all(case in cases for case in fast), "a fast case is not among the cases"
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]
