"""Exploration in training: epsilon-greedy and softmax (Guei 2023, appendix C). Players never explore.

The temperature T is in points: a move whose r + V is T points below that of the best move has odds of 1 to e against
the best move. Guei's T = 0.1 and 1 (appendix C, table 42) are in another unit, which the text does not give. With 0.1
points play would be almost greedy, but 0.1 costs 31% of the score in that table. TDL2048+ has no softmax in commit
a99f620 or earlier ones. If the unit of the table is u points, its T is T u here.

Learning is off-policy, as in Q-learning: a target has the value of the best move, whichever move is made. Exceptions:

- Targets of several steps have the rewards of the moves that were made.
- Backward targets and the targets of state values have the rewards and values of the moves that were made.

If a search computes the target, exploration replaces the move that the training makes; softmax has the values of 1-ply.
"""

import math
from typing import NamedTuple

import numpy as np

from ntuple.game.episode import RNG, Row
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import mix, step
from ntuple.players.greedy import ChosenMove, Scratch, make_move

UNIT = np.float64(2.0**-53)
U11 = np.uint64(11)


class Exploration(NamedTuple):
    """Parameters of exploration; both 0 is greedy play."""

    epsilon: float  # probability of a uniformly random legal move
    temperature: float  # points; a move has odds exp((r + V) / temperature); 0: the best move


@inline
def _uniform(row: Row) -> np.float64:
    """Draw a number in [0, 1) from the random stream of a game."""
    row[RNG] = step(row[RNG])
    return np.float64(mix(row[RNG]) >> U11) * UNIT


@kernel
def explore(scratch: Scratch, game: int, row: Row, exploration: Exploration, move: ChosenMove) -> ChosenMove:
    """Return the move of a game, or explore another one.

    Args:
        scratch: memory of the thread, with the values that `best_move` has computed.
        move: the move without exploration.
    """
    is_random = bool(_uniform(row) < exploration.epsilon)
    if not is_random and exploration.temperature == 0:
        return move
    highest = np.float32(-np.inf)
    for action in range(4):
        highest = max(highest, scratch.values[game, action])
    total = 0.0
    for action in range(4):
        total += _odds(scratch.values[game, action], highest, is_random, exploration)
    rest = _uniform(row) * total
    chosen = move.action
    for action in range(4):
        odds = _odds(scratch.values[game, action], highest, is_random, exploration)
        if odds > 0 and rest >= 0:
            chosen = action
        rest -= odds
    return make_move(scratch, game, chosen, scratch.values[game, chosen])


@inline
def _odds(value: np.float32, highest: np.float32, is_random: bool, exploration: Exploration) -> float:
    if value == -np.inf:
        return 0.0
    return 1.0 if is_random else math.exp((np.float64(value) - highest) / exploration.temperature)
