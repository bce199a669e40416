"""Equations: `$...$` and `$$...$$`, which GitHub shows too, become MathML, which browsers show without a script."""

import html
import re
from importlib.util import find_spec
from pathlib import Path

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves for an equation.
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.S)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.S)


def font() -> Path:
    """Return the file of STIX Two Math, which the package ziamath contains: browsers need a font for mathematics."""
    spec = find_spec("ziamath")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"


def with_mathml(page: str) -> str:
    """Return the HTML of a page with its equations as MathML.

    Raises:
        ValueError: the converter does not know a command of an equation.
    """
    page = _INLINE.sub(lambda found: _mathml(found[1], "inline"), page)
    return _BLOCK.sub(lambda found: f'<div class="equation">{_mathml(found[1], "block")}</div>', page)


def _mathml(latex: str, display: str) -> str:
    latex = html.unescape(latex).strip().replace("{aligned}", "{split}")  # the name that the converter knows
    found = convert(latex, display=display)
    if "\\" in found or ">&<" in found:
        raise ValueError(f"a command of the equation {latex} is unknown")
    return found
