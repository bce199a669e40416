"""Training games against an opponent that places the tiles (Guei 2023, sec. 5.4.5).

It reads the values that are learned: for each placement it finds the best of the four replies, and takes the placement
whose best reply is worst. So the values become those of play against it.
"""

from typing import NamedTuple

import numpy as np

from ntuple.core.opponents import OpponentName
from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.opponent import go_on_against
from ntuple.expectimax.search_memory import ExpectimaxSettings, Memory, make_memory, make_search
from ntuple.game.any_game import AnyRules
from ntuple.game.bitboard import Board
from ntuple.game.episode import Row
from ntuple.game.jit import inline
from ntuple.tables.network import Network

BITS = 4  # of the tables of a search of one ply, which remembers nothing


class Opponent(NamedTuple):
    """The opponent of one thread; made by `make_opponent`."""

    search: ExpectimaxSettings
    memory: Memory


def make_opponent(rules: AnyRules, network: Network, opponent: OpponentName) -> Opponent:
    """Return the opponent of one thread with its memory."""
    search = make_search(ExpectimaxConfig(plies=1, opponent=opponent))
    return Opponent(search, make_memory(rules, network, BITS, BITS))


@inline
def place_against(
    rules: AnyRules, network: Network, opponent: Opponent, row: Row, after: Board, reward: np.uint64
) -> None:
    """Make a move in a game, and let the opponent place a tile."""
    go_on_against(rules, network, None, opponent.search, opponent.memory, row, after, reward)
