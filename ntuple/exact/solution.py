"""Look-ups in a solved game: values of positions and moves, and the regret of moves."""

import functools
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import Game, encode_draw
from ntuple.core.games.known import find_game
from ntuple.core.opponents import OPPONENTS, Opponent
from ntuple.core.rules import DOWN, LEFT, RIGHT, UP
from ntuple.exact.positions import DRAW_AT, LEVELS, board_of, canonical, layer_of, rules_of
from ntuple.exact.solution_file import GameSettings, read_solution, write_solution
from ntuple.exact.solver import (
    Codes,
    Solved,
    Values,
    code_of,
    first_positions,
    layers_of,
    make_values,
    place_of,
    value_afters,
    worth_of_after,
)
from ntuple.game.any_game import AnyRules, afterstate
from ntuple.game.bitboard import U15, Board, decode, encode, is_same, max_cell
from ntuple.game.jit import kernel
from ntuple.tables.cpu_placement import available_cores

ACTIONS = ("up", "right", "down", "left")
CHUNK = 1 << 11  # states of one task


class Worth(NamedTuple):
    """The values of a position (ntuple.exact.solver)."""

    expected: float  # mean of the future points
    best: int  # future points with the luckiest spawns
    worst: int  # future points with the unluckiest spawns
    reach: float  # largest probability of the tile; 0 if the game was solved without one


class Answer(NamedTuple):
    """The values of a position as a state and as an afterstate; it may be reachable as both."""

    state: Worth | None  # values before a move; None: play cannot reach it as a state
    afterstate: Worth | None  # values before a placement; None: play cannot reach it as an afterstate

    @property
    def is_reachable(self) -> bool:
        """Whether play can reach the position."""
        return self.state is not None or self.afterstate is not None


@kernel
def value_moves(
    rules: AnyRules,
    solved: Solved,
    until: int,
    opponent: Opponent | None,
    words: NDArray[np.uint64],
    order: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Compute r + V(as) of the moves of boards.

    Args:
        out: [N, 4] receives their rows: -inf if a move is illegal, NaN if play cannot reach the board.
    """
    for i in order:
        board = board_of(rules, words[i])
        k = layer_of(rules, board)
        outside = board.lo & ~(rules.cells * U15)
        if outside or place_of(solved.states, solved.state_starts, k, code_of(rules, board)) < 0:
            out[i, :] = np.nan
            continue
        out[i, :] = -np.inf
        if max_cell(board) >= until:
            continue
        for action in range(4):
            after, reward = afterstate(rules, board, action)
            if not is_same(after, board):
                view = board_of(rules, code_of(rules, after))  # summed as in `value_afters`: equal to the bit
                out[i, action] = np.int64(reward) + worth_of_after(rules, view, solved, opponent)[0]


@dataclass(frozen=True)
class Solution:
    """All positions of a game that play can reach, with their values.

    Made from the result of `solve` with the same settings, or by `Solution.load`. Words are those of positions.py.
    """

    rows: int  # H of the board
    columns: int  # W of the board
    until: int  # level of the tile that ends the game; more than 15: none
    tile: int  # level of the tile whose probability was computed; more than 15: none
    solved: Solved
    game: str = "2048"  # its name (ntuple.core.games.known)
    opponent: str = "chance"  # who places the tiles, a key of OPPONENTS

    @functools.cached_property
    def rules(self) -> AnyRules:
        """The rules of the board."""
        return rules_of(self.game, self.rows, self.columns)

    @property
    def definition(self) -> Game:
        """The game."""
        return find_game(self.game, self.rows, self.columns)

    def start(self) -> Worth:
        """Return the values of the empty board, before the tiles with which a game begins.

        Raises:
            ValueError: the settings are not those of the solved game.
        """
        openings = [(p, self._state(code), points) for p, code, points in first_positions(self.rules, self.game)]
        worths = [(p, worth, points) for p, worth, points in openings if worth is not None]
        if len(worths) < len(openings):
            raise ValueError("the boards with which a game begins are not among the states")
        return Worth(
            expected=sum(p * (points + worth.expected) for p, worth, points in worths),
            best=max(points + worth.best for _, worth, points in worths),
            worst=min(points + worth.worst for _, worth, points in worths),
            reach=sum(p * worth.reach for p, worth, _ in worths),
        )

    def look_up(self, levels: NDArray[np.integer], hint: int = 0, last: int | None = None) -> Answer:
        """Return the values of a position.

        Args:
            levels: int[H, W], any view of the position.
            hint: the level of the next tile, in a game that tells it. The rest of the bag follows: with one tile of
                each kind in a bag no two rests are possible.
            last: action of the last move, in a game that places tiles on the far side. None: no afterstate is looked
                up.

        Raises:
            ValueError: the position has another shape.
        """
        word, after = self.state_word(levels, hint), None
        if last is not None or self.definition.placement == "anywhere":
            place = self._places(levels, last)
            afters = (self._afterstate(self._code(word | place)) for word in self.words(levels, hint))
            after = next(filter(None, afters), None)
        return Answer(None if word is None else self._state(self._code(word)), after)

    def state_word(self, levels: NDArray[np.integer], hint: int = 0) -> np.uint64 | None:
        """Return the word of a position with the bag that play can leave; None if play cannot reach it as a state."""
        return next((word for word in self.words(levels, hint) if self._state(self._code(word)) is not None), None)

    def words(self, levels: NDArray[np.integer], hint: int = 0) -> Iterator[np.uint64]:
        """Yield the words that a position may have: one for each possible bag; none if a tile does not fit in a word.

        Raises:
            ValueError: the position has another shape.
        """
        word = self.word(levels)
        bag = self.definition.bag
        if word is None:
            return
        if bag is None:
            yield word
            return
        for counts in itertools.product(range(bag.each + 1), repeat=bag.kinds):
            yield word | encode_draw(hint, counts) << DRAW_AT

    def word(self, levels: NDArray[np.integer]) -> np.uint64 | None:
        """Return the word of levels int[H, W], without a hint; None if a tile does not fit in a word.

        Raises:
            ValueError: the position has another shape.
        """
        if levels.shape != (self.rows, self.columns):
            raise ValueError(f"a position of shape {levels.shape}: the solved board is {self.rows}x{self.columns}")
        largest = LEVELS if self.definition.placement == "anywhere" else LEVELS - 1
        if levels.min() < 0 or levels.max() > largest:
            return None
        return encode(levels).lo

    def _places(self, levels: NDArray[np.integer], last: int | None) -> np.uint64:
        """Return the bits of a word for the places of the next tile, on the side opposite to the last move."""
        if last is None or self.definition.placement == "anywhere":
            return np.uint64(0)
        row, column = np.indices(levels.shape)
        far = {UP: row == self.rows - 1, DOWN: row == 0, LEFT: column == self.columns - 1, RIGHT: column == 0}[last]
        return encode(np.where(far & (levels == 0), LEVELS, 0)).lo

    def _code(self, word: np.uint64) -> np.uint64:
        return np.uint64(canonical(self.rules, word))

    def move_values(self, words: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the values r + V(as) of the four moves of states.

        Args:
            words: uint64[N], the words of the boards, any view of them.

        Returns:
            float64[N, 4] in points, -inf if the move is illegal. The largest value of a row equals V(s) to the bit. If
            the game is over, all four are -inf.

        Raises:
            ValueError: play cannot reach a board.
        """
        words = np.ascontiguousarray(words, np.uint64)
        out, sums = np.empty((words.size, 4)), np.empty(words.size, np.int64)
        layers_of(self.rules, words, sums)
        order = np.argsort(sums)  # one layer after the other: it stays in the cache, three times as fast on 3x3
        opponent = OPPONENTS[self.opponent]

        def task(start: int) -> None:
            value_moves(self.rules, self.solved, self.until, opponent, words, order[start : start + CHUNK], out)

        with ThreadPoolExecutor(available_cores()) as pool:
            list(pool.map(task, range(0, words.size, CHUNK)))
        lost = np.flatnonzero(np.isnan(out).any(axis=1))
        if lost.size:
            text = self._text(words[lost[0]])
            raise ValueError(f"board {lost[0]}, {text}: no state of this game, play never brings the player there")
        return out

    def losses(self, words: NDArray[np.uint64], actions: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the regret of moves: max over a of r + V(as), minus r + V(as) of the chosen action.

        Returns:
            float64[N] >= 0 in points.

        Raises:
            ValueError: play cannot reach a board, or a move is illegal.
        """
        values = self.move_values(words)
        actions = np.asarray(actions)
        inside = (actions >= 0) & (actions < 4)
        chosen = values[np.arange(len(values)), np.where(inside, actions, 0)]
        wrong = np.flatnonzero(~inside | np.isneginf(chosen))
        if wrong.size:
            action = int(actions[wrong[0]])
            name = ACTIONS[action] if 0 <= action < 4 else "none of the four"
            raise ValueError(f"board {wrong[0]}, {self._text(words[wrong[0]])}: move {action} ({name}) is not legal")
        return values.max(axis=1) - chosen

    def save(self, path: Path) -> None:
        """Write the solution; the file exists complete or not at all.

        Raises:
            OSError: the file cannot be written.
        """
        settings = GameSettings(self.rows, self.columns, self.until, self.tile, self.game, self.opponent)
        write_solution(path, settings, self.solved)

    @classmethod
    def load(cls, path: Path) -> "Solution":
        """Map a file that `save` wrote into memory.

        Raises:
            ValueError: the file is missing, damaged, or of another kind.
        """
        settings, solved = read_solution(path)
        solution = cls(*settings[:4], solved, settings.game, settings.opponent)
        try:
            solution.start()
        except ValueError as error:
            raise ValueError(f"{path}: damaged, solve the game again ({error})") from error
        return solution

    def _state(self, code: np.uint64) -> Worth | None:
        """Return the values of a state."""
        solved = self.solved
        place = self._place(solved.states, solved.state_starts, code)
        return None if place is None else _worth(solved.values, place)

    def _afterstate(self, code: np.uint64) -> Worth | None:
        """Return the values of an afterstate, computed from those of the states after it."""
        solved = self.solved
        if self._place(solved.afters, solved.after_starts, code) is None:
            return None
        out = make_values(1)
        value_afters(self.rules, np.array([code]), solved, OPPONENTS[self.opponent], out)
        return _worth(out, 0)

    def _place(self, codes: Codes, starts: NDArray[np.int64], code: np.uint64) -> int | None:
        """Return the index of a code, or None."""
        layer = np.empty(1, np.int64)
        layers_of(self.rules, np.array([code]), layer)
        place = place_of(codes, starts, layer[0], code)
        return None if place < 0 else int(place)

    def _text(self, word: np.uint64) -> str:
        """Return the tiles of a board, used in error messages."""
        board = Board(*(np.uint64(part) for part in board_of(self.rules, word)))
        tiles = np.array(self.definition.tiles)[decode(self.rules, Board(board.lo, np.uint64(0)))]
        return " / ".join(" ".join(map(str, row)) for row in tiles.tolist())


def _worth(values: Values, place: int) -> Worth:
    return Worth(*(array[place].item() for array in values))
