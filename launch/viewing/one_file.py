"""Pages of one file, with their data, style and scripts in it: those of `replay`, `serve --export` and reports."""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from launch.errors import UserError
from launch.files import check_output, write_text

HEAD = Path(__file__).with_name("head.html")
SUFFIXES = (".html", ".htm")


def read(*files: Path) -> str:
    """Return the texts of scripts or styles, one after another, as they stand in the page."""
    return "\n".join(file.read_text(encoding="utf-8").strip() for file in files)


def head(title: str, scripts: Sequence[str], style: str, *more: str) -> str:
    """Return all of a page before its body.

    Its Content-Security-Policy allows its own scripts and style, no request to anywhere; and `more`.
    """
    allowed = " ".join(f"'{_digest(script)}'" for script in scripts)
    rules = [f"default-src 'none'; script-src {allowed}; style-src '{_digest(style)}'; img-src data:", *more]
    policy = "; ".join([*rules, "base-uri 'none'; form-action 'none'"])
    template = Template(HEAD.read_text(encoding="utf-8"))
    return template.substitute(policy=policy, title=escape(title), style=style).strip()


def json_text(value: Any) -> str:
    """Return JSON that can stand in a <script> of a page: no text in it ends that element."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def check_path(option: str, path: Path) -> None:
    """Refuse the path of a page, given by an option, before time is spent; UserError."""
    if path.suffix not in SUFFIXES:
        raise UserError(f"{option} is {path}; give a name that ends with .html")
    check_output(path, option)


def write(option: str, path: Path, text: str) -> None:
    """Write a page, whole or not at all; UserError if it cannot be written."""
    try:
        write_text(path, text)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; name another {option}") from error


def _digest(text: str) -> str:
    """Return the source of a policy that allows this text alone."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
