"""The kernel of training: a thread plays its games in turn and learns from them.

While the thread works on one game, the table entries of its other games arrive from memory (ntuple.players.greedy). So
do those of the afterstate to learn from: its row LEARN of the look-up is filled when its move is made.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import ZERO, Rules
from ntuple.game.episode import (
    FIRST,
    IS_WHOLE,
    MOVES,
    RNG,
    SCORE,
    Row,
    begin_game,
    board_of,
    go_on,
    largest_tile,
    last_afterstate,
)
from ntuple.game.jit import kernel
from ntuple.game.rng import stream
from ntuple.players.greedy import LEARN, ROWS, Scratch, best_move, expected_return, has_legal_move, look_ahead
from ntuple.tables.entries import find_entries, prefetch_memory
from ntuple.tables.network import Network
from ntuple.td.exploration import Exploration, explore
from ntuple.td.history import History, remember
from ntuple.td.planning import Planning, planned_move
from ntuple.td.starts import Starts, begin_next, watch
from ntuple.td.step_sizes import StepSize
from ntuple.td.targets import Learning, Target, learn_end, learn_forward, learn_found, rectify

# Columns of the counts of a thread since the last report. WHOLE_GAMES, scores, lengths and tiles count only games that
# began with two tiles. COUNTS_SIZE is 128 bytes, so that two threads never write to the same cache line.
UPDATES, ERROR_SUM, GAMES, WHOLE_GAMES, SCORE_SUM, SCORE_MAX, MOVES_SUM = range(7)
REACH_2048, REACH_8192, REACH_32768, COUNTS_SIZE = (*range(7, 10), 16)


class Method(NamedTuple):
    """The learning rule of one stretch (ntuple.learning.schedule)."""

    target: Target
    size: StepSize


@kernel
def start_games(rules: Rules, seed: np.uint64, games: NDArray[np.uint64]) -> None:
    """Start the games of all threads."""
    for game in range(games.shape[0]):
        begin_game(rules, games[game], stream(seed, np.uint64(game)))


@kernel
def train(
    rules: Rules,
    network: Network,
    method: Method,
    num_moves: int,
    games: NDArray[np.uint64],
    history: History | None,
    exploration: Exploration | None,
    starts: Starts | None,
    expecting: Scratch | None,
    planning: Planning | None,
    scratch: Scratch,
    counts: NDArray[np.float64],
) -> None:
    """Play and learn for `num_moves` moves of one thread, with its games in turn.

    An argument that is None costs no time in training or compilation, because numba removes its branches.

    Args:
        rules: the game.
        network: its weights and its memory are updated in place.
        method: the learning rule.
        num_moves: number of moves to make.
        games: uint64[G, 16], the games of the thread, changed in place.
        history: the last moves of the games, changed in place; None if the target needs one step only.
        exploration: parameters of exploration; None: greedy play.
        starts: how games begin, changed in place; None: with two tiles.
        expecting: `scratch` if the target is EXPECTED, else None.
        planning: the search of the target and its memory; None: the target is r + V of the best move.
        scratch: memory of the thread.
        counts: float64[16], to which the counts are added. If values are NaN, ERROR_SUM becomes NaN and the kernel
            returns.
    """
    for game in range(games.shape[0]):
        find_entries(rules, network, last_afterstate(games[game]), scratch.lookup, ROWS * game + LEARN)
        look_ahead(rules, network, board_of(games[game]), scratch, game)
    made = 0
    while made < num_moves:
        for game in range(games.shape[0]):
            row = games[game]
            best = move = best_move(network, scratch, game)
            if planning is not None and best.action >= 0:
                best = planned_move(rules, network, planning, row, scratch, game)
                if planning.plays:
                    move = best
            if exploration is not None and best.action >= 0:
                move = explore(scratch, game, row, exploration, best)
            row_to_learn = ROWS * game + LEARN
            learning = Learning(network, scratch.lookup, row_to_learn, method.target, method.size, counts)
            first, last = int(row[FIRST]), int(row[MOVES]) - 1
            if method.target.is_backward and first > 0:
                first -= 1  # the afterstate on which a restarted game began (Matsuzaki 2017, algorithm 3, line 9)
            is_over = move.action < 0
            if last >= first:
                returned = np.float32(0)
                if expecting is not None:
                    returned = expected_return(rules, network, expecting, last_afterstate(row))
                elif not is_over:
                    returned = best.reward + rectify(method.target, best.value - best.reward)
                if history is None:
                    learn_found(learning, returned)
                elif is_over:
                    learn_end(rules, learning, history, game, first, last, returned)
                elif not method.target.is_backward:
                    learn_forward(rules, learning, history, game, first, last, returned)
            if is_over:
                if has_legal_move(scratch, game):  # its value is NaN
                    counts[ERROR_SUM] = np.nan
                    return
                count_game(row, counts)
                if starts is None:
                    begin_game(rules, row, row[RNG])
                else:
                    begin_next(rules, starts, history, game, row)
            else:
                if starts is not None and last >= first:
                    watch(starts, last_afterstate(row), move.after)
                if history is None:
                    find_entries(rules, network, move.after, scratch.lookup, row_to_learn)
                    if network.memory.size:
                        prefetch_memory(network, scratch.lookup, row_to_learn)
                else:
                    remember(history, game, last + 1, move.after, move.reward)
                go_on(rules, row, move.after, np.uint64(move.reward))
                made += 1
            look_ahead(rules, network, board_of(row), scratch, game)
            if made == num_moves:
                break


@kernel
def count_game(row: Row, counts: NDArray[np.float64]) -> None:
    """Add a finished game to the counts of the thread."""
    counts[GAMES] += 1
    if row[IS_WHOLE] == ZERO:
        return
    tile = largest_tile(row)
    counts[WHOLE_GAMES] += 1
    counts[SCORE_SUM] += row[SCORE]
    counts[SCORE_MAX] = max(counts[SCORE_MAX], np.float64(row[SCORE]))
    counts[MOVES_SUM] += row[MOVES]
    counts[REACH_2048] += tile >= 2048
    counts[REACH_8192] += tile >= 8192
    counts[REACH_32768] += tile >= 32768
