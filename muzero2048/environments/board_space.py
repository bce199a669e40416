"""The observation space that both environments share."""

from typing import Any

import numpy as np
from gymnasium import spaces


def board_space(rows: int, columns: int) -> "spaces.Box[Any]":
    """Return the space of boards uint8[H, W] with log2 of the tiles.

    The largest tile of N cells is 2^(N + 1): it needs N - 1 smaller tiles before the last merge, and a spawn of a 4.

    Args:
        rows: H.
        columns: W.

    Returns:
        The space.
    """
    return spaces.Box(0, rows * columns + 1, (rows, columns), np.uint8)
