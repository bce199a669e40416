"""Analysis of given boards by the players: the chosen move, and reward and value of each move."""

import numpy as np
from numpy.typing import NDArray

from ntuple.core.interfaces import Analysis, check_boards
from ntuple.game.any_game import AnyRules, afterstate, count_all_hints, largest_level
from ntuple.game.baselines import draw_move
from ntuple.game.bitboard import Board, is_same, words_of_cells
from ntuple.game.episode import COLUMNS, RNG, Row, set_board
from ntuple.game.family_events import words_of_draws
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import stream
from ntuple.players.greedy import Scratch, best_move, highest_move, look_ahead, make_scratch
from ntuple.tables.network import Network
from ntuple.td.state_and_q import AFTERSTATES, look

NO_BEST_MOVE = "the values are no numbers: none of the legal moves is the best; use an earlier checkpoint"

Words = NDArray[np.uint64]  # [B, 2] `lo` and `hi` of boards


def words_of(
    rules: AnyRules, boards: NDArray[np.uint8], seeds: NDArray[np.uint32], draws: NDArray[np.uint16] | None
) -> Words:
    """Return boards in the form that kernels read; arguments and errors as of `check_boards`."""
    check_boards(rules.rows, rules.columns, boards, seeds, draws, largest_level(rules), count_all_hints(rules))
    words = words_of_cells(rules, boards)
    if draws is not None:
        words[:, 1] |= words_of_draws(draws)
    return words


@kernel
def analyse_afterstates(rules: AnyRules, network: Network, scratch: Scratch, words: Words, out: Analysis) -> None:
    """Analyse boards as `play_network` plays them."""
    for i in range(words.shape[0]):
        look_ahead(rules, network, Board(words[i, 0], words[i, 1]), scratch, 0)
        out.action[i] = best_move(network, scratch, 0).action
        _write_values(scratch, out, i)


@kernel
def analyse_values(rules: AnyRules, network: Network, kind: int, scratch: Scratch, words: Words, out: Analysis) -> None:
    """Analyse boards as `play_values` plays them."""
    for i in range(words.shape[0]):
        look(rules, network, kind, Board(words[i, 0], words[i, 1]), scratch, 0)
        out.action[i] = highest_move(scratch, 0).action
        _write_values(scratch, out, i)


@inline
def _write_values(scratch: Scratch, out: Analysis, i: int) -> None:
    for action in range(4):
        out.reward[i, action], out.value[i, action] = np.int64(scratch.rewards[0, action]), scratch.values[0, action]


@kernel
def draw_moves(rules: AnyRules, greedy: bool, row: Row, seeds: NDArray[np.uint32], words: Words, out: Analysis) -> None:
    """Choose moves as `play_at_random` does."""
    for i in range(words.shape[0]):
        board = Board(words[i, 0], words[i, 1])
        set_board(row, board)
        row[RNG] = stream(np.uint64(seeds[i]), np.uint64(0))
        _, after, _ = draw_move(rules, greedy, row)
        out.action[i] = -1
        for a in range(4):
            candidate, points = afterstate(rules, board, a)
            if is_same(candidate, board):
                out.reward[i, a] = -1
                continue
            out.reward[i, a] = np.int64(points)
            if is_same(candidate, after):  # one move at most: no two legal moves lead to the same board
                out.action[i] = a


def analyse_by_network(rules: AnyRules, network: Network, kind: int, words: Words) -> Analysis:
    """Choose the best of the four moves of each board."""
    analysis = blank_analysis(len(words))
    if kind == AFTERSTATES:
        analyse_afterstates(rules, network, make_scratch(network), words, analysis)
    else:
        analyse_values(rules, network, kind, make_scratch(network), words, analysis)
    if (analysis.reward[analysis.action < 0] >= 0).any():
        raise ValueError(NO_BEST_MOVE)
    return analysis._replace(effort=(analysis.reward >= 0).astype(np.int64))


def analyse_at_random(rules: AnyRules, greedy: bool, words: Words, seeds: NDArray[np.uint32]) -> Analysis:
    """Draw a legal move for each board; the values are NaN, since none are known."""
    analysis = blank_analysis(len(words))
    draw_moves(rules, greedy, np.zeros(COLUMNS, np.uint64), seeds, words, analysis)
    return analysis._replace(value=np.where(analysis.reward >= 0, np.nan, -np.inf))


def blank_analysis(count: int) -> Analysis:
    """Return the analysis of `count` boards for kernels to fill in."""
    counts, values = np.zeros((count, 4), np.int64), np.zeros((count, 4))
    return Analysis(np.zeros(count, np.int8), counts, values, np.zeros_like(counts))


def part_of(analysis: Analysis, part: slice) -> Analysis:
    """Return the analysis of some of the boards, whose arrays are views."""
    return Analysis._make(field[part] if isinstance(field, np.ndarray) else field for field in analysis)
