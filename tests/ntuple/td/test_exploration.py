import numpy as np
import pytest
from scipy import stats

from ntuple.game.bitboard import make_rules
from ntuple.game.episode import COLUMNS, RNG
from ntuple.game.jit import kernel
from ntuple.game.rng import stream
from ntuple.players.greedy import ChosenMove, best_move, look_ahead, make_scratch
from ntuple.tables.network import make_network
from ntuple.td.exploration import Exploration, explore
from tests.ntuple.drivers import to_board

BOARD = ((1, 2, 1, 2), (2, 1, 2, 1), (1, 2, 3, 3), (0, 1, 2, 1))  # all moves except up are legal


@kernel
def draw(rules, network, scratch, board, row, exploration, counts, values, above):
    """Count the moves of 20,000 draws. Without exploration the move is the best one, whose value is `above` too high.

    So it is with the move of a search, whose value is not that of 1-ply.
    """
    look_ahead(rules, network, board, scratch, 0)
    best = best_move(network, scratch, 0)
    searched = ChosenMove(best.action, best.after, best.reward, best.value + np.float32(above))
    for _ in range(20_000):
        move = explore(scratch, 0, row, exploration, searched)
        counts[move.action] += 1
        values[move.action] = move.value
    return best.action


def _draw(epsilon: float, temperature: float, above: float = 0.0) -> tuple[np.ndarray, np.ndarray, int]:
    rules, network = make_rules(4, 4), make_network("012,0145", 4, 4, 0.0)
    network.weights[:] = np.random.default_rng(2).standard_normal(network.weights.size, np.float32)
    row, counts, values = np.zeros(COLUMNS, np.uint64), np.zeros(4, np.int64), np.full(4, -np.inf)
    row[RNG] = stream(np.uint64(1), np.uint64(1))
    scratch = make_scratch(network)
    exploration = Exploration(epsilon, temperature)
    best = draw(rules, network, scratch, to_board(BOARD), row, exploration, counts, values, above)
    return counts, values, best


def test_epsilon_draws_uniformly_among_legal_moves() -> None:
    counts, values, best = _draw(0.4, 0.0)
    legal = counts > 0
    assert 2 <= legal.sum() < 4
    assert best == np.argmax(values)
    expected = np.where(np.arange(4) == best, 0.6, 0.0) + 0.4 / legal.sum()
    assert stats.chisquare(counts[legal], 20_000 * expected[legal]).pvalue > 1e-3


@pytest.mark.parametrize(("temperature", "above"), [(5.0, 0.0), (20.0, 0.0), (5.0, 1e4), (5.0, -1e4)])
def test_softmax_draws_by_the_values(temperature: float, above: float) -> None:
    counts, _, best = _draw(0.0, temperature, above)
    _, values, _ = _draw(1.0, 0.0)
    legal = np.isfinite(values)
    odds = np.exp((values[legal] - values.max()) / temperature)
    expected = 20_000 * odds / odds.sum()
    assert stats.chisquare(counts[legal] + 1e-9, expected).pvalue > 1e-3
    assert counts[~legal].sum() == 0
    assert counts.argmax() == best


def test_without_chances_it_is_the_best_move() -> None:
    counts, _, best = _draw(0.0, 0.0)
    assert counts[best] == 20_000
