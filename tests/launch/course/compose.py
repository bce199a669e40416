"""A model solution of a project: its starter file, with the functions that are left out put in.

python tests/launch/course/compose.py NAME >FILE writes the program of docs/course/starters/NAME.py.
"""

import ast
import sys
from pathlib import Path

STARTERS = Path(__file__).parents[3] / "docs" / "course" / "starters"
SOLUTIONS = Path(__file__).with_name("solutions")


def compose(name: str, *changes: tuple[str, str]) -> str:
    """Return the text of a program; each change (old, new) is made once, and puts a fault in."""
    starter, solution = ((folder / f"{name}.py").read_text() for folder in (STARTERS, SOLUTIONS))
    lines = starter.splitlines()
    written = {node.name: solution.splitlines()[_first(node) - 1 : node.end_lineno] for node in _functions(solution)}
    for node in reversed(_functions(starter)):  # from the end, so that line numbers stay right
        if node.name in written:
            lines[_first(node) - 1 : node.end_lineno] = written.pop(node.name)
    if written:
        raise ValueError(f"{name}: the starter leaves out no {', '.join(written)}")
    text = "\n".join(lines) + "\n"
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"{name}: {old!r} is {text.count(old)} times in the program")
        text = text.replace(old, new)
    return text


def _functions(text: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


if __name__ == "__main__":
    print(compose(sys.argv[1]), end="")
