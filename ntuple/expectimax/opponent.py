"""Minimax and expectiminimax: an opponent of the player places the tiles (Guei 2023, sec. 5.2.2 and 5.4.5).

    Vmax(s, p)  = max over legal a of r + Vmin(as, p - 1),  0 if the game is over
    Vmin(as, p) = min over placements of Vmax(s', p)                                  minimax
                = sum over tiles of P(tile) min over cells of Vmax(s', p)             expectiminimax
    Vmin(as, 0) = V(as)

A placement is a cell, a tile and in Threes! the next hint; ntuple/core/opponents.py says what an opponent chooses.
Where a placed tile earns points they are added to Vmax(s', p).

The search is alpha-beta: a placement is left when the player has a reply as good as the best one after an earlier
placement, and with minimax an afterstate when it cannot become the best one of a move above it. Values of the moves at
the root are exact.

`best_reply` and `mean_reply` are inserted into `least_value`, which they call: two kernels that call each other crash
when numba loads them from its cache.
"""

import numpy as np

from ntuple.expectimax.heuristic import Heuristic
from ntuple.expectimax.leaves import leaf_value
from ntuple.expectimax.memory import ExpectimaxSettings, Memory, is_known, is_late, key_of, slot_of
from ntuple.game.any_game import (
    AnyRules,
    count_placements,
    count_tiles,
    drawn_placement,
    may_choose,
    place_points,
    placement,
    places,
)
from ntuple.game.bitboard import ONE, Board, count_cells, is_same, kth_cell
from ntuple.game.episode import MOVES, RNG, SCORE, Row, put_tile
from ntuple.game.jit import inline, inline_once, kernel
from ntuple.game.rng import mix, step
from ntuple.players.greedy import valued_afterstate
from ntuple.tables.network import Network


@inline_once
def best_reply(
    rules: AnyRules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: ExpectimaxSettings,
    memory: Memory,
    board: Board,
    plies: int,
    above: np.float32,
    enough: np.float32,
) -> np.float32:
    """Return Vmax(board, plies).

    Args:
        above: alpha. Only a larger Vmax is of use; otherwise the result is a bound, at least Vmax and at most `above`.
        enough: beta. A Vmax as large as this is of no use, and the result is then a bound, at most Vmax.
    """
    best = np.float32(-np.inf)
    for action in range(4):
        source, after, reward = valued_afterstate(rules, network, board, action)
        if is_same(after, source):
            continue
        gain, floor = np.float32(reward), max(best, above)
        value = least_value(rules, network, heuristic, search, memory, after, plies - 1, floor - gain)
        # A bound is no value: rounding must not lift it above the floor.
        best = max(best, min(gain + value, floor) if value <= floor - gain else gain + value)
        if best >= enough:
            break
    return best if best > -np.inf else np.float32(0)


@inline_once
def mean_reply(
    rules: AnyRules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: ExpectimaxSettings,
    memory: Memory,
    after: Board,
    cell: np.uint64,
    tile: int,
    plies: int,
    enough: np.float32,
) -> tuple[np.float32, np.float32]:
    """Return the mean over the next hints of points + Vmax(s', plies) for a drawn tile, and the tile's probability.

    Args:
        tile: its number among the tiles that can be placed.
        enough: as that of `best_reply`; it has no effect in a game with hints.
    """
    hints = count_placements(rules, after) // count_tiles(rules, after)
    if hints > 1:
        enough = np.float32(np.inf)
    value, chance, is_cut = np.float32(0), np.float32(0), False
    for number in range(tile * hints, (tile + 1) * hints):
        board, part, level = placement(rules, after, cell, number)
        points, none = np.float32(place_points(rules, level)), np.float32(-np.inf)
        reply = best_reply(rules, network, heuristic, search, memory, board, plies, none, enough - points)
        is_cut = is_cut or bool(reply >= enough - points)
        value += np.float32(part) * (points + reply)
        chance += np.float32(part)
    return enough if is_cut else value / chance, chance


@kernel
def least_value(
    rules: AnyRules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: ExpectimaxSettings,
    memory: Memory,
    after: Board,
    plies: int,
    above: np.float32,
) -> np.float32:
    """Return Vmin(after, plies); after the deadline the value has no meaning.

    Args:
        plies: layers of afterstates below this one.
        above: alpha. Only a larger Vmin is of use; otherwise the result is a bound, at least Vmin and at most `above`.
    """
    cells = places(rules, after)
    count = np.int64(count_cells(cells))
    plies = min(plies, int(search.most_plies[count]))
    if plies == 0:
        memory.leaves[0] += 1
        return leaf_value(rules, network, heuristic, search, memory, after)
    key, remembers = key_of(rules, after)
    slot = slot_of(memory.node_boards, key)
    if remembers and is_known(search, memory, slot, key, plies):
        return memory.node_values[slot]
    total = np.float32(0)
    if search.opponent.chooses_tile:
        ways, total = count_placements(rules, after), np.float32(np.inf)
        for k in range(count * ways):
            board, _, level = placement(rules, after, kth_cell(cells, np.uint64(k // ways)), k % ways)
            if not may_choose(rules, board):
                continue
            points = np.float32(place_points(rules, level))
            floor, enough = above - points, total - points
            reply = best_reply(rules, network, heuristic, search, memory, board, plies, floor, enough)
            if reply < enough:
                total = points + reply
            if reply <= floor:
                total = min(total, above)
            if total <= above or is_late(search, memory):
                return total
    else:
        for tile in range(count_tiles(rules, after)):
            least, chance = np.float32(np.inf), np.float32(0)
            for k in range(count):
                cell = kth_cell(cells, np.uint64(k))
                value, chance = mean_reply(rules, network, heuristic, search, memory, after, cell, tile, plies, least)
                least = min(least, value)
            total += chance * least
            if is_late(search, memory):
                return total
    if remembers:
        memory.node_boards[slot], memory.node_values[slot], memory.node_plies[slot] = key, total, plies
    return total


@kernel
def worst_placement(
    rules: AnyRules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: ExpectimaxSettings,
    memory: Memory,
    after: Board,
    drawn: int,
) -> tuple[Board, int]:
    """Choose the placement after which the best reply of `search.plies` plies is worst, the first among equals.

    Args:
        drawn: number of a placement, whose tile and hint an opponent that does not choose them places.

    Returns:
        The state after the placement, and the level of the placed tile.
    """
    cells, ways = places(rules, after), count_placements(rules, after)
    tile = drawn // (ways // count_tiles(rules, after))
    choices = ways if search.opponent.chooses_tile else 1
    least, chosen, placed = np.float32(np.inf), after, 0
    for k in range(np.int64(count_cells(cells)) * choices):
        cell, value, none = kth_cell(cells, np.uint64(k // choices)), np.float32(np.inf), np.float32(-np.inf)
        board, _, level = placement(rules, after, cell, k % choices if choices > 1 else drawn)
        if not search.opponent.chooses_tile:
            value, _ = mean_reply(rules, network, heuristic, search, memory, after, cell, tile, search.plies, least)
        elif may_choose(rules, board):
            points = np.float32(place_points(rules, level))
            enough = least - points
            reply = best_reply(rules, network, heuristic, search, memory, board, search.plies, none, enough)
            value = points + reply if reply < enough else least
        if value < least:
            least, chosen, placed = value, board, level
    return chosen, placed


@inline
def go_on_against(
    rules: AnyRules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: ExpectimaxSettings,
    memory: Memory,
    row: Row,
    after: Board,
    reward: np.uint64,
) -> None:
    """Make a move in a game, and let the opponent place a tile."""
    row[RNG] = step(row[RNG])
    drawn = drawn_placement(rules, after, mix(row[RNG]))
    board, level = worst_placement(rules, network, heuristic, search, memory, after, drawn)
    points = np.uint64(place_points(rules, level))
    put_tile(rules, row, after, board, points)
    row[SCORE] += reward + points
    row[MOVES] += ONE
