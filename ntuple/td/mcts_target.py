"""The target of a training by Monte Carlo tree search (Guei 2023, sec. 4.3.4).

    delta_t = Q(s_{t+1}, a) - V(as_t),  a = the best move of a search of N~ simulations      (eq. 35)

The values of the search are in points: V_norm, fixed or the largest r + V at the root (eq. 36), multiplies its
exploration constant instead of dividing the values.
"""

from typing import NamedTuple

import numpy as np

from ntuple.game.any_game import AnyRules
from ntuple.game.episode import RNG, Row, board_of
from ntuple.game.jit import inline
from ntuple.game.rng import mix
from ntuple.mcts.config import MCTSConfig
from ntuple.mcts.play import best_move
from ntuple.mcts.search import TreeSearch, make_search, search_tree
from ntuple.mcts.tree import ROOT, clear
from ntuple.players.greedy import ChosenMove, Scratch, make_move
from ntuple.tables.network import Network

SALT = np.uint64(0x706C616E)  # the search draws from other random numbers than the game


class TargetSearch(NamedTuple):
    """The search of one thread; made by `make_target_search`."""

    search: TreeSearch
    plays: bool  # whether training games make its move


def make_target_search(rules: AnyRules, network: Network, config: MCTSConfig, plays: bool) -> TargetSearch:
    """Return the search of one thread with its memory."""
    return TargetSearch(make_search(rules, network, config, remembers=False), plays)


@inline
def searched_move(target_search: TargetSearch, row: Row, scratch: Scratch, game: int) -> ChosenMove:
    """Search the board of a game that is not over.

    The random numbers of the search are a function of those of the game, so that a resumed training goes on as before.

    Returns:
        The best move of the search, with Q as its value; action -1 if values are NaN.
    """
    search, tree = target_search.search, target_search.search.tree
    clear(tree)
    tree.rng[0] = mix(row[RNG] ^ SALT)
    search_tree(search, board_of(row), False)
    action = best_move(search.settings, tree, ROOT)
    if action < 0:
        return make_move(scratch, game, action, np.float32(-np.inf))
    return make_move(scratch, game, action, np.float32(tree.q_values[ROOT, action]))
