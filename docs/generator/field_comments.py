"""Gives fields their descriptions in the reference: the comment beside a field, or the meaning of a key."""

import ast
from pathlib import Path
from typing import Any

import griffe

_OF_KEYS = ("setting", "required")  # functions of ntuple/core/settings.py whose text is the meaning of a key


class FieldComments(griffe.Extension):
    """A griffe extension: a field without a docstring takes its comment or its meaning as docstring."""

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **_: Any) -> None:
        """Add the docstring of one attribute."""
        if attr.docstring is None and isinstance(node, ast.AnnAssign):
            text = _meaning(node.value) or _comment(node, attr)
            if text:
                attr.docstring = griffe.Docstring(text, lineno=attr.lineno, parent=attr)


def _meaning(value: ast.expr | None) -> str:
    """Return the meaning of a key; "": the value is no key."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _OF_KEYS:
        for argument in reversed(value.args):
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                return argument.value
    return ""


def _comment(node: ast.AnnAssign, attr: griffe.Attribute) -> str:
    """Return the comment after a field, or the lines of comment before it."""
    file = attr.filepath
    assert isinstance(file, Path)  # a list is that of a package without __init__.py
    lines = attr.lines_collection[file]
    last = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset :].strip()
    if last.startswith("#"):
        return _sentence([last])
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        above.insert(0, line.strip())
    return _sentence(above)


def _sentence(lines: list[str]) -> str:
    text = " ".join(line.lstrip("# ").strip() for line in lines)
    return f"{text[:1].upper()}{text[1:]}" if "type: ignore" not in text else ""
