"""What a comparison shows: the content of its page, figures and CSV files."""

from collections.abc import Sequence
from typing import NamedTuple

from launch.report.budgets import Cost, Standing
from launch.report.curves import Curve
from launch.report.differences import Difference
from launch.report.figures import Line
from launch.report.finals import Distribution, Group
from launch.report.papers.table_file import TableData
from launch.report.published.papers import PaperResult


class Content(NamedTuple):
    """What a comparison shows."""

    subtitle: str
    axis: str  # the x-axis with which the page opens
    tile: int
    keys: Sequence[str]  # by which runs are grouped
    curves: list[Curve]  # the highest last score first
    groups: list[Group]  # final evaluations, the best first
    distributions: list[Distribution]  # of these groups
    differences: list[Difference]
    searches: list[Line]
    standings: list[Standing]
    costs: list[Cost]
    differing: dict[str, list[str]]  # see `differing_keys`
    papers: list[PaperResult]  # of the boards that were evaluated
    tables: list[TableData]  # tables of papers that the runs belong to
