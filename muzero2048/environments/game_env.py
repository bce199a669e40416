"""One game of 2048 as a gymnasium environment in plain Python: it loads neither JAX nor numba.

| part | what it is |
|---|---|
| observation | uint8[H, W], log2 of each tile, 0 = empty |
| action | up, right, down, left = 0..3 |
| reward | float, sum of the merged tiles; their sum over a game is its score |
| terminated | no move is legal |
| truncated | never; add gymnasium.wrappers.TimeLimit for a limit |
| info | "action_mask", int8[4]: 1 for a legal move |

An illegal action changes nothing: the same board, reward 0, no spawn. It is no error, because programs without masks
try such actions. A game of an agent that repeats one does not end: mask the actions, or set a time limit.

render_mode "ansi" returns the board as text, "rgb_array" as a picture, and "human" prints the text to the terminal at
each reset and step. A wrong argument is a ValueError of one line.
"""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from muzero2048.environments.checks import NUM_ACTIONS, board_sides, board_space, one_action
from muzero2048.environments.drawing import board_picture, board_text
from ntuple.core.rules import Board, afterstate, begin_game, spawn

Levels = NDArray[np.uint8]  # [H, W]


class Game2048Env(gymnasium.Env[Levels, np.int64]):
    """2048 on a board of `rows` x `columns` cells, each side 2 to 4."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 4}

    def __init__(self, rows: int = 4, columns: int = 4, render_mode: str | None = None) -> None:
        """Make the environment.

        `render_mode` is None, "ansi", "rgb_array" or "human".
        """
        rows, columns = board_sides(rows, columns)
        modes = self.metadata["render_modes"]
        if render_mode not in (None, *modes):
            raise ValueError(f"there is no render_mode {render_mode!r}; give one of: {', '.join(modes)}")
        self.observation_space = board_space(rows, columns)
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self.render_mode = render_mode
        self._sides = (rows, columns)
        self._set_board(((0,) * columns,) * rows, stream=0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Levels, dict[str, Any]]:
        """Start a game.

        The same seed and actions give the same game; seed None: the next game of the last seed. No options are known.
        """
        super().reset(seed=seed, options=options)
        self._set_board(*begin_game(*self._sides, int(self.np_random.integers(2**64, dtype=np.uint64))))
        self._show()
        return self._levels(), {"action_mask": self._mask()}

    def step(self, action: np.int64 | int) -> tuple[Levels, float, bool, bool, dict[str, Any]]:
        """Move, then spawn; an illegal action changes nothing."""
        action = one_action(action)
        after, points = self._moves[action]
        if after != self._board:
            self._set_board(*spawn(after, self._stream))
        self._show()
        mask = self._mask()
        return self._levels(), float(points), not mask.any(), False, {"action_mask": mask}

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which moves are legal, bool[4], by the name that sb3-contrib looks for."""
        return self._mask().astype(bool)

    def render(self) -> Any:
        """Return the board as text ("ansi") or as a picture uint8[height, width, 3] ("rgb_array"); else None."""
        if self.render_mode == "ansi":
            return board_text(self._levels())
        return board_picture(self._levels()) if self.render_mode == "rgb_array" else None

    def _levels(self) -> Levels:
        return np.array(self._board, np.uint8)

    def _mask(self) -> NDArray[np.int8]:
        return np.array([after != self._board for after, _ in self._moves], np.int8)

    def _set_board(self, board: Board, stream: int) -> None:
        """Go on with a board and a state of the random stream."""
        self._board, self._stream = board, stream
        self._moves = [afterstate(board, action) for action in range(NUM_ACTIONS)]

    def _show(self) -> None:
        if self.render_mode == "human":
            print(board_text(self._levels()), end="\n\n", flush=True)
