"""One game as a gymnasium environment in plain Python: it loads neither JAX nor numba.

| part | what it is |
|---|---|
| observation | uint8[H, W], level of each tile, in 2048 log2, 0 = empty |
| with hints | a dict: "board", as above; "hint", 1 to the number of hints; "bag", uint8[K], the tiles left in it |
| action | up, right, down, left = 0..3 |
| reward | float, points of the move, in 2048 the sum of the merged tiles; and of the tile placed after it |
| terminated | no move is legal |
| truncated | never; add gymnasium.wrappers.TimeLimit for a limit |
| info | "action_mask", int8[4]: 1 for a legal move; after `reset` "score", the points of the first tiles |

The score of a game is that of its start and the sum of its rewards.

An illegal action changes nothing: the same board, reward 0, no spawn. It is no error, because programs without masks
try such actions. A game of an agent that repeats one does not end: mask the actions, or set a time limit.

render_mode "ansi" returns the board as text, "rgb_array" as a picture, each with the next tile if the game tells it;
"human" prints the text to the terminal at each reset and step. A wrong argument is a ValueError of one line.
"""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from muzero2048.environments.checks import NUM_ACTIONS, board_sides, one_action, state_space
from muzero2048.environments.drawing import board_picture, state_text
from ntuple.core.games.definition import Game, State
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import find_game
from ntuple.core.rules import Board, afterstate, begin_game, spawn

Levels = NDArray[np.uint8]  # [H, W]


class _Play2048:
    """A game of 2048 by rules that cache their lines: a step takes microseconds."""

    def __init__(self, rows: int, columns: int) -> None:
        self._sides = (rows, columns)
        self._set(((0,) * columns,) * rows, stream=0)

    def begin(self, random: np.random.Generator) -> int:
        self._set(*begin_game(*self._sides, int(random.integers(2**64, dtype=np.uint64))))
        return 0

    def moves(self) -> list[int | None]:
        return [points if after != self.state.board else None for after, points in self._moves]

    def move(self, action: int) -> int:
        self._set(*spawn(self._moves[action][0], self._stream))
        return 0

    def _set(self, board: Board, stream: int) -> None:
        self.state, self._stream = State(board), stream
        self._moves = [afterstate(board, action) for action in range(NUM_ACTIONS)]


class _PlayByDefinition:
    """A game of any kind, by its definition."""

    def __init__(self, game: Game, rows: int, columns: int) -> None:
        self._game, self._sides = game, (rows, columns)
        self.begin(np.random.default_rng(0))

    def begin(self, random: np.random.Generator) -> int:
        """Start a game; return the points of the first tiles."""
        self._random = random
        state, score = self._game.draw_opening(*self._sides, random.random)
        self._set(state)
        return score

    def moves(self) -> list[int | None]:
        """Return the points of the four moves, None for illegal ones."""
        return [move and move.points for move in self._moves]

    def move(self, action: int) -> int:
        """Make a legal move; return the points of the tile placed after it."""
        move = self._moves[action]
        assert move is not None
        state, points = self._game.draw(move.after, self._random.random)
        self._set(state)
        return points

    def _set(self, state: State) -> None:
        self.state = state
        self._moves = [self._game.move(state, action) for action in range(NUM_ACTIONS)]


class GameEnv(gymnasium.Env[Any, np.int64]):
    """A game on a board of `rows` x `columns` cells, each side 2 to 4."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 4}

    def __init__(self, rows: int = 4, columns: int = 4, render_mode: str | None = None, game: str = "2048") -> None:
        """Make the environment.

        `render_mode` is None, "ansi", "rgb_array" or "human"; `game` is a name of docs/games.md.
        """
        rows, columns = board_sides(rows, columns)
        modes = self.metadata["render_modes"]
        if render_mode not in (None, *modes):
            raise ValueError(f"there is no render_mode {render_mode!r}; give one of: {', '.join(modes)}")
        self.game = find_game(game, rows, columns)
        self.observation_space = state_space(self.game, rows, columns)
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self.render_mode = render_mode
        self._play: _Play2048 | _PlayByDefinition = (
            _Play2048(rows, columns) if self.game is GAME_2048 else _PlayByDefinition(self.game, rows, columns)
        )
        self._points = self._play.moves()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a game.

        The same seed and actions give the same game; seed None: the next game of the last seed. No options are known.
        """
        super().reset(seed=seed, options=options)
        score = self._play.begin(self.np_random)
        self._points = self._play.moves()
        self._show()
        return self._observation(), {"action_mask": self._mask(), "score": score}

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move, then a tile is placed; an illegal action changes nothing."""
        points = self._points[one_action(action)]
        if points is not None:
            points += self._play.move(int(action))
            self._points = self._play.moves()
        self._show()
        mask = self._mask()
        return self._observation(), float(points or 0), not mask.any(), False, {"action_mask": mask}

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which moves are legal, bool[4], by the name that sb3-contrib looks for."""
        return self._mask().astype(bool)

    def render(self) -> Any:
        """Return the board as text ("ansi") or as a picture uint8[height, width, 3] ("rgb_array"); else None."""
        if self.render_mode == "ansi":
            return state_text(self._play.state, self.game)
        hint = self._play.state.hint
        return board_picture(self._levels(), self.game, hint) if self.render_mode == "rgb_array" else None

    def _levels(self) -> Levels:
        return np.array(self._play.state.board, np.uint8)

    def _observation(self) -> Any:
        state = self._play.state
        if self.game.bag is None:
            return self._levels()
        return {"board": self._levels(), "hint": np.int64(state.hint), "bag": np.array(state.bag, np.uint8)}

    def _mask(self) -> NDArray[np.int8]:
        return np.array([points is not None for points in self._points], np.int8)

    def _show(self) -> None:
        if self.render_mode == "human":
            print(state_text(self._play.state, self.game), end="\n\n", flush=True)
