"""What an expectimax search works with: values, settings, and the memory of one thread with two transposition tables.

One table remembers values of leaves, the other values of chance nodes. A slot holds one entry, and a new entry replaces
the old one. In 2048 an entry contains the whole board, so a hit never returns the value of another board. In other
games a board has more than 64 bits, and an entry contains 64 bits of a hash of it (`key_of`). At default sizes the
tables take 48 and 208 KB and stay in the second-level cache.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.opponents import CHANCE, OPPONENTS, OpponentName
from ntuple.core.rules import DOWN, LEFT, RIGHT, UP
from ntuple.expectimax.config import LEAST_BITS, MOST_PLIES, ExpectimaxConfig
from ntuple.expectimax.heuristic import Heuristic
from ntuple.game.any_game import AnyRules
from ntuple.game.bitboard import U32, ZERO, Board, Rules, Sides, flip, mirror, transposed
from ntuple.game.clock import seconds
from ntuple.game.family import FamilyRules, by_game
from ntuple.game.jit import inline
from ntuple.game.rng import GAMMA
from ntuple.tables.entries import Lookup, make_lookup
from ntuple.tables.network import Network

HASH_SHIFT = np.uint64(36)  # 28 bits of a product remain, enough for the largest table
NO_BOARD = np.uint64(2**64 - 1)  # word of an empty slot: sixteen tiles of 32768, which is no afterstate
REMEMBERED = np.uint64(2**64 - 1)  # in Memory.slots instead of a slot: the value is known
MOST_TILES = 32  # that can be placed on a cell: fewer than the levels of 5 bits
FRAME, MOVED, POINTS = range(3)  # columns of Memory.frames
NO_LOOKUP = Lookup(np.zeros(0, np.uint32), ZERO, np.zeros(0, np.uint64))  # for a heuristic


class ExpectimaxSettings(NamedTuple):
    """Settings of a search; see ExpectimaxConfig."""

    plies: int  # p; with a time limit, the largest depth of iterative deepening
    most_plies: NDArray[np.int8]  # [17] largest number of plies below an afterstate, by its number of empty cells
    rectified: bool  # see ntuple/expectimax/search.py
    least_probability: np.float32  # a chance node below this cumulative probability is a leaf; 0: exact
    takes_deeper: bool  # use the remembered value of a deeper search for a shallower one
    seconds: float  # time limit of a move; 0: none
    downgrades_from: np.uint64  # tiles as bits of one number, see `downgraded`; 0: never
    downgrade_exception: np.uint64  # tiles as bits of one number, see `downgraded`; 0: none
    downgrades_again: bool  # see `downgraded`
    opponent: Any  # an Opponent; None: tiles are drawn


class Memory(NamedTuple):
    """Memory of one thread."""

    # The last layer: leaves after a spawned 2 (first index 0) and after a spawned 4 (first index 1).
    lookup: Lookup  # 8 rows
    afters: NDArray[np.uint64]  # [2, 4, 2] words of the leaves
    rewards: NDArray[np.float32]  # [2, 4] points; ILLEGAL if the move is illegal
    values: NDArray[np.float32]  # [2, 4] V of the leaves
    slots: NDArray[np.uint64]  # [2, 4] slot of the leaf in its table; REMEMBERED if `values` already holds its value
    places: NDArray[np.uint64]  # [4, 16] bit at which the nibble of a cell begins in the frame of an action
    frames: NDArray[np.uint64]  # [4, 3] FRAME: the turned board; MOVED: the board after the slide; POINTS: reward / 4
    lines: NDArray[np.uint64]  # [4, 4] the lines of a frame after the slide, as entries of Rules.slide
    empty: NDArray[np.uint64]  # [17] the empty cells of a chance node above the leaves
    # The transposition tables: 2^n leaves and 2^m chance nodes.
    leaf_boards: NDArray[np.uint64]  # [2^n] keys, see `key_of`
    leaf_values: NDArray[np.float32]  # [2^n]
    node_boards: NDArray[np.uint64]  # [2^m]
    node_values: NDArray[np.float32]  # [2^m]
    node_plies: NDArray[np.int8]  # [2^m] depth of the remembered value
    # The root.
    root: NDArray[np.float32]  # [4] values of the moves in the running search
    root_values: NDArray[np.float32]  # [4] values of the moves in the last completed search
    endgame: NDArray[np.float64]  # [4] probabilities of the moves in a table of endgames
    # Searches against an opponent. The first index is the number of plies below a node, 0 to P = MOST_PLIES.
    best_replies: NDArray[np.int64]  # [P + 1] the best action at the last node of that depth
    worst_cells: NDArray[np.uint64]  # [P + 1] the worst cell there, as its bit 0
    least: NDArray[np.float32]  # [P + 1, MOST_TILES] the least value of each drawn tile at the node in search
    chances: NDArray[np.float32]  # [P + 1, MOST_TILES] probability of the tile
    leaves: NDArray[np.int64]  # [1] leaves that have been valued
    deadline: NDArray[np.float64]  # [1] time of the clock at which the search stops, seconds


class Search(NamedTuple):
    """A search of one thread; made by `make_search`. Of `network` and `heuristic` one is None.

    A function that tests one of these for None takes it as an argument, since numba removes no other branches.
    """

    rules: Any  # AnyRules
    network: Network | None
    heuristic: Heuristic | None
    settings: ExpectimaxSettings
    memory: Memory


def make_search(rules: AnyRules, values: Network | Heuristic, config: ExpectimaxConfig) -> Search:
    """Return a search over values of leaves, which must not change while it exists, with empty tables."""
    network = values if isinstance(values, Network) else None
    heuristic = values if isinstance(values, Heuristic) else None
    settings = ExpectimaxSettings(
        plies=config.plies,
        most_plies=np.array(config.most_plies, np.int8) - np.int8(1),
        rectified=config.rectified,
        least_probability=np.float32(config.least_probability),
        takes_deeper=config.takes_deeper,
        seconds=config.seconds,
        downgrades_from=np.uint64(sum(config.downgrade)),
        downgrade_exception=np.uint64(sum(config.downgrade_except)),
        downgrades_again=config.downgrade_repeats,
        opponent=OPPONENTS[config.opponent],
    )
    return Search(rules, network, heuristic, settings, _make_memory(rules, network, config.leaf_bits, config.node_bits))


def make_one_ply(rules: AnyRules, network: Network, opponent: OpponentName = CHANCE) -> Search:
    """Return a search of one ply, which remembers nothing: the values may change."""
    config = ExpectimaxConfig(plies=1, opponent=opponent, leaf_bits=LEAST_BITS, node_bits=LEAST_BITS)
    return make_search(rules, network, config)


def _make_memory(rules: AnyRules, network: Network | None, leaf_bits: int, node_bits: int) -> Memory:
    return Memory(
        lookup=make_lookup(network, 8) if network is not None else NO_LOOKUP,
        afters=np.zeros((2, 4, 2), np.uint64),
        rewards=np.zeros((2, 4), np.float32),
        values=np.zeros((2, 4), np.float32),
        slots=np.zeros((2, 4), np.uint64),
        places=_places(rules),
        frames=np.zeros((4, 3), np.uint64),
        lines=np.zeros((4, 4), np.uint64),
        empty=np.zeros(17, np.uint64),
        leaf_boards=np.full(1 << leaf_bits, NO_BOARD, np.uint64),
        leaf_values=np.zeros(1 << leaf_bits, np.float32),
        node_boards=np.full(1 << node_bits, NO_BOARD, np.uint64),
        node_values=np.zeros(1 << node_bits, np.float32),
        node_plies=np.zeros(1 << node_bits, np.int8),
        root=np.zeros(4, np.float32),
        root_values=np.zeros(4, np.float32),
        endgame=np.zeros(4),
        best_replies=np.zeros(MOST_PLIES + 1, np.int64),
        worst_cells=np.ones(MOST_PLIES + 1, np.uint64),
        least=np.zeros((MOST_PLIES + 1, MOST_TILES), np.float32),
        chances=np.zeros((MOST_PLIES + 1, MOST_TILES), np.float32),
        leaves=np.zeros(1, np.int64),
        deadline=np.zeros(1, np.float64),
    )


def _places(rules: Sides) -> NDArray[np.uint64]:
    """Return the bit of each of 16 cells in each of the 4 frames; 0 for cells outside the board."""
    places = np.zeros((4, 16), np.uint64)
    for cell in range(16):
        if not int(rules.cells) >> 4 * cell & 1:
            continue
        board = Board(np.uint64(1 << 4 * cell), ZERO)
        turned = {LEFT: board, RIGHT: mirror(rules, board), UP: transposed(board), DOWN: transposed(flip(rules, board))}
        for action, frame in turned.items():
            places[action, cell] = int(frame[0]).bit_length() - 1
    return places


@inline
def _lower_word(rules: Rules, board: Board) -> tuple[np.uint64, bool]:
    return board.lo, board.hi == ZERO


@inline
def _hash(rules: FamilyRules, board: Board) -> tuple[np.uint64, bool]:
    return board.lo ^ board.hi * GAMMA, True


# (rules, board): the key of a board, and whether it may be remembered; in 2048 the lower word, without tiles of
# 65536 or more
key_of = by_game(_lower_word, _hash)


@inline
def slot_of(boards: NDArray[np.uint64], word: np.uint64) -> np.uint64:
    """Return the slot of a key in a transposition table.

    A bit of a product depends only on the bits of the word at and below it. So the upper half of the word is folded
    into the lower one and upper bits of the product are taken. A hash under which boards that differ only in the last
    row shared slots made searches of 3 plies take twice as long.
    """
    return ((word ^ word >> U32) * GAMMA >> HASH_SHIFT) & np.uint64(boards.size - 1)


@inline
def is_known(settings: ExpectimaxSettings, memory: Memory, slot: np.uint64, key: np.uint64, plies: int) -> bool:
    """Return whether a slot holds the value of a node for a search of so many plies below it."""
    remembered = np.int64(memory.node_plies[slot])
    is_deep = remembered == plies or (settings.takes_deeper and remembered > plies)
    return bool(memory.node_boards[slot] == key and is_deep)


@inline
def is_late(settings: ExpectimaxSettings, memory: Memory) -> bool:
    """Return whether the time for this move is over."""
    return bool(settings.seconds > 0 and seconds() > memory.deadline[0])
