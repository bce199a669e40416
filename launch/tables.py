"""Tables: columns say what they show of a row, `render` writes rows for programs, documents, pages and terminals."""

import csv
import io
from collections.abc import Callable, Container, Iterable, Sequence
from html import escape
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as Grid

Form = Literal["csv", "markdown", "text", "html"]


class Column(NamedTuple):
    """One column. Its functions take a row."""

    name: str
    value: Callable[[Any], Any]  # what a CSV file has, and what a page sorts by
    text: Callable[[Any], str]  # what people read
    html: Callable[[Any], str] | None = None  # the same as HTML; None: the text alone


def entry(name: str, key: str = "", form: str | Callable[[Any], str] = "") -> Column:
    """Return the column of one entry of rows that are mappings, "" where a row lacks it.

    Args:
        name: heading.
        key: of the entry; "": the name.
        form: format of the value in Python's notation, or a function that returns its text.
    """
    key = key or name

    def text(row: Any) -> str:
        value = row.get(key, "")
        return form(value) if callable(form) else f"{value:{form}}"

    return Column(name, lambda row: row.get(key, ""), text)


def fields(*names: str) -> list[Column]:
    """Return the columns of rows that are sequences."""
    return [_field(name, place) for place, name in enumerate(names)]


def _field(name: str, place: int) -> Column:
    return Column(name, itemgetter(place), lambda row: str(row[place]))


def render(rows: Iterable[Any], columns: Sequence[Column], form: Form) -> str:
    """Return a table.

    | form | what it is |
    |---|---|
    | csv | a line of names, then the values of each row |
    | markdown | texts, which are Markdown; no line break at the end |
    | text | aligned texts, the first column to the left, all others to the right |
    | html | thead and tbody, to be put into `html_table` |
    """
    if form == "csv":
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(column.name for column in columns)
        writer.writerows([column.value(row) for column in columns] for row in rows)
        return file.getvalue()
    if form == "html":
        return f"{html_head(columns)}\n<tbody>{html_rows(rows, columns)}</tbody>"
    lines = [[column.name for column in columns], *([column.text(row) for column in columns] for row in rows)]
    if form == "markdown":
        lines.insert(1, ["---"] * len(columns))
        return "\n".join(f"| {' | '.join(map(_markdown_cell, line))} |" for line in lines)
    widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(text.rjust(width) if place else text.ljust(width) for place, (text, width) in enumerate(cells))
        for cells in (list(zip(line, widths, strict=True)) for line in lines)
    )


def grid(rows: Iterable[Any], columns: Sequence[Column], left: Container[int]) -> "Grid":
    """Return a table whose cells are folded in a narrow terminal; `left` has the places of columns of words."""
    from rich.table import Table as Grid
    from rich.text import Text

    table = Grid(box=None, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column.name, justify="left" if place in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(column.text(row)) for column in columns))  # a str would be markup, as in runs/[tc]
    return table


def html_rows(rows: Iterable[Any], columns: Sequence[Column], attributes: str = "", is_sorted: bool = True) -> str:
    """Return <tr> elements; `attributes` of each begin with a space. Cells that are sorted by have their value."""
    return "".join(
        f"<tr{attributes}>{''.join(_html_cell(row, column, is_sorted) for column in columns)}</tr>" for row in rows
    )


def html_head(columns: Sequence[Column]) -> str:
    """Return the <thead>. Each heading is a button."""
    heads = (f'<th scope="col"><button type="button">{escape(column.name)}</button></th>' for column in columns)
    return f"<thead><tr>{''.join(heads)}</tr></thead>"


def html_table(name: str, inside: str) -> str:
    """Return a table that page.js sorts by a click on a heading. A wide one scrolls in its own box."""
    return f'<div class="table" tabindex="0"><table id="{escape(name)}">{inside}</table></div>'


def markup(text: str, *details: str, is_strong: bool = False) -> str:
    """Return a text as HTML, with each detail in a smaller line below it."""
    text = f"<b>{escape(text)}</b>" if is_strong else escape(text)
    return text + "".join(f"<small>{escape(detail)}</small>" for detail in details)


def _html_cell(row: Any, column: Column, is_sorted: bool) -> str:
    value = f' data-value="{escape(str(column.value(row)))}"' if is_sorted else ""
    return f"<td{value}>{column.html(row) if column.html else escape(column.text(row))}</td>"


def _markdown_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")  # "|" ends a cell
