"""One game that is played move by move: its board, score and history. The rules and spawns are those of game.py."""

from typing import NamedTuple

from launch.viewing import game


class State(NamedTuple):
    """A board of the game, before the next move."""

    levels: game.Levels  # int[H, W], log2 of the tiles, 0 = empty
    score: int  # points
    moves: int  # that were made
    spawn: game.Spawn | None  # the last one; None: the opening


class PlayedGame:
    """A game whose moves can be taken back. The spawns are a function of the seed and the moves."""

    def __init__(self, rows: int, columns: int, seed: int) -> None:
        """Open a game.

        Args:
            rows: H of the board.
            columns: W of the board.
            seed: of the spawns, 0 <= seed < 2^32.
        """
        self.rows, self.columns, self.seed = rows, columns, seed
        self._states = [State(game.open_game(rows, columns, seed), 0, 0, None)]
        self._describe()

    @property
    def state(self) -> State:
        """The board that the next move starts from."""
        return self._states[-1]

    def move(self, action: str) -> int:
        """Make a move; return its reward. UserError if it is not legal."""
        levels, score, moves, _ = self.state
        step = game.make_move(levels, action, self.seed, moves)
        self._states.append(State(step.levels, score + step.reward, moves + 1, step.spawn))
        self._describe()
        return step.reward

    def take_back(self) -> bool:
        """Take back the last move; return whether there was one."""
        if len(self._states) == 1:
            return False
        self._states.pop()
        self._describe()
        return True

    def _describe(self) -> None:
        found = game.describe(self.state.levels)
        self.position: str = found["position"]  # in the notation of `parse_position`
        self.legal: list[str] = found["legal"]  # names of the legal moves
        self.is_over: bool = found["over"]
