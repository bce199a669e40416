"""Searches whose moves are removed by tables of endgames."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ntuple import ExpectimaxConfig, ExpectimaxPlayer, MCTSConfig, MCTSPlayer, make_rules
from ntuple.endgames.pattern import parse_pattern
from ntuple.endgames.table import EndgameTable, solve_table
from ntuple.game.bitboard import encode
from ntuple.game.episode import AFTER_HI, AFTER_LO, BOARD_LO, COLUMNS
from ntuple.game.rollout import ACTION, TRACE_COLUMNS
from tests.ntuple.drivers import random_network

PATTERN = parse_pattern("LLLL/LLLL/LL../....", 32)
RULES = make_rules(4, 4)
MEAN, DRAWN = {"backup": "mean"}, {"choice": "drawn", "r_th": 0.0}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("endgames") / "a.endgame"
    assert solve_table(PATTERN, path)
    return path


def positions(count: int) -> np.ndarray:
    """Return boards [B, 4, 4] that fit in the pattern, with a move."""
    boards = np.zeros((count, 4, 4), np.int64)
    boards[:, :2] = np.arange(15, 7, -1).reshape(2, 4)
    boards[:, 2, :2] = 7, 6
    free = np.random.default_rng(3).integers(0, PATTERN.target, (count, 6))
    boards[:, 2, 2:], boards[:, 3] = free[:, :2], free[:, 2:]
    return boards[(free == 0).any(axis=1)]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (ExpectimaxPlayer, {"plies": 1}),
        pytest.param(MCTSPlayer, {"simulations": 5}, marks=pytest.mark.slow),
        (MCTSPlayer, {"simulations": 40} | MEAN),
        pytest.param(MCTSPlayer, {"simulations": 40, "reuse": True} | DRAWN, marks=pytest.mark.slow),
    ],
)
def test_a_search_chooses_among_the_moves_that_a_table_leaves(kind: Any, settings: dict[str, Any], file: Path) -> None:
    network, boards = random_network(4, 4, "0123,4567"), positions(300)
    words = np.array([encode(board) for board in boards], np.uint64)
    probability = EndgameTable.load(file).look_up(words)
    removed = probability < probability.max(axis=1, keepdims=True) - 0.05
    tables = {"endgames": (str(file),), "endgame_tolerance": 0.05}
    config = {ExpectimaxPlayer: ExpectimaxConfig, MCTSPlayer: MCTSConfig}[kind]
    free, bound = (kind(RULES, network, config(**settings, **rest), threads=2) for rest in ({}, tables))
    seeds, rows = np.arange(len(boards), dtype=np.uint32), np.arange(len(boards))
    without, analysis = free.analyse(boards, seeds), bound.analyse(boards, seeds)
    assert removed[rows, without.action].sum() > 30
    assert not removed[rows, analysis.action].any()
    np.testing.assert_array_equal(analysis.value, without.value)  # of all moves
    np.testing.assert_array_equal(analysis.effort, without.effort)
    np.testing.assert_allclose(analysis.endgames.probability, probability)
    trace = np.zeros((1, TRACE_COLUMNS))
    for i in range(len(boards)):
        row = np.zeros(COLUMNS, np.uint64)
        row[BOARD_LO : BOARD_LO + 2] = row[AFTER_LO], row[AFTER_HI] = words[i]
        assert bound._begin(int(seeds[i]), 0)(row, trace) == 1
        assert trace[0, ACTION] == analysis.action[i]  # play may end a search early
