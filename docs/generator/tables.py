"""Markdown tables of the generated pages."""


def plain(text: str) -> str:
    """Return a text of the program as Markdown that shows its characters."""
    special = {"*": r"\*", "_": r"\_", "<": "&lt;", ">": "&gt;", "[": r"\[", "]": r"\]", "`": "`"}
    return "".join(special.get(character, character) for character in text)


def code(value: object) -> str:
    """Return a value as inline code."""
    return f"`{value}`"
