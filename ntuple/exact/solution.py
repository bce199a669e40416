"""Look-ups in a solved game: values of positions and moves, and the regret of moves."""

import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.rules import FOUR_SHARE
from ntuple.exact.solution_file import GameSettings, read_solution, write_solution
from ntuple.exact.solver import (
    LEVELS,
    Codes,
    Solved,
    Values,
    canonical,
    canonize,
    find,
    first_boards,
    layer,
    make_values,
    value_afters,
)
from ntuple.game.bitboard import (
    ONE,
    U15,
    ZERO,
    Board,
    Rules,
    afterstate,
    count_cells,
    decode,
    empty_cells,
    encode,
    is_same,
    kth_cell,
    make_rules,
    max_cell,
)
from ntuple.game.jit import inline, kernel
from ntuple.tables.placement import available_cores

ACTIONS = ("up", "right", "down", "left")
CHUNK = 1 << 11  # states of one task
NOWHERE = np.int64(-1)


class Worth(NamedTuple):
    """The values of a position (ntuple.exact.solver)."""

    expected: float  # mean of the future points
    best: int  # future points with the luckiest spawns
    worst: int  # future points with the unluckiest spawns
    reach: float  # largest probability of the tile; 0 if the game was solved without one


class Answer(NamedTuple):
    """The values of a position as a state and as an afterstate; it may be reachable as both."""

    state: Worth | None  # values before a move; None: play cannot reach it as a state
    afterstate: Worth | None  # values before a spawn; None: play cannot reach it as an afterstate

    @property
    def is_reachable(self) -> bool:
        """Whether play can reach the position."""
        return self.state is not None or self.afterstate is not None


@inline
def half_sum(word: np.uint64) -> np.int64:
    """Return half the sum of the tiles: the layer of a board."""
    total = ZERO
    while word:
        level = word & U15
        if level:
            total += ONE << (level - ONE)
        word >>= np.uint64(4)
    return np.int64(total)


@inline
def place_of(codes: Codes, starts: NDArray[np.int64], k: np.int64, code: np.uint64) -> np.int64:
    """Return the index of a code whose tiles have the sum 2k; -1 if it is not among the codes."""
    if k >= starts.size - 1:
        return NOWHERE
    part = codes[starts[k] : starts[k + 1]]
    if part.size == 0:
        return NOWHERE
    place = find(part, code)
    return starts[k] + place if part[place] == code else NOWHERE


@inline
def expected_of_after(
    rules: Rules, states: Codes, starts: NDArray[np.int64], expected: NDArray[np.float64], k: np.int64, word: np.uint64
) -> float:
    """Return V(as) of an afterstate; NaN if a state after it is not among the states."""
    empty = empty_cells(rules, Board(word, ZERO))
    count = count_cells(empty)
    total = 0.0
    for i in range(count):
        cell = kth_cell(empty, np.uint64(i))
        two = place_of(states, starts, k + 1, canonical(rules, Board(word | cell, ZERO)))
        four = place_of(states, starts, k + 2, canonical(rules, Board(word | cell << ONE, ZERO)))
        if two < 0 or four < 0:
            return np.nan
        total += (1 - FOUR_SHARE) * expected[two] + FOUR_SHARE * expected[four]
    return total / count


@kernel
def half_sums(words: NDArray[np.uint64], out: NDArray[np.int64]) -> None:
    """Compute the layers of boards."""
    for i in range(words.size):
        out[i] = half_sum(words[i])


@kernel
def value_moves(
    rules: Rules,
    states: Codes,
    starts: NDArray[np.int64],
    expected: NDArray[np.float64],
    until: int,
    words: NDArray[np.uint64],
    order: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Compute r + V(as) of the moves of boards.

    Args:
        out: [N, 4] receives their rows: -inf if a move is illegal, NaN if play cannot reach the board.
    """
    for i in order:
        board = Board(words[i], ZERO)
        k = half_sum(words[i])
        outside = words[i] & ~(rules.cells * U15)
        if outside or place_of(states, starts, k, canonical(rules, board)) < 0:
            out[i, :] = np.nan
            continue
        out[i, :] = -np.inf
        if max_cell(board) >= until:
            continue
        for action in range(4):
            after, reward = afterstate(rules, board, action)
            if not is_same(after, board):
                value = expected_of_after(rules, states, starts, expected, k, canonical(rules, after))
                out[i, action] = np.int64(reward) + value


@dataclass(frozen=True)
class Solution:
    """All positions of a game that play can reach, with their values.

    Made from the result of `solve` with the same settings, or by `Solution.load`. Levels are log2 of tiles, 0 = empty.
    """

    rows: int  # H of the board
    columns: int  # W of the board
    until: int  # level of the tile that ends the game; more than 15: none
    tile: int  # level of the tile whose probability was computed; more than 15: none
    solved: Solved

    @functools.cached_property
    def rules(self) -> Rules:
        """The rules of the board."""
        return make_rules(self.rows, self.columns)

    def start(self) -> Worth:
        """Return the values of the empty board, before the two spawns with which a game begins.

        Raises:
            ValueError: the settings are not those of the solved game.
        """
        openings = [(chance, self._state(code)) for chance, code in first_boards(self.rows, self.columns)]
        worths = [(chance, worth) for chance, worth in openings if worth is not None]
        if len(worths) < len(openings):
            raise ValueError("the boards with which a game begins are not among the states")
        return Worth(
            expected=sum(chance * worth.expected for chance, worth in worths),
            best=max(worth.best for _, worth in worths),
            worst=min(worth.worst for _, worth in worths),
            reach=sum(chance * worth.reach for chance, worth in worths),
        )

    def look_up(self, levels: NDArray[np.integer]) -> Answer:
        """Return the values of a position.

        Args:
            levels: int[H, W], any view of the position.

        Raises:
            ValueError: the position has another shape.
        """
        word = self.word(levels)
        if word is None:
            return Answer(None, None)
        code = np.array([word])
        canonize(self.rules, code)
        return Answer(self._state(code[0]), self._afterstate(code[0]))

    def word(self, levels: NDArray[np.integer]) -> np.uint64 | None:
        """Return the word of levels int[H, W]; None if a tile does not fit in a word.

        Raises:
            ValueError: the position has another shape.
        """
        if levels.shape != (self.rows, self.columns):
            raise ValueError(f"a position of shape {levels.shape}: the solved board is {self.rows}x{self.columns}")
        if levels.min() < 0 or levels.max() > LEVELS:
            return None
        return encode(levels).lo

    def move_values(self, words: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the values r + V(as) of the four moves of states.

        Args:
            words: uint64[N], the words of the boards (`lo` of ntuple.game.bitboard.Board), any view of them.

        Returns:
            float64[N, 4] in points, -inf if the move is illegal. The largest value of a row equals V(s) to the bit. If
            the game is over, all four are -inf.

        Raises:
            ValueError: play cannot reach a board.
        """
        words = np.ascontiguousarray(words, np.uint64)
        out, sums = np.empty((words.size, 4)), np.empty(words.size, np.int64)
        half_sums(words, sums)
        order = np.argsort(sums)  # one layer after the other: it stays in the cache, three times as fast on 3x3
        solved = self.solved
        states = (solved.states, solved.state_starts, solved.values.expected)

        def task(start: int) -> None:
            value_moves(self.rules, *states, self.until, words, order[start : start + CHUNK], out)

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
        settings = GameSettings(self.rows, self.columns, self.until, self.tile)
        write_solution(path, settings, self.solved)

    @classmethod
    def load(cls, path: Path) -> "Solution":
        """Map a file that `save` wrote into memory.

        Raises:
            ValueError: the file is missing, damaged, or of another kind.
        """
        settings, solved = read_solution(path)
        solution = cls(*settings, solved)
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
        k, out = int(half_sum(code)), make_values(1)
        value_afters(self.rules, np.array([code]), *layer(solved, k + 1), *layer(solved, k + 2), out)
        return _worth(out, 0)

    @staticmethod
    def _place(codes: Codes, starts: NDArray[np.int64], code: np.uint64) -> int | None:
        """Return the index of a code, or None."""
        place = place_of(codes, starts, half_sum(code), code)
        return None if place < 0 else int(place)

    def _text(self, word: np.uint64) -> str:
        """Return the tiles of a board, used in error messages."""
        levels = decode(self.rules, Board(word, ZERO)).tolist()
        return " / ".join(" ".join(str(1 << level if level else 0) for level in row) for row in levels)


def _worth(values: Values, place: int) -> Worth:
    return Worth(*(array[place].item() for array in values))
