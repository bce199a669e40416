"""Networks that value states or actions instead of afterstates, for comparison (Szubert and Jaskowski 2014).

    network   value of a move                    target
    state     r + sum over spawns of p V(s'')    V(s) learns r + V(s'')
    action    Q(s, a)                            Q(s, a) learns r + max over a' of Q(s'', a')   (Guei 2023, eq. 13)

s'' is the board after the spawn, whose points, if the game has some, belong to r. A board without a legal move has
value 0. With action values every tuple has four tables. On each view of a board, an action uses the table of its image
on that view, so symmetric positions have equal values of symmetric actions.

These networks are compared in points, not in speed: games are not interleaved and nothing is prefetched.
"""

import numpy as np

from ntuple.game.any_game import AnyRules, afterstate, count_placements, has_move, place_points, placement, places
from ntuple.game.bitboard import Board, count_cells, is_same, kth_cell
from ntuple.game.episode import BROKEN, RNG, Results, Row, begin_game, board_of, go_on, with_placed, write_result
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import stream
from ntuple.players.greedy import ILLEGAL, LEARN, ROWS, ChosenMove, Scratch, has_legal_move, highest_move
from ntuple.tables.entries import Lookup, find_entries
from ntuple.tables.network import Network
from ntuple.tables.values import value_at
from ntuple.td.kernel import ERROR_SUM, Training, count_game, explored
from ntuple.td.targets import Learning, learn_found

AFTERSTATES, STATES, ACTIONS = range(3)
KINDS = {"afterstate": AFTERSTATES, "state": STATES, "action": ACTIONS}


@kernel
def state_value(rules: AnyRules, network: Network, board: Board, lookup: Lookup, row: int) -> np.float32:
    """Compute V(s), 0 if the game is over."""
    if not has_move(rules, board):
        return np.float32(0)
    find_entries(rules, network, board, lookup, row)
    return value_at(network, lookup, row)


@kernel
def expected_value(rules: AnyRules, network: Network, after: Board, lookup: Lookup, row: int) -> np.float32:
    """Compute the mean of points and V over the chance events of an afterstate."""
    cells = places(rules, after)
    count = count_cells(cells)
    total = np.float32(0)
    for k in range(count):
        for number in range(count_placements(rules, after)):
            board, chance, level = placement(rules, after, kth_cell(cells, np.uint64(k)), number)
            value = state_value(rules, network, board, lookup, row)
            total += np.float32(chance) * (np.float32(place_points(rules, level)) + value)
    return total / np.float32(count)


@inline
def find_action_entries(network: Network, lookup: Lookup, source: int, target: int, action: int) -> None:
    """Find the entries of an action from those of the board.

    Args:
        source: row with the entries of the board.
        target: row to overwrite with the entries of the action.
    """
    first, at = np.uint64(source) * lookup.row_size, np.uint64(target) * lookup.row_size
    for i in range(lookup.row_size):
        lookup.entries[at + i] = lookup.entries[first + i] + network.action_places[action, i]
    lookup.bases[target] = lookup.bases[source]


@kernel
def look(rules: AnyRules, network: Network, kind: int, board: Board, scratch: Scratch, game: int) -> None:
    """Compute afterstates, rewards and values of the four moves of a board."""
    state, row = ROWS * game, ROWS * game + LEARN
    if kind == ACTIONS:
        find_entries(rules, network, board, scratch.lookup, state)
    for action in range(4):
        after, reward = afterstate(rules, board, action)
        scratch.afters[game, action, 0], scratch.afters[game, action, 1] = after.lo, after.hi
        if is_same(after, board):
            scratch.rewards[game, action], scratch.values[game, action] = ILLEGAL, np.float32(-np.inf)
            continue
        scratch.rewards[game, action] = np.float32(reward)
        if kind == ACTIONS:
            find_action_entries(network, scratch.lookup, state, row, action)
            scratch.values[game, action] = value_at(network, scratch.lookup, row)
        else:
            expected = expected_value(rules, network, after, scratch.lookup, row)
            scratch.values[game, action] = np.float32(reward) + expected


@kernel
def learn_move(
    rules: AnyRules,
    learning: Learning,
    kind: int,
    scratch: Scratch,
    game: int,
    board: Board,
    move: ChosenMove,
    spawned: Board,
) -> None:
    """Learn from a move and the spawn after it; the reward of the move has the points of both."""
    network, lookup, row = learning.network, learning.lookup, learning.row
    if kind == ACTIONS:
        look(rules, network, kind, spawned, scratch, game)
        returned = move.reward
        if has_legal_move(scratch, game):
            returned += highest_move(scratch, game).value
        find_entries(rules, network, board, lookup, ROWS * game)
        find_action_entries(network, lookup, ROWS * game, row, move.action)
    else:
        returned = move.reward + state_value(rules, network, spawned, lookup, row)
        find_entries(rules, network, board, lookup, row)
    learn_found(learning, returned)


@kernel
def train_values(training: Training, kind: int, num_moves: int) -> None:
    """Play and learn for `num_moves` moves; the counterpart of `ntuple.td.kernel.train`, with a target of one step."""
    rules, network, scratch, counts = training.rules, training.network, training.scratch, training.counts
    target, size = training.method
    moves = 0
    while moves < num_moves:
        for game in range(training.games.shape[0]):
            if moves == num_moves:
                break
            row = training.games[game]
            board = board_of(row)
            look(rules, network, kind, board, scratch, game)
            move = highest_move(scratch, game)
            if move.action < 0:
                if has_legal_move(scratch, game):  # its value is NaN
                    counts[ERROR_SUM] = np.nan
                    return
                count_game(rules, row, counts)
                begin_game(rules, row, row[RNG])
                continue
            move = explored(scratch, training.exploration, row, game, move)
            go_on(rules, row, move.after, np.uint64(move.reward))
            learning = Learning(network, scratch.lookup, ROWS * game + LEARN, target, size, counts)
            move = ChosenMove(move.action, move.after, with_placed(rules, row, move.reward), move.value)
            learn_move(rules, learning, kind, scratch, game, board, move, board_of(row))
            moves += 1


@kernel
def play_values(
    rules: AnyRules,
    network: Network,
    kind: int,
    scratch: Scratch,
    row: Row,
    seed: np.uint64,
    start: int,
    results: Results,
) -> None:
    """Play games with the best of the four moves; the counterpart of `ntuple.players.player.play_network`."""
    for game in range(results.shape[0]):
        begin_game(rules, row, stream(seed, np.uint64(start + game)))
        while True:
            look(rules, network, kind, board_of(row), scratch, 0)
            move = highest_move(scratch, 0)
            if move.action < 0:
                break
            go_on(rules, row, move.after, np.uint64(move.reward))
        if has_legal_move(scratch, 0):
            results[game] = BROKEN
            return
        write_result(rules, row, results[game])
