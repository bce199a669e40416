"""The exact solution of small boards: every position that play can reach, and its value.

    V(s)  = max over legal a of r + V(as),  0 if the game is over
    V(as) = sum over spawns of p V(s')      (Guei 2023, eq. 20-22, to the end of the game)

There are four values:

    expected  V
    best      points of the luckiest game of the play that is optimal for V: the maximum over spawns (Guei 2023,
              sec. 5.4.3 and table 28)
    worst     points of the unluckiest game of this play: the minimum over spawns
    reach     largest probability of reaching a tile, by the play that is optimal for it: 1 for a state with the tile,
              without points

Of moves with equal V the first in the order of the actions counts for best and worst.

Positions that a symmetry turns into each other are stored once. Their code is the smallest word of their views. A move
keeps the sum of the tiles and a spawn adds 2 or 4. Positions are therefore found layer by layer in rising order of the
sum, and their values are computed in falling order.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.rules import FOUR_SHARE
from ntuple.game.bitboard import (
    ONE,
    U2,
    ZERO,
    Board,
    Rules,
    afterstate,
    count_cells,
    empty_cells,
    flip,
    is_same,
    kth_cell,
    make_rules,
    max_cell,
    mirror,
    transposed,
)
from ntuple.game.jit import inline, kernel
from ntuple.tables.placement import available_cores

Codes = NDArray[np.uint64]  # canonical boards, ascending

LEVELS = 15  # log2 of the largest tile that fits in a word
MOST_CELLS = 9  # cells of the largest board that is solved without a tile that ends the game
CHUNK = 1 << 13  # positions of one task
NONE_WORSE = 2**31 - 1  # initial value of a minimum
BYTES_OF_STATE, BYTES_OF_AFTER = 45, 12  # most memory of a position, measured on 3x3 and 4x4


class Values(NamedTuple):
    """The values of N positions."""

    expected: NDArray[np.float64]  # [N] mean of the future points
    best: NDArray[np.int32]  # [N] future points with the luckiest spawns
    worst: NDArray[np.int32]  # [N] future points with the unluckiest spawns
    reach: NDArray[np.float64]  # [N] probability of the tile


class Solved(NamedTuple):
    """All positions of a game in layers of equal sum of tiles; the codes of a layer are ascending."""

    states: Codes  # boards before a move, or on which the game is over
    state_starts: NDArray[np.int64]  # [K + 1] layer k, sum 2k, is states[state_starts[k] : state_starts[k + 1]]
    afters: Codes  # afterstates: boards before a spawn
    after_starts: NDArray[np.int64]  # [K + 1] the same for `afters`
    values: Values  # values of the states


def make_values(size: int) -> Values:
    """Return zeros for `size` positions."""
    return Values(np.zeros(size), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size))


@inline
def canonical(rules: Rules, board: Board) -> np.uint64:
    """Return the smallest word of the views of a board; all tiles must be below 65536."""
    flipped = flip(rules, board)
    words = (board.lo, mirror(rules, board).lo, flipped.lo, mirror(rules, flipped).lo)
    least = min(min(words[0], words[1]), min(words[2], words[3]))
    if rules.rows == rules.columns:
        for word in words:
            least = min(least, transposed(Board(word, ZERO)).lo)
    return least


@kernel
def canonize(rules: Rules, words: NDArray[np.uint64]) -> None:
    """Replace boards by their codes, in place."""
    for i in range(words.size):
        words[i] = canonical(rules, Board(words[i], ZERO))


@kernel
def emit_afters(rules: Rules, states: Codes, until: int, out: Codes) -> int:
    """Write the codes of the afterstates of states, at most 4 each."""
    count = 0
    for i in range(states.size):
        board = Board(states[i], ZERO)
        if max_cell(board) >= until:
            continue
        for action in range(4):
            after, _ = afterstate(rules, board, action)
            if not is_same(after, board):
                out[count] = canonical(rules, after)
                count += 1
    return count


@kernel
def emit_states(rules: Rules, afters: Codes, level: int, out: Codes) -> int:
    """Write the codes of the states after the spawn of a tile 2^level, one for each empty cell."""
    count = 0
    for i in range(afters.size):
        board = Board(afters[i], ZERO)
        empty = empty_cells(rules, board)
        for k in range(count_cells(empty)):
            tile = kth_cell(empty, np.uint64(k)) * np.uint64(level)
            out[count] = canonical(rules, Board(board.lo | tile, ZERO))
            count += 1
    return count


@inline
def find(codes: Codes, code: np.uint64) -> int:
    """Return the index of a code in ascending codes by binary search; the code must be there."""
    low, size = 0, codes.size
    while size > 1:
        half = size >> 1
        if codes[low + half] <= code:
            low += half
        size -= half
    return low


@kernel
def value_afters(
    rules: Rules, afters: Codes, twos: Codes, of_twos: Values, fours: Codes, of_fours: Values, out: Values
) -> None:
    """Compute the values of afterstates from the states after their spawns.

    Args:
        twos: the states of the layer with 2 more.
        fours: the states of the layer with 4 more.
    """
    for i in range(afters.size):
        board = Board(afters[i], ZERO)
        empty = empty_cells(rules, board)
        count = count_cells(empty)
        expected = reach = 0.0
        best, worst = np.int32(0), np.int32(NONE_WORSE)
        for k in range(count):
            cell = kth_cell(empty, np.uint64(k))
            two = find(twos, canonical(rules, Board(board.lo | cell, ZERO)))
            four = find(fours, canonical(rules, Board(board.lo | cell << ONE, ZERO)))
            expected += (1 - FOUR_SHARE) * of_twos.expected[two] + FOUR_SHARE * of_fours.expected[four]
            reach += (1 - FOUR_SHARE) * of_twos.reach[two] + FOUR_SHARE * of_fours.reach[four]
            best = max(best, of_twos.best[two], of_fours.best[four])
            worst = min(worst, of_twos.worst[two], of_fours.worst[four])
        out.expected[i], out.reach[i] = expected / count, reach / count
        out.best[i], out.worst[i] = best, worst


@kernel
def value_states(
    rules: Rules, states: Codes, until: int, tile: int, afters: Codes, of_afters: Values, out: Values
) -> None:
    """Compute the values of states from the afterstates of their moves.

    Args:
        out: [N] receives the values; zeros before.
    """
    for i in range(states.size):
        board = Board(states[i], ZERO)
        largest = max_cell(board)
        if largest < until:
            for action in range(4):
                after, reward = afterstate(rules, board, action)
                if is_same(after, board):
                    continue
                place, points = find(afters, canonical(rules, after)), np.int32(reward)
                expected = points + of_afters.expected[place]
                if expected > out.expected[i]:
                    out.expected[i] = expected
                    out.best[i], out.worst[i] = points + of_afters.best[place], points + of_afters.worst[place]
                out.reach[i] = max(out.reach[i], of_afters.reach[place])
        if largest >= tile:
            out.reach[i] = 1.0


def solve(
    rows: int, columns: int, until: int = LEVELS + 1, tile: int = LEVELS + 1, most_bytes: float = math.inf
) -> Solved:
    """Find all positions of a game and compute their values.

    Args:
        until: log2 of the tile that ends the game; more than 15: none, possible on boards of up to nine cells.
        tile: log2 of the tile whose probability is computed; more than 15: none.

    Raises:
        ValueError: the board has more than nine cells and no tile ends the game.
        MemoryError: the positions need more than `most_bytes`.
    """
    if rows * columns > MOST_CELLS and until > LEVELS:
        raise ValueError(f"a board of {rows}x{columns} cells has too many positions: give a tile that ends the game")
    rules = make_rules(rows, columns)
    with ThreadPoolExecutor(available_cores()) as pool:
        layers, needed = {}, 0
        for total, found in _find_layers(rules, until, pool):
            layers[total] = found
            needed += BYTES_OF_STATE * found[0].size + BYTES_OF_AFTER * found[1].size
            if needed > most_bytes:
                raise MemoryError(f"the positions up to {total}, the sum of their tiles, need {needed:,} bytes")
        states, state_starts = _in_a_row({total: states for total, (states, _) in layers.items()})
        afters, after_starts = _in_a_row({total: afters for total, (_, afters) in layers.items()})
        del layers
        solved = Solved(states, state_starts, afters, after_starts, make_values(states.size))
        for k in range(state_starts.size - 2, -1, -1):
            codes, values = layer(solved, k)
            here = afters[after_starts[k] : after_starts[k + 1]]
            of_afters = make_values(here.size)
            _in_parts(pool, value_afters, rules, here, of_afters, *layer(solved, k + 1), *layer(solved, k + 2))
            _in_parts(pool, value_states, rules, codes, values, until, tile, here, of_afters)
    return solved


def layer(solved: Solved, k: int) -> tuple[Codes, Values]:
    """Return the states whose tiles have the sum 2k, and their values, as views; empty beyond the last layer."""
    ends = solved.state_starts[k : k + 2]
    part = slice(*ends.tolist()) if ends.size == 2 else slice(0, 0)
    return solved.states[part], _cut(solved.values, part)


def _in_a_row(layers: dict[int, Codes]) -> tuple[Codes, NDArray[np.int64]]:
    """Concatenate layers, given by sum, in rising order; return the codes and their [K + 1] starts by half sum."""
    sizes = np.zeros(max(layers) // 2 + 2, np.int64)
    for total, codes in layers.items():
        sizes[total // 2 + 1] = codes.size
    return np.concatenate([layers[total] for total in sorted(layers)]), np.cumsum(sizes)


def _cut(values: Values, part: slice) -> Values:
    """Return a part of each array, as views."""
    return Values._make(array[part] for array in values)


def first_boards(rows: int, columns: int) -> list[tuple[float, np.uint64]]:
    """Return (probability, code) of the boards with which a game begins; equal codes are listed separately."""
    rules = make_rules(rows, columns)
    places = [np.uint64(4 * (4 * row + column)) for row in range(rows) for column in range(columns)]
    tiles = ((1 - FOUR_SHARE, ONE), (FOUR_SHARE, U2))
    pairs = list(itertools.combinations(places, 2))
    words = [
        (p * q / len(pairs), one << first | two << second)
        for (p, one), (q, two) in itertools.product(tiles, tiles)
        for first, second in pairs
    ]
    codes = np.array([word for _, word in words], np.uint64)
    canonize(rules, codes)
    return [(probability, code) for (probability, _), code in zip(words, codes, strict=True)]


def _find_layers(rules: Rules, until: int, pool: ThreadPoolExecutor) -> Iterator[tuple[int, tuple[Codes, Codes]]]:
    """Yield (sum of the tiles, (states, afterstates)) of each layer in rising order."""
    pending: dict[int, list[Codes]] = {}

    def spawn_into(total: int, afters: Codes, into: dict[int, list[Codes]]) -> None:
        for level in (1, 2):
            states = _emitted(pool, emit_states, rules, afters, level)
            if states.size:
                into.setdefault(total + 2**level, []).append(states)

    singles: dict[int, list[Codes]] = {}
    spawn_into(0, np.zeros(1, np.uint64), singles)
    for total, (single,) in singles.items():
        spawn_into(total, single, pending)
    while pending:
        total = min(pending)
        states = _distinct(pending.pop(total))
        afters = _emitted(pool, emit_afters, rules, states, until)
        spawn_into(total, afters, pending)
        yield total, (states, afters)


def _emitted(pool: ThreadPoolExecutor, emit: Callable[..., int], rules: Rules, codes: Codes, setting: int) -> Codes:
    """Return the distinct codes that a kernel writes for all `codes`, ascending; `setting` is its third argument."""

    def task(start: int) -> Codes:
        part = codes[start : start + CHUNK]
        out = np.empty(part.size * rules.rows * rules.columns, np.uint64)
        return out[: emit(rules, part, setting, out)].copy()

    return _distinct(list(pool.map(task, range(0, codes.size, CHUNK))))


def _distinct(parts: list[Codes]) -> Codes:
    """Return the distinct codes of all parts, ascending."""
    codes = np.sort(np.concatenate([*parts, np.zeros(0, np.uint64)]))
    is_new = np.ones(codes.size, bool)
    is_new[1:] = codes[1:] != codes[:-1]
    return codes[is_new]


def _in_parts(
    pool: ThreadPoolExecutor, value: Callable[..., None], rules: Rules, codes: Codes, out: Values, *args: Any
) -> None:
    """Run a kernel that computes values on all codes, in chunks on the pool."""

    def task(start: int) -> None:
        part = slice(start, start + CHUNK)
        value(rules, codes[part], *args, _cut(out, part))

    list(pool.map(task, range(0, codes.size, CHUNK)))
