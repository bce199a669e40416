"""Minimax and expectiminimax: an opponent of the player places the tiles (Guei 2023, sec. 5.2.2 and 5.4.5).

    Vmax(s, p)  = max over legal a of r + Vmin(as, p - 1),  0 if the game is over
    Vmin(as, p) = min over placements of Vmax(s', p)                                  minimax
                = sum over tiles of P(tile) min over cells of Vmax(s', p)             expectiminimax
    Vmin(as, 0) = V(as)

A placement is a cell, a tile and in Threes! the next hint; ntuple/core/opponents.py says what an opponent chooses.
Where a placed tile earns points they are added to Vmax(s', p).

The search is alpha-beta. A placement is not searched further when the player has a reply as good as the best one after
an earlier placement, an afterstate when it cannot become the best one of a move above it. With expectiminimax each tile
is placed in one cell first, because the value after one cell is at least that of the worst cell. The best reply and the
worst cell of a depth are tried first at the next node of this depth. Values of the moves at the root are exact.

The functions between two calls of `least_value` are inserted into it: two kernels that call each other crash when numba
loads them from its cache.
"""

import numpy as np

from ntuple.expectimax.leaves import leaf_value
from ntuple.expectimax.search_memory import Memory, Search, is_known, is_late, key_of, slot_of
from ntuple.game.any_game import (
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


@inline_once
def best_reply(search: Search, board: Board, plies: int, above: np.float32, enough: np.float32) -> np.float32:
    """Return Vmax(board, plies).

    Args:
        above: alpha. Only a larger Vmax is of use; otherwise the result is a bound, at least Vmax and at most `above`.
        enough: beta. A Vmax as large as this is of no use, and the result is then a bound, at most Vmax.
    """
    best, first = np.float32(-np.inf), search.memory.best_replies[plies]
    for k in range(4):
        action = (first + k) & 3
        source, after, reward = valued_afterstate(search.rules, search.network, board, action)
        if is_same(after, source):
            continue
        gain, floor = np.float32(reward), max(best, above)
        value = least_value(search, after, plies - 1, floor - gain)
        # A bound is no value: rounding must not lift it above the floor.
        value = min(gain + value, floor) if value <= floor - gain else gain + value
        if value > best:
            best, search.memory.best_replies[plies] = value, action
        if best >= enough:
            break
    return best if best > -np.inf else np.float32(0)


@inline_once
def mean_reply(
    search: Search, after: Board, cell: np.uint64, tile: int, plies: int, above: np.float32, enough: np.float32
) -> tuple[np.float32, np.float32]:
    """Return the mean over the next hints of points + Vmax(s', plies) for a drawn tile, and the tile's probability.

    Args:
        tile: its number among the tiles that can be placed.
        above, enough: as those of `best_reply`; they have no effect in a game with hints.
    """
    rules = search.rules
    hints = count_placements(rules, after) // count_tiles(rules, after)
    if hints > 1:
        above, enough = np.float32(-np.inf), np.float32(np.inf)
    value, chance, is_low, is_high = np.float32(0), np.float32(0), False, False
    for number in range(tile * hints, (tile + 1) * hints):
        board, part, level = placement(rules, after, cell, number)
        points = np.float32(place_points(rules, level))
        low, high = above - points, enough - points
        reply = best_reply(search, board, plies, low, high)
        is_low, is_high = is_low or bool(reply <= low), is_high or bool(reply >= high)
        value += np.float32(part) * (points + reply)
        chance += np.float32(part)
    return enough if is_high else above if is_low else value / chance, chance


@inline
def _from_worst(memory: Memory, cells: np.uint64, plies: int, k: int) -> np.uint64:
    """Return the k-th cell after the worst one of this depth; the first cell of the board follows the last."""
    first = count_cells(cells & (memory.worst_cells[plies] - ONE))
    return kth_cell(cells, (first + np.uint64(k)) % count_cells(cells))


@inline_once
def _least_chosen(search: Search, after: Board, cells: np.uint64, plies: int, above: np.float32) -> np.float32:
    """Do what `least_value` does, for an opponent that chooses tile and cell."""
    rules, memory = search.rules, search.memory
    ways, least, worst = count_placements(rules, after), np.float32(np.inf), memory.worst_cells[plies]
    for k in range(np.int64(count_cells(cells)) * ways):
        cell = _from_worst(memory, cells, plies, k // ways)
        board, _, level = placement(rules, after, cell, k % ways)
        if not may_choose(rules, board):
            continue
        points = np.float32(place_points(rules, level))
        floor, enough = above - points, least - points
        reply = best_reply(search, board, plies, floor, enough)
        if reply < enough:
            least, worst = points + reply, cell
        if reply <= floor:
            least = min(least, above)
        if least <= above or is_late(search.settings, memory):
            break
    memory.worst_cells[plies] = worst
    return least


@inline_once
def _least_drawn(search: Search, after: Board, cells: np.uint64, plies: int, above: np.float32) -> np.float32:
    """Do what `least_value` does, for an opponent that chooses the cell of a drawn tile."""
    rules, memory = search.rules, search.memory
    tiles, total, worst = count_tiles(rules, after), np.float32(np.inf), memory.worst_cells[plies]
    least, chances = memory.least[plies, :tiles], memory.chances[plies, :tiles]
    least[:], chances[:] = np.inf, 1
    others = np.int64(count_cells(cells)) - 1
    for k in range(tiles * (1 + others)):
        tile, place, floor = k, 0, np.float32(-np.inf)
        if k >= tiles:
            tile, place = (k - tiles) // others, 1 + (k - tiles) % others
            floor = least[tile] - (total - above) / chances[tile]
        cell = _from_worst(memory, cells, plies, place)
        value, chance = mean_reply(search, after, cell, tile, plies, floor, least[tile])
        if value < least[tile]:
            least[tile], chances[tile], worst, total = value, chance, cell, np.float32(0)
            for each in range(tiles):
                total += chances[each] * least[each]
        if value <= floor:
            total = min(total, above)
        if total <= above or is_late(search.settings, memory):
            break
    memory.worst_cells[plies] = worst
    return total


@kernel
def least_value(search: Search, after: Board, plies: int, above: np.float32) -> np.float32:
    """Return Vmin(after, plies); after the deadline the value has no meaning.

    Args:
        plies: layers of afterstates below this one.
        above: alpha. Only a larger Vmin is of use; otherwise the result is a bound, at least Vmin and at most `above`.
    """
    rules, settings, memory = search.rules, search.settings, search.memory
    cells = places(rules, after)
    count = np.int64(count_cells(cells))
    plies = min(plies, int(settings.most_plies[count]))
    if plies == 0:
        memory.leaves[0] += 1
        return leaf_value(search, after)
    key, remembers = key_of(rules, after)
    slot = slot_of(memory.node_boards, key)
    if remembers and is_known(settings, memory, slot, key, plies):
        return memory.node_values[slot]
    if settings.opponent.chooses_tile:
        value = _least_chosen(search, after, cells, plies, above)
    else:
        value = _least_drawn(search, after, cells, plies, above)
    if value <= above or is_late(settings, memory):
        return value
    if remembers:
        memory.node_boards[slot], memory.node_values[slot], memory.node_plies[slot] = key, value, plies
    return value


@kernel
def worst_placement(search: Search, after: Board, drawn: int) -> tuple[Board, int]:
    """Choose the placement after which the best reply of `plies` plies is worst, the first among equals.

    Args:
        drawn: number of a placement, whose tile and hint an opponent that does not choose them places.

    Returns:
        The state after the placement, and the level of the placed tile.
    """
    rules, plies, chooses_tile = search.rules, search.settings.plies, search.settings.opponent.chooses_tile
    cells, ways = places(rules, after), count_placements(rules, after)
    tile = drawn // (ways // count_tiles(rules, after))
    choices = ways if chooses_tile else 1
    least, chosen, placed = np.float32(np.inf), after, 0
    for k in range(np.int64(count_cells(cells)) * choices):
        cell, value, none = kth_cell(cells, np.uint64(k // choices)), np.float32(np.inf), np.float32(-np.inf)
        board, _, level = placement(rules, after, cell, k % choices if choices > 1 else drawn)
        if not chooses_tile:
            value, _ = mean_reply(search, after, cell, tile, plies, none, least)
        elif may_choose(rules, board):
            points = np.float32(place_points(rules, level))
            enough = least - points
            reply = best_reply(search, board, plies, none, enough)
            value = points + reply if reply < enough else least
        if value < least:
            least, chosen, placed = value, board, level
    return chosen, placed


@inline
def go_on_against(search: Search, row: Row, after: Board, reward: np.uint64) -> None:
    """Make a move in a game, and let the opponent place a tile."""
    rules = search.rules
    row[RNG] = step(row[RNG])
    drawn = drawn_placement(rules, after, mix(row[RNG]))
    board, level = worst_placement(search, after, drawn)
    points = np.uint64(place_points(rules, level))
    put_tile(rules, row, after, board, points)
    row[SCORE] += reward + points
    row[MOVES] += ONE
