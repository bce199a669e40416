"""One fault, which the tests must catch."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One fault, and the fast tests that must catch it."""

    name: str
    file: str  # path from the root of the repository
    old: str  # code without comments, which occurs once in the file
    new: str
    tests: tuple[str, ...]  # test files, paths from tests/
