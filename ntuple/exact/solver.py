"""The exact solution of small boards: every position that play can reach, and its value.

    V(s)  = max over legal a of r + V(as),  0 if the game is over
    V(as) = sum over chance events of p (r + V(s'))      (Guei 2023, eq. 20-22, to the end of the game)

Only Threes! gives points r for a placed tile. An opponent (ntuple.core.opponents) minimises V(as) instead: over
placements, or over the cells of each drawn tile.

There are four values:

    expected  V
    best      points of the luckiest game of the play that is optimal for V: the maximum over spawns (Guei 2023,
              sec. 5.4.3 and table 28)
    worst     points of the unluckiest game of this play: the minimum over spawns
    reach     largest probability of reaching a tile, by the play that is optimal for it: 1 for a state with the tile,
              without points; against an opponent that makes it least

Of moves with equal V the first in the order of the actions counts for best and worst.

Positions that a symmetry turns into each other are stored once. Their code is the smallest word of their views
(positions.py). A move keeps the sum of the tiles and a placement adds to it, in every game of the family. Positions are
therefore found layer by layer in rising order of the sum, and their values are computed in falling order.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.known import find_game
from ntuple.core.opponents import OPPONENTS, Opponent
from ntuple.exact.positions import (
    LEVELS,
    board_of,
    canonical,
    layer_of,
    layers_up,
    rules_of,
    word_of,
)
from ntuple.game.any_game import (
    AnyRules,
    afterstate,
    count_placements,
    count_tiles,
    may_choose,
    place_points,
    placement,
    places,
)
from ntuple.game.bitboard import Board, Rules, count_cells, is_same, kth_cell, max_cell
from ntuple.game.family import FIFTH
from ntuple.game.family_events import encode_state
from ntuple.game.jit import inline, kernel
from ntuple.tables.cpu_placement import available_cores

Codes = NDArray[np.uint64]  # canonical boards, ascending

MOST_CELLS = 9  # cells of the largest board that is solved without a tile that ends the game
CHUNK = 1 << 13  # positions of one task
MOST_HINTS = 4  # next hints after a placement
TOO_LARGE = -1  # result of a kernel that met a tile which does not fit in a word
NOWHERE = np.int64(-1)
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

    states: Codes  # positions before a move, or in which the game is over
    state_starts: NDArray[np.int64]  # [K + 1] layer k (`layer_of`) is states[state_starts[k] : state_starts[k + 1]]
    afters: Codes  # afterstates: positions before a placement
    after_starts: NDArray[np.int64]  # [K + 1] the same for `afters`
    values: Values  # values of the states


def make_values(size: int) -> Values:
    """Return zeros for `size` positions."""
    return Values(np.zeros(size), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size))


@kernel
def layers_of(rules: AnyRules, words: NDArray[np.uint64], out: NDArray[np.int64]) -> None:
    """Compute the layers of positions."""
    for i in range(words.size):
        out[i] = layer_of(rules, board_of(rules, words[i]))


@inline
def code_of(rules: AnyRules, board: Board) -> np.uint64:
    """Return the code of a position."""
    return canonical(rules, word_of(rules, board))


@kernel
def emit_afters(rules: AnyRules, states: Codes, until: int, out: Codes) -> int:
    """Write the codes of the afterstates of states, at most 4 each; return their number, or TOO_LARGE."""
    count = 0
    for i in range(states.size):
        board = board_of(rules, states[i])
        if max_cell(board) >= until:
            continue
        for action in range(4):
            after, _ = afterstate(rules, board, action)
            if is_same(after, board):
                continue
            if after.hi & FIFTH:
                return TOO_LARGE
            out[count] = code_of(rules, after)
            count += 1
    return count


@kernel
def emit_states(rules: AnyRules, afters: Codes, level: int, out: Codes) -> int:
    """Write the codes of the states after the placement of a tile of this level; return their number."""
    count = 0
    for i in range(afters.size):
        after = board_of(rules, afters[i])
        allowed = places(rules, after)
        for k in range(count_cells(allowed)):
            cell = kth_cell(allowed, np.uint64(k))
            for number in range(count_placements(rules, after)):
                state, _, placed = placement(rules, after, cell, number)
                if placed == level:
                    out[count] = code_of(rules, state)
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


@inline
def place_of(codes: Codes, starts: NDArray[np.int64], k: int, code: np.uint64) -> np.int64:
    """Return the index of a code of layer k; NOWHERE if it is not among the codes."""
    if k >= starts.size - 1:
        return NOWHERE
    part = codes[starts[k] : starts[k + 1]]
    if part.size == 0:
        return NOWHERE
    place = find(part, code)
    return starts[k] + place if part[place] == code else NOWHERE


@inline
def worth_against(rules: AnyRules, after: Board, solved: Solved, opponent: Opponent) -> tuple[float, float]:
    """Return V and the probability of the tile of an afterstate on which an opponent places a tile.

    Each of them is the least that an opponent of its own can bring about.
    """
    k, allowed, values = layer_of(rules, after), places(rules, after), solved.values
    tiles, count = count_tiles(rules, after), count_cells(allowed)
    hints = count_placements(rules, after) // tiles
    least = least_reach = np.inf
    expected = reach = 0.0
    for tile in range(tiles):
        least_mean = least_share = np.inf
        chance = 0.0
        for n in range(count):
            cell = kth_cell(allowed, np.uint64(n))
            mean = share = chance = 0.0
            for number in range(tile * hints, (tile + 1) * hints):
                state, part, level = placement(rules, after, cell, number)
                place = place_of(solved.states, solved.state_starts, k + layers_up(rules, level), code_of(rules, state))
                value = place_points(rules, level) + values.expected[place]
                if may_choose(rules, state):
                    least, least_reach = min(least, value), min(least_reach, values.reach[place])
                mean, share, chance = mean + part * value, share + part * values.reach[place], chance + part
            least_mean, least_share = min(least_mean, mean), min(least_share, share)
        expected, reach = expected + least_mean, reach + least_share
    return (least, least_reach) if opponent.chooses_tile else (expected, reach)


@inline
def worth_of_after(
    rules: AnyRules, after: Board, solved: Solved, opponent: Opponent | None
) -> tuple[float, np.int32, np.int32, float]:
    """Return the four values of an afterstate, in the order of `Values`, from those of the states after it.

    The expected one is NaN if a state after it is not among the states. What a kernel does not use is not computed.
    """
    k, allowed, values = layer_of(rules, after), places(rules, after), solved.values
    count = count_cells(allowed)
    expected = reach = 0.0
    best, worst = np.int32(0), np.int32(NONE_WORSE)
    for n in range(count):
        cell = kth_cell(allowed, np.uint64(n))
        for number in range(count_placements(rules, after)):
            state, chance, level = placement(rules, after, cell, number)
            place = place_of(solved.states, solved.state_starts, k + layers_up(rules, level), code_of(rules, state))
            if place < 0:
                expected = np.nan
                continue
            points = np.int32(place_points(rules, level))
            expected += chance * (points + values.expected[place])
            reach += chance * values.reach[place]
            best, worst = max(best, points + values.best[place]), min(worst, points + values.worst[place])
    expected, reach = expected / count, reach / count
    if opponent is not None and not np.isnan(expected):
        expected, reach = worth_against(rules, after, solved, opponent)
    return expected, best, worst, reach


@kernel
def value_afters(rules: AnyRules, afters: Codes, solved: Solved, opponent: Opponent | None, out: Values) -> None:
    """Compute the values of afterstates from those of all states, as `worth_of_after`; `out` receives them."""
    for i in range(afters.size):
        after = board_of(rules, afters[i])
        expected, best, worst, reach = worth_of_after(rules, after, solved, opponent)
        out.expected[i], out.best[i], out.worst[i], out.reach[i] = expected, best, worst, reach


@kernel
def value_states(
    rules: AnyRules, states: Codes, until: int, tile: int, afters: Codes, of_afters: Values, out: Values
) -> None:
    """Compute the values of states from the afterstates of their moves.

    Args:
        out: [N] receives the values; zeros before.
    """
    for i in range(states.size):
        board = board_of(rules, states[i])
        largest = max_cell(board)
        if largest < until:
            for action in range(4):
                after, reward = afterstate(rules, board, action)
                if is_same(after, board):
                    continue
                place, points = find(afters, code_of(rules, after)), np.int32(reward)
                expected = points + of_afters.expected[place]
                if expected > out.expected[i]:
                    out.expected[i] = expected
                    out.best[i], out.worst[i] = points + of_afters.best[place], points + of_afters.worst[place]
                out.reach[i] = max(out.reach[i], of_afters.reach[place])
        if largest >= tile:
            out.reach[i] = 1.0


def solve(
    rows: int,
    columns: int,
    until: int = LEVELS + 1,
    tile: int = LEVELS + 1,
    most_bytes: float = math.inf,
    game: str = "2048",
    opponent: str = "chance",
) -> Solved:
    """Find all positions of a game and compute their values.

    Args:
        until: level of the tile that ends the game; more than 15: none, possible on boards of up to nine cells.
        tile: level of the tile whose probability is computed; more than 15: none.
        game: its name (ntuple.core.games.known).
        opponent: who places the tiles, a key of OPPONENTS.

    Raises:
        ValueError: there is no such game or opponent; the board has more than nine cells and no tile ends the game; or
            a tile of the game does not fit in a word.
        MemoryError: the positions need more than `most_bytes`.
    """
    if rows * columns > MOST_CELLS and until > LEVELS:
        raise ValueError(f"a board of {rows}x{columns} cells has too many positions: give a tile that ends the game")
    rules = rules_of(game, rows, columns)
    if opponent not in OPPONENTS:
        raise ValueError(f"there is no opponent {opponent!r}; give one of: {', '.join(OPPONENTS)}")
    placer = OPPONENTS[opponent]
    with ThreadPoolExecutor(available_cores()) as pool:
        layers, needed = {}, 0
        for k, found in _find_layers(rules, game, until, pool):
            layers[k] = found
            needed += BYTES_OF_STATE * found[0].size + BYTES_OF_AFTER * found[1].size
            if needed > most_bytes:
                total = 2 * k if isinstance(rules, Rules) else k
                raise MemoryError(f"the positions up to {total}, the sum of their tiles, need {needed:,} bytes")
        states, state_starts = _in_a_row({k: states for k, (states, _) in layers.items()})
        afters, after_starts = _in_a_row({k: afters for k, (_, afters) in layers.items()})
        del layers
        solved = Solved(states, state_starts, afters, after_starts, make_values(states.size))
        for k in range(state_starts.size - 2, -1, -1):
            here = afters[after_starts[k] : after_starts[k + 1]]
            part = slice(*state_starts[k : k + 2].tolist())
            of_afters = make_values(here.size)
            _in_parts(pool, value_afters, rules, here, of_afters, solved, placer)
            _in_parts(pool, value_states, rules, states[part], _cut(solved.values, part), until, tile, here, of_afters)
    return solved


def _in_a_row(layers: dict[int, Codes]) -> tuple[Codes, NDArray[np.int64]]:
    """Concatenate layers in rising order; return the codes and their [K + 1] starts."""
    sizes = np.zeros(max(layers) + 2, np.int64)
    for k, codes in layers.items():
        sizes[k + 1] = codes.size
    return np.concatenate([layers[k] for k in sorted(layers)]), np.cumsum(sizes)


def _cut(values: Values, part: slice) -> Values:
    """Return a part of each array, as views."""
    return Values._make(array[part] for array in values)


def first_positions(rules: AnyRules, game: str) -> list[tuple[float, np.uint64, int]]:
    """Return (probability, code, points of its tiles) of the states with which a game begins; codes come repeatedly."""
    events = find_game(game, rules.rows, rules.columns).openings(rules.rows, rules.columns)
    return [
        (float(event.chance), np.uint64(code_of(rules, encode_state(event.state))), event.points) for event in events
    ]


def _find_layers(
    rules: AnyRules, game: str, until: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[int, tuple[Codes, Codes]]]:
    """Yield (layer, (states, afterstates)) in rising order."""
    pending: dict[int, list[Codes]] = {}
    codes = np.array([code for _, code, _ in first_positions(rules, game)])
    layers = np.empty(codes.size, np.int64)
    layers_of(rules, codes, layers)
    for layer in np.unique(layers).tolist():
        pending[layer] = [codes[layers == layer]]
    levels = find_game(game, rules.rows, rules.columns).placed_levels
    while pending:
        k = min(pending)
        states = _distinct(pending.pop(k))
        afters = _emitted(pool, emit_afters, rules, states, until)
        for level in levels:
            after = _emitted(pool, emit_states, rules, afters, level)
            if after.size:
                pending.setdefault(k + int(layers_up(rules, level)), []).append(after)
        yield k, (states, afters)


def _emitted(pool: ThreadPoolExecutor, emit: Callable[..., int], rules: AnyRules, codes: Codes, setting: int) -> Codes:
    """Return the distinct codes that a kernel writes for all `codes`, ascending; `setting` is its third argument."""

    def task(start: int) -> Codes:
        part = codes[start : start + CHUNK]
        out = np.empty(part.size * rules.rows * rules.columns * MOST_HINTS, np.uint64)
        count = emit(rules, part, setting, out)
        if count == TOO_LARGE:
            raise ValueError(
                f"a tile of level {LEVELS + 1} can be made, which does not fit: give a tile that ends the game"
            )
        return out[:count].copy()

    return _distinct(list(pool.map(task, range(0, codes.size, CHUNK))))


def _distinct(parts: list[Codes]) -> Codes:
    """Return the distinct codes of all parts, ascending; np.unique hashes them, which takes twenty times as long."""
    codes = np.sort(np.concatenate([*parts, np.zeros(0, np.uint64)]))
    is_new = np.ones(codes.size, bool)
    is_new[1:] = codes[1:] != codes[:-1]
    return codes[is_new]


def _in_parts(
    pool: ThreadPoolExecutor, value: Callable[..., None], rules: AnyRules, codes: Codes, out: Values, *args: Any
) -> None:
    """Run a kernel that computes values on all codes, in chunks on the pool."""

    def task(start: int) -> None:
        part = slice(start, start + CHUNK)
        value(rules, codes[part], *args, _cut(out, part))

    list(pool.map(task, range(0, codes.size, CHUNK)))
