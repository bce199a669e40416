"""Baselines without a network: random moves among all legal ones, or among those with the largest reward."""

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import AnyRules, afterstate
from ntuple.game.bitboard import ONE, ZERO, Board, is_same
from ntuple.game.episode import RNG, Results, Row, begin_game, board_of, go_on, write_result
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import bounded, mix, step, stream


@inline
def draw_move(rules: AnyRules, greedy: bool, row: Row) -> tuple[np.uint64, Board, np.uint64]:
    """Draw a move of a game uniformly.

    Args:
        greedy: draw only among the moves with the largest reward.

    Returns:
        The number of moves that it was drawn from (0: no move is legal), the afterstate and the reward. The action is
        not returned: to keep it costs a tenth of the speed of play, and the afterstate determines it.
    """
    board = board_of(row)
    after, best, count = board, ZERO, ZERO
    for action in range(4):
        candidate, reward = afterstate(rules, board, action)
        if is_same(candidate, board) or (greedy and reward < best):
            continue
        if greedy and reward > best:
            count = ZERO
        count += ONE
        row[RNG] = step(row[RNG])
        # The n-th candidate replaces the earlier choice with probability 1/n, so all have the same probability.
        if bounded(mix(row[RNG]), count) == ZERO:
            after, best = candidate, reward
    return count, after, best


@kernel
def play_at_random(
    rules: AnyRules, greedy: bool, games: NDArray[np.uint64], seed: np.uint64, start: int, results: Results
) -> None:
    """Play games with the moves of `draw_move`."""
    row = games[0]
    for game in range(results.shape[0]):
        begin_game(rules, row, stream(seed, np.uint64(start + game)))
        while True:
            count, after, reward = draw_move(rules, greedy, row)
            if count == ZERO:
                break
            go_on(rules, row, after, reward)
        write_result(rules, row, results[game])
