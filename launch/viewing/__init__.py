"""Games on a screen, with what players say of their boards: `serve`, `play` and `replay`, and what they share.

Words of these files: levels int[H, W] are log2 of the tiles, 0 = empty; a board is its size as text, "HxW"; a position
is the text that `parse_position` reads; moves counts the moves of the game that were made; a seed is of the spawns.
"""

from pathlib import Path

# The board and the bars of the moves, for any page: they ask no server.
BOARD_SCRIPT = Path(__file__).parent / "board.js"
BOARD_STYLE = Path(__file__).parent / "board.css"
