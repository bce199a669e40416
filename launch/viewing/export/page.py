"""The exported page: one HTML file with a network, its player in JavaScript, and no request to anywhere.

game.js has the rules, search.js the network and the search; both are the text of the Web Worker too. page.js has the
controls. A view is a tuple of cells: view v of a board has the board's cell v[c] at cell c (ntuple.tables.patterns).
"""

from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from launch.quantities import counted
from launch.viewing import BASE_STYLE, BOARD_SCRIPT, BOARD_STYLE, CONTROLS, GAME_STYLE, one_file
from launch.viewing.export.weights import PackedWeights
from ntuple.core.rules import FOUR_SHARE
from ntuple.files.stored_network import StoredNetwork
from ntuple.tables.patterns import count_levels, view_cells

HERE = Path(__file__).parent
WORKER = "worker-src blob:"  # the search runs in a worker whose text is in the page


class PageContent(NamedTuple):
    """What the page shows."""

    name: str  # of the run
    env_steps: int  # moves of its training
    network: StoredNetwork  # of one stage, without promotion
    packed: PackedWeights
    score_line: str | None  # what the network scores, in words


def render(content: PageContent) -> str:
    """Return the text of the page."""
    engine = one_file.read(HERE / "game.js", HERE / "search.js")
    script = one_file.read(BOARD_SCRIPT, CONTROLS, HERE / "page.js")
    style = one_file.read(BASE_STYLE, GAME_STYLE, BOARD_STYLE, HERE / "page.css")
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        head=one_file.head(f"2048: {content.name}", [engine, script], style, WORKER),
        name=escape(content.name),
        about=escape(_about(content)),
        network=one_file.json_text(describe(content.network, content.packed)),
        weights=content.packed.text,
        engine=engine,
        script=script,
    )


def describe(network: StoredNetwork, packed: PackedWeights) -> dict[str, Any]:
    """Return a network as search.js reads it, without its weights."""
    config = network.config
    return {
        "rows": config.rows,
        "columns": config.columns,
        "fourShare": FOUR_SHARE,
        "levels": count_levels(config.rows, config.columns),  # R
        "patterns": network.patterns,  # [M] cells of each tuple
        "views": view_cells(config.rows, config.columns, config.symmetry),  # [S]
        "scales": packed.scales,  # [M]
        "size": packed.size,  # weights of all tables
    }


def _about(content: PageContent) -> str:
    """Return what the player is, in words."""
    tuples, weights = counted(len(content.network.patterns), "tuple"), counted(content.packed.size, "weight")
    text = f"An n-tuple network of {tuples} and {weights} in half precision, trained by {content.env_steps:,} moves."
    return f"{text} {content.score_line}" if content.score_line else text
