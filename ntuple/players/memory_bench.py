"""Kernels with which the benchmark measures memory: loads from a table, and the weights that play reads."""

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import AnyRules
from ntuple.game.episode import RNG, Row, begin_game, board_of, go_on
from ntuple.game.jit import kernel
from ntuple.game.rng import stream
from ntuple.players.greedy import Scratch, best_move, look_ahead
from ntuple.tables.network import VIEWS, Network


@kernel
def chase(following: NDArray[np.uint32], loads: int) -> int:
    """Follow `loads` links, each load waiting for the one before; return the last place."""
    at = np.uint32(0)
    for _ in range(loads):
        at = following[at]
    return int(at)


@kernel
def gather(following: NDArray[np.uint32], loads: int) -> int:
    """Load from `loads` places that do not depend on each other; return a sum of what is there."""
    mask, total, place = np.uint64(following.size - 1), np.uint64(0), np.uint64(1)
    for _ in range(loads):
        place = place * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        total += np.uint64(following[(place >> np.uint64(32)) & mask])
    return int(total)


@kernel
def touch(rules: AnyRules, network: Network, scratch: Scratch, row: Row, entries: NDArray[np.int64]) -> None:
    """Play games and write the entries of the four afterstates of each board, -1 for those of illegal moves.

    Args:
        entries: int64[moves, 4 * 8 M], filled with the numbers of weights.
    """
    lookup, views = scratch.lookup, len(network.symmetries)
    begin_game(rules, row, stream(np.uint64(1), np.uint64(0)))
    move = 0
    while move < entries.shape[0]:
        look_ahead(rules, network, board_of(row), scratch, 0)
        best = best_move(network, scratch, 0)
        if best.action < 0:
            begin_game(rules, row, row[RNG])
            continue
        for action in range(4):
            for m in range(network.tables.size):
                for view in range(VIEWS):
                    i = (action * network.tables.size + m) * VIEWS + view
                    entry = lookup.bases[action] + network.tables[m] + np.uint64(lookup.entries[i])
                    is_used = scratch.rewards[0, action] >= 0 and view < views
                    entries[move, i] = np.int64(entry) if is_used else -1
        go_on(rules, row, best.after, np.uint64(best.reward))
        move += 1
