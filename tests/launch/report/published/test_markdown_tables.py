"""Result tables contain the numbers of the evaluation files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from launch.cli import main
from launch.report.published.markdown_tables import rewritten
from tests.launch.report.made_runs import RESULT
from tests.launch.report.made_tables import TABLE, write_table

ROOT = Path(__file__).parents[4]
PAGE = "# Page\n\n<!-- evaluations found/*.json -->\nold\n<!-- end of evaluations -->\n\nMore.\n"
CELLS = [
    ["run", "player", "moves", "training", "games", "mean score", "median", "max", "2048", "4096", "8192"],
    ["---"] * 14,
    ["one", "ntuple, 1ply", "150M", "45 s", "1,000", "87,419 ± 2,540", "79,956", "216,404", "95.1%", "81.5%", "30.9%"],
]
CELLS[0] += ["moves/s in play", "machine", "command"]
CELLS[2] += ["6.26M", "2 cores", r"`muzero2048 evaluate a\|b`"]
PRINTED = "".join(f"| {' | '.join(row)} |\n" for row in CELLS)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "a.json").write_text(json.dumps(RESULT))
    file = tmp_path / "page.md"
    file.write_text(PAGE)
    return file


def test_a_table_is_written_from_its_evaluations(page: Path, capsys):
    assert main(["tables", "page.md", "--check"]) == 2
    assert page.read_text() == PAGE
    assert main(["tables", "page.md"]) == 0
    assert page.read_text() == PAGE.replace("old\n", PRINTED)
    assert main(["tables", "page.md", "--check"]) == 0
    assert capsys.readouterr().out.endswith("page.md: up to date\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no table", "page.md has no table: begin one with"),
        (PAGE.replace("<!-- end of evaluations -->", ""), "page.md has no table: begin one with"),
        (PAGE.replace("end of evaluations", "end of papers"), "page.md has no table: begin one with"),
        (PAGE.replace("found/", "lost/"), "no result file is named lost/*.json"),
        (PAGE.replace("evaluations", "papers"), "found/a.json is not a table of `muzero2048 reproduce`"),
        (PAGE.replace("/*", "/b*"), "found/b.json, line 1: not an evaluation, it has no run"),
    ],
)
def test_a_page_that_cannot_be_written(page: Path, mistake, text: str, line: str):
    page.write_text(text)
    Path("found/b.json").write_text("{}")
    assert line in mistake("tables page.md")
    assert page.read_text() == text


SECTION = """### guei-table-5: OTD & OTC

Guei 2023, table 5.

| row |  | training | average score | 32768 [%] | weights |
| --- | --- | --- | --- | --- | --- |
| 4x6 | paper | 100M games | 239,075 ± 14,781 | 5.30 | 3.00 |
|  | here | 1G moves | 20,123 ± 1,123 | 0.25 | - |

Not run here: 8x6.
This project cannot train: dcnn (not described).
Caveats: First caveat. Budget: 0.001 of <all> moves.
Command: `muzero2048 reproduce guei-table-5 --budget 0.001`, version 0.1.0, 2 cores, 2026-11-24.
"""


def test_the_section_of_a_paper_table(page: Path):
    """A row that was not run, and one that cannot be trained, are named; the others have both numbers."""
    write_table(page.parent)
    page.write_text("<!-- papers guei-*.json -->\nold\n<!-- end of papers -->\n")
    assert main(["tables", "page.md"]) == 0
    assert page.read_text() == f"<!-- papers guei-*.json -->\n{SECTION}<!-- end of papers -->\n"


def test_columns_that_were_not_run_are_named_below_the_table(page: Path):
    first, *others = TABLE.rows
    cells = {**first.cells, "32768 [%]": replace(first.cells["32768 [%]"], here=None)}
    write_table(page.parent, rows=[replace(first, cells=cells), *others])
    page.write_text("<!-- papers guei-*.json -->\n<!-- end of papers -->\n")
    assert main(["tables", "page.md"]) == 0
    text = page.read_text()
    assert "| row |  | training | average score | weights |" in text
    assert "Not run here: 8x6.\nColumns not run here: 32768 [%].\n" in text


@pytest.mark.parametrize("name", ["README.md", "docs/paper_results.md"])
def test_published_tables_are_those_of_their_files(name: str):
    file = ROOT / name
    text = file.read_text(encoding="utf-8")
    assert rewritten(text, file) == text, f"run: muzero2048 tables {name}"
