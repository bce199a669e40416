"""The kernel of training: a thread plays its games in turn and learns from them.

While the thread works on one game, the table entries of its other games arrive from memory (ntuple.players.greedy). So
does what the step size rule keeps for the afterstate that learns next: its entries are found when a move is made.

An opponent that places the tiles (ntuple.expectimax.opponent) reads the values that are learned: for each placement it
finds the best of the four replies. So the values become those of play against it (Guei 2023, sec. 5.4.5).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import GOALS_IN_TRAINING
from ntuple.expectimax.opponent import go_on_against
from ntuple.expectimax.search_memory import Search
from ntuple.game.any_game import AnyRules, goal
from ntuple.game.bitboard import ZERO, Board
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
    with_placed,
)
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import stream
from ntuple.players.greedy import (
    LEARN,
    ROWS,
    ChosenMove,
    Scratch,
    best_move,
    expected_return,
    has_legal_move,
    look_ahead,
)
from ntuple.tables.entries import find_entries, prefetch_memory
from ntuple.tables.network import Network
from ntuple.td.exploration import Exploration, explore
from ntuple.td.history import History, afterstate_at, remember
from ntuple.td.mcts_target import TargetSearch, searched_move
from ntuple.td.starts import Starts, begin_next, ends_at, watch
from ntuple.td.step_sizes import StepSize
from ntuple.td.targets import Learning, Target, first_learned, learn_end, learn_forward, learn_found, rectify

# Columns of the counts of a thread since the last report. WHOLE_GAMES, scores, lengths and tiles count only games that
# began normally, ENDED those that ended with the tile of `start.positions.until`. COUNTS_SIZE is 128 bytes, so that two
# threads never write to the same cache line.
UPDATES, ERROR_SUM, GAMES, WHOLE_GAMES, SCORE_SUM, SCORE_MAX, MOVES_SUM = range(7)
REACHED = 7  # the first column of GOALS_IN_TRAINING
ENDED, COUNTS_SIZE = REACHED + len(GOALS_IN_TRAINING), 16


class LearningRule(NamedTuple):
    """The learning rule of one stretch (ntuple.learning.schedule)."""

    target: Target
    size: StepSize


class Training(NamedTuple):
    """What one thread trains with during a stretch; filled by keyword.

    A field that is None costs no time in training or compilation, because numba removes the branches on an argument
    that is None. So such a field is tested in functions that take it as an argument.
    """

    rules: AnyRules
    network: Network  # its weights and its memory are updated
    method: LearningRule
    games: NDArray[np.uint64]  # [G, 16] the games of the thread, played in turn
    scratch: Scratch
    counts: NDArray[np.float64]  # [16] to which the counts are added
    history: History | None = None  # None: the target needs one step only
    exploration: Exploration | None = None  # None: greedy play
    starts: Starts | None = None  # None: games begin with two tiles
    target_search: TargetSearch | None = None  # the search of the target; None: the target is r + V of the best move
    opponent: Search | None = None  # the search of the opponent that places the tiles; None: they are drawn
    expects: bool | None = None  # True: the target is EXPECTED; None: it is another one


@kernel
def start_games(rules: AnyRules, seed: np.uint64, games: NDArray[np.uint64]) -> None:
    """Start the games of all threads."""
    for game in range(games.shape[0]):
        begin_game(rules, games[game], stream(seed, np.uint64(game)))


@kernel
def train(training: Training, num_moves: int) -> None:
    """Play and learn for `num_moves` moves; if values are NaN, ERROR_SUM becomes NaN and the kernel returns."""
    rules, network, scratch = training.rules, training.network, training.scratch
    games, history, counts = training.games, training.history, training.counts
    for game in range(games.shape[0]):
        find_entries(rules, network, last_afterstate(games[game]), scratch.lookup, ROWS * game + LEARN)
        look_ahead(rules, network, board_of(games[game]), scratch, game)
    moves_made = 0
    while moves_made < num_moves:
        for game in range(games.shape[0]):
            row = games[game]
            greedy = best_move(network, scratch, game)
            best, move = _searched(training, training.target_search, row, game, greedy)
            move = explored(scratch, training.exploration, row, game, move)
            is_at_end = _is_at_end(training.starts, row)
            is_over = is_at_end or move.action < 0
            _learn(training, history, training.expects, game, best, is_over, is_at_end)
            if is_over:
                if not is_at_end and has_legal_move(scratch, game):  # its value is NaN
                    counts[ERROR_SUM] = np.nan
                    return
                counts[ENDED] += is_at_end
                count_game(rules, row, counts)
                _begin(rules, training.starts, history, game, row)
            else:
                _go_on(training, training.starts, training.opponent, history, game, move)
                moves_made += 1
            look_ahead(rules, network, board_of(row), scratch, game)
            if moves_made == num_moves:
                break


@inline
def _is_at_end(starts: Starts | None, row: Row) -> bool:
    """Return whether a game ends although it has moves."""
    return starts is not None and ends_at(starts, row)


@inline
def _searched(
    training: Training, target_search: TargetSearch | None, row: Row, game: int, greedy: ChosenMove
) -> tuple[ChosenMove, ChosenMove]:
    """Return the move of the target and the move to make, before exploration."""
    if target_search is not None and greedy.action >= 0:
        best = searched_move(target_search, row, training.scratch, game)
        return best, (best if target_search.plays else greedy)
    return greedy, greedy


@inline
def explored(scratch: Scratch, exploration: Exploration | None, row: Row, game: int, move: ChosenMove) -> ChosenMove:
    """Return the move of exploration instead of `move`, if there is exploration and the game is not over."""
    if exploration is not None and move.action >= 0:
        return explore(scratch, game, row, exploration, move)
    return move


@inline
def _learn(
    training: Training,
    history: History | None,
    expects: bool | None,
    game: int,
    best: ChosenMove,
    is_over: bool,
    is_at_end: bool,
) -> None:
    """Learn from the best move of a game, or from its end."""
    row, scratch, (target, size) = training.games[game], training.scratch, training.method
    first, last = int(row[FIRST]), int(row[MOVES]) - 1
    if target.is_backward and first > 0:
        first -= 1  # the afterstate on which a restarted game began (Matsuzaki 2017, algorithm 3, line 9)
    if last < first:
        return
    learning = Learning(training.network, scratch.lookup, ROWS * game + LEARN, target, size, training.counts)
    returned = np.float32(0)
    if expects is not None and not is_at_end:
        returned = expected_return(training.rules, training.network, scratch, last_afterstate(row))
    else:
        if not is_over:
            returned = best.reward + rectify(target, best.value - best.reward)
        returned = with_placed(training.rules, row, returned)
    if history is None:
        learn_found(learning, returned)
    elif is_over:
        learn_end(training.rules, learning, history, game, first, last, returned)
    elif not target.is_backward:
        learn_forward(training.rules, learning, history, game, first, last, returned)


@inline
def _begin(rules: AnyRules, starts: Starts | None, history: History | None, game: int, row: Row) -> None:
    """Begin the next episode of a game that is over."""
    if starts is None:
        begin_game(rules, row, row[RNG])
    else:
        begin_next(rules, starts, history, game, row)


@inline
def _go_on(
    training: Training,
    starts: Starts | None,
    opponent: Search | None,
    history: History | None,
    game: int,
    move: ChosenMove,
) -> None:
    """Make a move in a game, and store it if the target needs several."""
    row = training.games[game]
    moves, first = int(np.int64(row[MOVES])), int(np.int64(row[FIRST]))
    if starts is not None and moves > first:
        watch(starts, row, move.after, move.reward)
    if history is None:
        _load_learned(training, game, move.after)
    else:
        remember(history, game, moves, move.after, with_placed(training.rules, row, move.reward))
        learned = first_learned(training.method.target, moves)
        if learned >= first:
            _load_learned(training, game, afterstate_at(history, game, learned))
    if opponent is None:
        go_on(training.rules, row, move.after, np.uint64(move.reward))
    else:
        go_on_against(opponent, row, move.after, np.uint64(move.reward))


@inline
def _load_learned(training: Training, game: int, after: Board) -> None:
    """Find the entries of the afterstate that learns next, and begin to load what the step size rule keeps for them."""
    network, lookup, row = training.network, training.scratch.lookup, ROWS * game + LEARN
    find_entries(training.rules, network, after, lookup, row)
    if network.memory.size:
        prefetch_memory(network, lookup, row)


@kernel
def count_game(rules: AnyRules, row: Row, counts: NDArray[np.float64]) -> None:
    """Add a finished game to the counts of the thread."""
    counts[GAMES] += 1
    if row[IS_WHOLE] == ZERO:
        return
    tile = largest_tile(rules, row)
    counts[WHOLE_GAMES] += 1
    counts[SCORE_SUM] += row[SCORE]
    counts[SCORE_MAX] = max(counts[SCORE_MAX], np.float64(row[SCORE]))
    counts[MOVES_SUM] += row[MOVES]
    for i in range(len(GOALS_IN_TRAINING)):
        counts[REACHED + i] += tile >= goal(rules, GOALS_IN_TRAINING[i])
