"""Games on a screen, with what players say of their boards: `serve`, `play` and `replay`, and what they share.

Words of these files: a board is its name as text, "HxW" or "threes HxW"; a state is a position of the game; a position
is its text, that `parse_state` reads; moves counts the moves of the game that were made; a seed is of the spawns.
"""

from pathlib import Path

HERE = Path(__file__).parent
# For any page: they ask no server.
BASE_STYLE = HERE / "base.css"  # colours, text, controls
BOARD_SCRIPT, BOARD_STYLE = HERE / "board.js", HERE / "board.css"  # the board and the bars of the moves
CONTROLS, GAME_STYLE = HERE / "controls.js", HERE / "game.css"  # of a page on which a game is played
