"""The 1-ply greedy policy: argmax over legal actions of r + V(afterstate)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.board import Board, Rules, afterstate, is_same
from ntuple.jit import inline
from ntuple.network import Network, find_positions, value_at

LAST = 4  # row of scratch.positions of the afterstate before, from which a learner learns


class Scratch(NamedTuple):
    """Memory of one thread's kernel; made by `make_scratch`."""

    positions: NDArray[np.uint64]  # [5, S M] entries of the four afterstates, and of the last afterstate
    values: NDArray[np.float32]  # [4] r + V of each move


def make_scratch(network: Network) -> Scratch:
    """Memory for one thread to choose moves with and to learn from."""
    size = network.symmetries * network.offsets.size
    return Scratch(np.zeros((5, size), np.uint64), np.zeros(4, np.float32))


class Move(NamedTuple):
    """The chosen move of a board; an action of -1 says that no move is legal and the game is over."""

    action: int
    after: Board
    reward: np.uint64
    value: np.float32  # r + V(afterstate)


@inline
def best_move(rules: Rules, network: Network, board: Board, scratch: Scratch) -> Move:
    """The best move of a board, the lowest action among equals; scratch.positions[:4] gets the entries.

    All loads of weights come before the first comparison of values: a mispredicted branch on a value that is
    still on its way from memory would hold up the loads behind it (1.1M moves/s instead of 1.4M on 4x6).
    """
    positions, values = scratch.positions, scratch.values
    for action in range(4):
        after, reward = afterstate(rules, board, action)
        values[action] = np.float32(-np.inf)
        if not is_same(after, board):
            values[action] = np.float32(reward)
            find_positions(rules, network, after, positions, action)
    for action in range(4):
        if values[action] >= 0:
            values[action] += value_at(network.weights, positions, action)
    best = -1
    value = np.float32(-np.inf)
    for action in range(4):
        if values[action] > value:
            best, value = action, values[action]
    if best < 0:
        return Move(best, board, np.uint64(0), value)
    after, reward = afterstate(rules, board, best)
    return Move(best, after, reward, value)
