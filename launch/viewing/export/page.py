"""The exported page: one HTML file with a network, its player in JavaScript, and no request to anywhere.

game.js has the rules, search.js the network and the search; both are the text of the Web Worker too. page.js has the
controls. A view is a tuple of cells: view v of a board has the board's cell v[c] at cell c (ntuple.tables.patterns).
"""

from html import escape
from pathlib import Path
from string import Template
from typing import Any

from launch.quantities import counted
from launch.viewing import BASE_STYLE, BOARD_SCRIPT, BOARD_STYLE, CONTROLS, GAME_STYLE, one_file
from launch.viewing.export.weights import PackedWeights
from ntuple.core.rules import FOUR_SHARE
from ntuple.files.stored_network import StoredNetwork
from ntuple.tables.patterns import count_levels, view_cells

HERE = Path(__file__).parent
WORKER = "worker-src blob:"  # the search runs in a worker whose text is in the page


def render(name: str, env_steps: int, network: StoredNetwork, packed: PackedWeights, score_line: str | None) -> str:
    """Return the text of the page.

    Args:
        name: of the run.
        env_steps: moves of its training.
        network: of one stage, without promotion.
        packed: its weights.
        score_line: what it scores, in words.
    """
    tuples, weights = counted(len(network.patterns), "tuple"), counted(packed.size, "weight")
    about = f"An n-tuple network of {tuples} and {weights} in half precision, trained by {env_steps:,} moves."
    engine = one_file.read(HERE / "game.js", HERE / "search.js")
    script = one_file.read(BOARD_SCRIPT, CONTROLS, HERE / "page.js")
    style = one_file.read(BASE_STYLE, GAME_STYLE, BOARD_STYLE, HERE / "page.css")
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        head=one_file.head(f"2048: {name}", [engine, script], style, WORKER),
        name=escape(name),
        about=escape(f"{about} {score_line}" if score_line else about),
        network=one_file.json_text(describe(network, packed)),
        weights=packed.text,
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
