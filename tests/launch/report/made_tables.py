"""The file of a table beside its paper, with given numbers, for tests of comparisons; tables on a page."""

import re
from dataclasses import replace
from pathlib import Path

from launch.report.papers.comparison import CellData, ColumnData, RowData, TableData, write_table_file

CELL = CellData(239075.0, 14781.0, 20123.4, 19000.5, 21246.3, 1, 1000, 100_000, "1ply")
TABLE = TableData(
    table="guei-table-5",
    title="OTD & OTC",
    source="Guei 2023, table 5",
    conditions="Networks of <6> tuples.",
    caveats=["First caveat.", "Budget: 0.001 of <all> moves."],
    budget=0.001,
    seeds=[1],
    paper_seeds=5,
    columns=[
        ColumnData("average score", "score_mean", 1.0, ""),
        ColumnData("32768 [%]", "reach_32768", 0.01, ""),
        ColumnData("weights", "", 1.0, "no evaluation computes it"),
    ],
    rows=[
        RowData("4x6", "", 10**12, 10**8, 10**9, ["a0"], {
            "average score": CELL,
            "32768 [%]": replace(CELL, paper=5.3, paper_margin=None, here=0.25, here_low=None, here_high=None),
            "weights": CellData(3.0, None, None, None, None, 0, 0, 100_000, ""),
        }),
        RowData("8x6", "", 4 * 10**10, 0, 4 * 10**7, ["a1", "b1"], {
            "average score": replace(CELL, here=None, here_low=None, here_high=None, seeds=0, games=0, search=""),
        }),
        RowData("dcnn", "not described", 10**12, 10**8, 10**9, [], {"average score": replace(CELL, paper=1.0)}),
    ],
    version="0.1.0",
    machine="2 cores",
    command="muzero2048 reproduce guei-table-5 --budget 0.001",
    time="2026-11-24T00:00:00+00:00",
)  # fmt: skip


def cells_of(html: str, name: str) -> list[list[str]]:
    """Return the texts of the cells of a table, row by row, without its headings and markup."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html.partition(f'<table id="{name}">')[2].partition("</table>")[0])[1:]
    return [[" ".join(re.sub(r"<[^>]+>", " ", one).split()) for one in re.findall(r"<td.*?</td>", row)] for row in rows]


def write_table(runs_folder: Path, **changes: object) -> Path:
    """Write TABLE with some fields changed; return the file."""
    data = replace(TABLE, **changes)  # type: ignore[arg-type]
    file = runs_folder / f"{data.table}-b{data.budget:g}.json"
    write_table_file(data, file)
    return file
