"""Games on a screen, with what players say of their boards: `serve`, `play` and `replay`, and what they share."""

from pathlib import Path

# The board and the bars of the moves, for any page: they ask no server.
BOARD_SCRIPT = Path(__file__).parent / "board.js"
BOARD_STYLE = Path(__file__).parent / "board.css"
