"""What the games of the family share: a game is a value of `Game`, and its rules follow from it. Standard library only.

    level    number of a tile in rising order, 0 = empty; `tiles[level]` is the tile
    board    tuple of H rows of W levels
    action   up, right, down, left = 0..3

A move slides the tiles of all lines towards a wall, and merges pairs of neighbours, beginning at the wall. A merged
tile does not merge again in this move. A move that changes no line is not legal. A game without a legal move is over.
Then the environment places one tile (Guei 2023, sec. 5.2).

Some games tell the next tile before the move, the hint. It is drawn from a bag, and is part of the state:

    State        what a player sees before a move: board, hint, bag
    Afterstate   what a placement begins with: the board after the move, the places of the next tile, hint, bag

The bag holds how many tiles of each kind are left after the hint was drawn; it is filled again when it is empty, so it
follows from what was seen.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ntuple.core.rules import DOWN, LEFT, RIGHT, UP

MOST_LEVELS = 32  # boards have five bits a cell
HINT_BITS = 3  # of hint and of each count of the bag, in a draw
GOALS_IN_TRAINING = (0, 2, 4)  # numbers of the goals of a game whose shares a training reports

Line = tuple[int, ...]
Board = tuple[Line, ...]
Place = tuple[int, int]  # row, column


class State(NamedTuple):
    """A position before a move."""

    board: Board
    hint: int = 0  # level of the next tile; `Game.bonus_hint`: a bonus tile, whose level is not told; 0: not told
    bag: tuple[int, ...] = ()  # tiles of the levels 1, 2, ... left in the bag; () in a game without a bag


class Afterstate(NamedTuple):
    """A position before a placement."""

    board: Board
    places: tuple[Place, ...]  # where the next tile may be placed, each with the same probability
    hint: int = 0
    bag: tuple[int, ...] = ()


class Move(NamedTuple):
    """What a legal move leads to."""

    after: Afterstate
    points: int


class Event(NamedTuple):
    """A chance event: the placement of a tile, and the next hint."""

    chance: Fraction
    state: State
    points: int


@dataclass(frozen=True)
class Bag:
    """How a game with a hint draws its tiles: from a bag of the levels 1 to `kinds`, and sometimes a bonus tile.

    If the largest tile has at least the level `bonus_from`, the next tile is a bonus tile with probability
    `bonus_share`. Its level is uniform from `bonus_least` to the largest level of the board, less `bonus_below`.
    """

    kinds: int  # levels in the bag
    each: int  # tiles of each level in a full bag
    bonus_share: Fraction = Fraction(0)
    bonus_from: int = 0
    bonus_least: int = 0
    bonus_below: int = 0

    @property
    def full(self) -> tuple[int, ...]:
        """The bag before the first draw."""
        return (self.each,) * self.kinds

    def draws(self, bag: tuple[int, ...]) -> Iterator[tuple[Fraction, int, tuple[int, ...]]]:
        """Yield (chance, level, bag after it) of the next tile from the bag."""
        total = sum(bag)
        for kind, count in enumerate(bag):
            if count:
                rest = (*bag[:kind], count - 1, *bag[kind + 1 :])
                yield Fraction(count, total), kind + 1, rest if any(rest) else self.full


@dataclass(frozen=True)
class Game:
    """A game of the family. All that its fields do not say is as in 2048."""

    name: str
    tiles: tuple[int, ...]  # tile of each level; 0 for the empty cell
    merge: Callable[[int, int], int]  # level of the tile that two levels make; 0: they do not merge
    spawns: tuple[tuple[int, float], ...] = ()  # (level, probability) of a placed tile, if there is no bag
    bag: Bag | None = None
    slides_one_cell: bool = False  # a tile moves by one cell at most, and a line with a gap merges nothing
    placement: Literal["anywhere", "far side", "changed lines"] = (
        "anywhere"  # far side: opposite to the wall of the move
    )
    initial_tiles: int = 2
    adversary: Literal["minimax", "expectiminimax"] = (
        "minimax"  # opponent of its two-player form (ntuple.core.opponents)
    )
    worth: tuple[
        int, ...
    ] = ()  # points of a tile on the board; (): a merge earns the tile it makes, a placement nothing
    # Tiles of which the shares of games that reach them are reported; the first one counts as the win.
    goals: tuple[int, ...] = (2048, 4096, 8192, 16384, 32768, 65536, 131072)
    # n-tuple networks: values of a cell in the index of a tuple, which are fewer on small boards. Larger tiles count as
    # the largest of them.
    index_levels: int = 16
    levels_a_cell: int = 16  # by how many levels the largest tile may rise with one more cell; 16: not known
    most_analysed: int = 0  # level of the largest tile of a board that players analyse; 0: the last one

    @property
    def exact_spawns(self) -> list[tuple[int, Fraction]]:
        """`spawns` with their exact probabilities, in thousandths at most."""
        return [(level, Fraction(probability).limit_denominator(1000)) for level, probability in self.spawns]

    @property
    def largest_level(self) -> int:
        """The level of the largest tile of a board that players analyse."""
        return self.most_analysed or len(self.tiles) - 1

    @property
    def analysed_tiles(self) -> tuple[int, ...]:
        """The tiles of boards that players analyse, by their levels."""
        return self.tiles[: self.largest_level + 1]

    @property
    def bonus_hint(self) -> int:
        """The hint that says: a bonus tile."""
        return self.bag.kinds + 1 if self.bag else 0

    @property
    def doubles(self) -> bool:
        """Whether each tile is twice the one before it, as in 2048."""
        return all(tile == 2**level for level, tile in enumerate(self.tiles) if level)

    @property
    def is_its_board(self) -> bool:
        """Whether the board is the whole state: no bag, and a tile may be placed on each empty cell."""
        return self.bag is None and self.placement == "anywhere"

    @property
    def num_hints(self) -> int:
        """How many hints can follow a placement; 1 if the game tells none."""
        return self.bag.kinds + (self.bag.bonus_share > 0) if self.bag else 1

    @property
    def placed_levels(self) -> tuple[int, ...]:
        """The levels of all tiles that can be placed."""
        if self.bag is None:
            return tuple(level for level, _ in self.spawns)
        bonus = range(self.bag.bonus_least, len(self.tiles) - self.bag.bonus_below) if self.bag.bonus_share else ()
        return (*range(1, self.bag.kinds + 1), *bonus)

    def hint_name(self, hint: int) -> str:
        """Return the tile that a hint tells, or "bonus"; "" for no hint."""
        if self.bag is None or not hint:
            return ""
        return str(self.tiles[hint]) if hint <= self.bag.kinds else "bonus"

    def bag_of(self, board: Board, hint: int) -> tuple[int, ...]:
        """Return the bag that goes with a board and a hint, as far as they tell it; () in a game without a bag.

        Merges keep the sum of all tiles, so without bonus tiles it tells what was drawn since the bag was full. If it
        leaves a doubt, or bonus tiles came, the answer is a full bag less the hint.
        """
        if self.bag is None:
            return ()
        tiles, total = self.tiles[1 : self.bag.kinds + 1], sum(self.tiles[level] for line in board for level in line)
        hinted = tuple(int(kind == hint) for kind in range(1, self.bag.kinds + 1))
        full = tuple(self.bag.each - one for one in hinted)
        fitting = []
        for bag in itertools.product(*(range(most + 1) for most in full)):
            drawn = sum((most - left) * tile for most, left, tile in zip(full, bag, tiles, strict=True))
            if (drawn - total) % (self.bag.each * sum(tiles)) == 0:
                fitting.append(bag)
        is_told = len(fitting) == 1 and not self.bag.bonus_share
        bag = fitting[0] if is_told else full
        return bag if any(bag) else self.bag.full

    def fault_of(self, state: State) -> str:
        """Return what is impossible in hint and bag of a state; "": nothing."""
        if self.bag is None:
            return f"{self.name} tells no hint; give the tiles alone" if state.hint or state.bag else ""
        kinds = range(1, self.bag.kinds + 1)
        if not 1 <= state.hint <= self.num_hints:
            return f"the hint is {state.hint}; {self.name} has hints from 1 to {self.num_hints}"
        if state.hint == self.bonus_hint and _largest(state.board) < self.bag.bonus_from:
            return f"a bonus tile comes only after a tile of {self.tiles[self.bag.bonus_from]}"
        if len(state.bag) != len(kinds) or not all(0 <= count <= self.bag.each for count in state.bag):
            return f"the bag is {state.bag}; it holds {len(kinds)} counts from 0 to {self.bag.each}"
        return "" if any(state.bag) else "the bag is empty, but it is filled again when the last tile is drawn"

    def merge_points(self, one: int, other: int, merged: int) -> int:
        """Return the points of a merge of two levels."""
        return self.worth[merged] - self.worth[one] - self.worth[other] if self.worth else self.tiles[merged]

    def place_points(self, level: int) -> int:
        """Return the points of a placed tile."""
        return self.worth[level] if self.worth else 0

    def slide(self, line: Line) -> tuple[Line, int]:
        """Slide a line towards its first cell; return it and the points."""
        slid, points = self._slide_one_cell(line) if self.slides_one_cell else self._slide_far(line)
        return (*slid, *(0,) * (len(line) - len(slid))), points

    def _slide_far(self, line: Line) -> tuple[Line, int]:
        slid: list[int] = []
        points, may_merge = 0, False
        for level in filter(None, line):
            merged = self.merge(slid[-1], level) if may_merge else 0
            if merged:
                points += self.merge_points(slid[-1], level, merged)
                slid[-1] = merged
            else:
                slid.append(level)
            may_merge = not merged
        return tuple(slid), points

    def _slide_one_cell(self, line: Line) -> tuple[Line, int]:
        for i, level in enumerate(line[:-1]):
            behind = line[i + 1]
            if not level:
                return line[:i] + line[i + 1 :], 0
            merged = self.merge(level, behind) if behind else 0
            if merged:
                return (*line[:i], merged, *line[i + 2 :]), self.merge_points(level, behind, merged)
        return line, 0

    def move(self, state: State, action: int) -> Move | None:
        """Return what a move leads to; None if it is not legal."""
        turned = [self.slide(line) for line in _lines(state.board, action)]
        after = _board(tuple(line for line, _ in turned), action)
        if after == state.board:
            return None
        places = tuple(self._places(state.board, after, action))
        return Move(Afterstate(after, places, state.hint, state.bag), sum(points for _, points in turned))

    def _places(self, before: Board, after: Board, action: int) -> Iterator[Place]:
        """Yield the cells where the environment may place a tile after a move."""
        rows, columns = len(after), len(after[0])
        far = {UP: (rows - 1, None), DOWN: (0, None), LEFT: (None, columns - 1), RIGHT: (None, 0)}[action]
        lines = [b != a for b, a in zip(_lines(before, action), _lines(after, action), strict=True)]
        for row in range(rows):
            for column in range(columns):
                is_far = far[0] == row or far[1] == column
                has_changed = lines[column if action in (UP, DOWN) else row]
                allowed = {"anywhere": True, "far side": is_far, "changed lines": is_far and has_changed}
                if not after[row][column] and allowed[self.placement]:
                    yield row, column

    def events(self, after: Afterstate) -> Iterator[Event]:
        """Yield the chance events of an afterstate; their probabilities sum to 1."""
        for row, column in after.places:
            for share, level in self._placed(after):
                chance = share / len(after.places)
                board = _with_tile(after.board, row, column, level)
                for hint_chance, hint, bag in self._hints(board, after.bag):
                    yield Event(chance * hint_chance, State(board, hint, bag), self.place_points(level))

    def _placed(self, after: Afterstate) -> Iterator[tuple[Fraction, int]]:
        """Yield (chance, level) of the tile that is placed."""
        if self.bag is None:
            for level, share in self.exact_spawns:
                yield share, level
        elif after.hint < self.bonus_hint:
            yield Fraction(1), after.hint
        else:
            levels = range(self.bag.bonus_least, _largest(after.board) - self.bag.bonus_below + 1)
            for level in levels:
                yield Fraction(1, len(levels)), level

    def _hints(self, board: Board, bag: tuple[int, ...]) -> Iterator[tuple[Fraction, int, tuple[int, ...]]]:
        """Yield (chance, hint, bag after it) of the next hint."""
        if self.bag is None:
            yield Fraction(1), 0, ()
            return
        has_bonus = self.bag.bonus_share > 0 and _largest(board) >= self.bag.bonus_from
        share = self.bag.bonus_share if has_bonus else Fraction(0)
        if share:
            yield share, self.bonus_hint, bag
        for chance, level, rest in self.bag.draws(bag):
            yield (1 - share) * chance, level, rest

    def draw(self, after: Afterstate, uniform: Callable[[], float]) -> tuple[State, int]:
        """Draw one of `events` with numbers of [0, 1); return the state after it, and the points of the placed tile."""
        row, column = after.places[int(uniform() * len(after.places))]
        _, level = _drawn(self._placed(after), uniform())
        board = _with_tile(after.board, row, column, level)
        _, hint, bag = _drawn(self._hints(board, after.bag), uniform())
        return State(board, hint, bag), self.place_points(level)

    def draw_opening(self, rows: int, columns: int, uniform: Callable[[], float]) -> tuple[State, int]:
        """Draw one of `openings`; return its state, and the points of the first tiles."""
        empty: Board = ((0,) * columns,) * rows
        _, hint, bag = _drawn(self._hints(empty, self.bag.full if self.bag else ()), uniform())
        state, score = State(empty, hint, bag), 0
        for _ in range(self.initial_tiles):
            state, points = self.draw(Afterstate(state.board, _empty(state.board), *state[1:]), uniform)
            score += points
        return state, score

    def openings(self, rows: int, columns: int) -> Iterator[Event]:
        """Yield how a game begins, with the points of the first tiles; equal states may come more than once.

        The first tiles are placed one after the other on empty cells of equal chance. In a game with a bag they and the
        first hint are drawn from it. There are more than (empty cells)^(initial tiles) events.
        """
        empty: Board = ((0,) * columns,) * rows
        bag = self.bag.full if self.bag else ()
        events = [Event(chance, State(empty, hint, rest), 0) for chance, hint, rest in self._hints(empty, bag)]
        for _ in range(self.initial_tiles):
            events = [
                Event(before.chance * event.chance, event.state, before.points + event.points)
                for before in events
                for event in self.events(Afterstate(before.state.board, _empty(before.state.board), *before.state[1:]))
            ]
        yield from events


def encode_draw(hint: int, bag: tuple[int, ...]) -> int:
    """Return hint and bag as one number: the hint in bits 0..2, the count of kind k = 1, 2, 3 from bit 3k on."""
    return hint + sum(count << HINT_BITS * kind for kind, count in enumerate(bag, start=1))


def decode_draw(draw: int, kinds: int) -> tuple[int, tuple[int, ...]]:
    """Return hint and bag of a number: the inverse of `encode_draw`."""
    hint, *bag = (draw >> HINT_BITS * place & ((1 << HINT_BITS) - 1) for place in range(kinds + 1))
    return hint, tuple(bag)


def _lines(board: Board, action: int) -> list[Line]:
    """Return the lines along which an action slides, each from its wall."""
    lines = list(zip(*board, strict=True)) if action in (UP, DOWN) else list(board)
    return [line[::-1] for line in lines] if action in (RIGHT, DOWN) else lines


def _board(lines: tuple[Line, ...], action: int) -> Board:
    """Return the board of the lines of an action: the inverse of `_lines`."""
    forward = tuple(line[::-1] for line in lines) if action in (RIGHT, DOWN) else lines
    return tuple(zip(*forward, strict=True)) if action in (UP, DOWN) else forward


def _with_tile(board: Board, row: int, column: int, level: int) -> Board:
    """Return a board with a tile on a cell."""
    line = board[row]
    return (*board[:row], (*line[:column], level, *line[column + 1 :]), *board[row + 1 :])


def _drawn(choices: Iterable[tuple[Any, ...]], number: float) -> tuple[Any, ...]:
    """Return the choice, of those that begin with their probability, at a number of [0, 1)."""
    choice: tuple[Any, ...] = ()
    for choice in choices:
        number -= choice[0]
        if number < 0:
            break
    return choice


def _empty(board: Board) -> tuple[Place, ...]:
    return tuple((row, column) for row, line in enumerate(board) for column, level in enumerate(line) if not level)


def _largest(board: Board) -> int:
    return max(max(line) for line in board)
