"""The data of a page that `replay` writes."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from launch.cli import main
from launch.viewing.replay.page import DTYPES

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


def data_of(page: Path) -> dict[str, Any]:
    """Return the data of a page with its arrays unpacked."""
    return unpacked(json.loads(DATA.search(page.read_text(encoding="utf-8"))[1]))


def unpacked(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"type", "data"}:
        return np.frombuffer(base64.b64decode(value["data"]), DTYPES[value["type"]])
    return {key: unpacked(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def replay(path: Path | str, *words: str) -> dict[str, Any]:
    """Return the data of the page that the command writes."""
    assert main(["replay", str(path), *words]) == 0
    return data_of(Path("replay.html"))


def lines_of(file: Path) -> list[str]:
    """Return the records of a file, without its header."""
    return file.read_text().splitlines()[1:]


def boards_of_page(data: dict[str, Any]) -> np.ndarray:
    return data["arrays"]["cells"].reshape(-1, data["rows"], data["columns"])
