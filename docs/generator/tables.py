"""Markdown tables of the generated pages."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def plain(text: str) -> str:
    """Return a text of the program as Markdown that shows its characters."""
    special = {"*": r"\*", "_": r"\_", "<": "&lt;", ">": "&gt;", "[": r"\[", "]": r"\]", "`": "`"}
    return "".join(special.get(character, character) for character in text)


def code(value: object) -> str:
    """Return a value as inline code."""
    return f"`{value}`"
