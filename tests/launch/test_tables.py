import io

import pytest
from rich.console import Console, RenderableType

from launch.tables import Column, entry, fields, grid, html_rows, markup, render

ROWS = [{"name": "a|b", "score": 1234.5}, {"name": "<c>"}]
COLUMNS = [
    entry("name"),
    Column(
        "mean score",
        lambda row: row.get("score", -1),
        lambda row: f"{row['score']:,.0f}" if "score" in row else "",
        lambda row: markup(f"{row['score']:,.0f}", "of 2 games", is_strong=True) if "score" in row else "",
    ),
]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("csv", "name,mean score\na|b,1234.5\n<c>,-1\n"),
        ("markdown", "| name | mean score |\n| --- | --- |\n| a\\|b | 1,234 |\n| <c> |  |"),
        ("text", "name  mean score\na|b        1,234\n<c>             "),
    ],
)
def test_each_form_has_the_names_and_the_rows(form, text: str):
    assert render(ROWS, COLUMNS, form) == text


def test_a_page_sorts_by_values_and_shows_texts():
    assert html_rows(ROWS, COLUMNS, " hidden") == (
        '<tr hidden><td data-value="a|b">a|b</td>'
        '<td data-value="1234.5"><b>1,234</b><small>of 2 games</small></td></tr>'
        '<tr hidden><td data-value="&lt;c&gt;">&lt;c&gt;</td><td data-value="-1"></td></tr>'
    )
    assert "data-value" not in html_rows(ROWS, COLUMNS, is_sorted=False)
    assert render([], COLUMNS, "html").endswith("mean score</button></th></tr></thead>\n<tbody></tbody>")


def _shown(cell: RenderableType) -> str:
    screen = Console(file=io.StringIO(), width=20)
    screen.print(cell)
    return screen.file.getvalue().rstrip("\n")


def test_words_go_to_the_left_and_numbers_to_the_right():
    columns = grid([("a", 1), ("runs/[tc]", 2)], fields("word", "number"), left=[0]).columns
    assert [(column.header, column.justify, list(map(_shown, column.cells))) for column in columns] == [
        ("word", "left", ["a", "runs/[tc]"]),
        ("number", "right", ["1", "2"]),
    ]
