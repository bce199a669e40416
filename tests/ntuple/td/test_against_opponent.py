"""Training against an opponent: on 2x2 the values come to be those of the exact solution."""

import numpy as np
import pytest

from ntuple import NTupleConfig, NTupleLearner
from ntuple.core.games.definition import encode_draw
from ntuple.core.games.known import find_game
from ntuple.core.opponents import OpponentName
from ntuple.core.settings import from_plain
from ntuple.expectimax.adversary import Adversary, PlayerAgainst
from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.player import ExpectimaxPlayer
from ntuple.game.any_game import make_game_rules, place_points
from ntuple.game.bitboard import Board
from ntuple.game.family_events import decode_state
from ntuple.game.rollout import states_of
from tests.ntuple.exact.solutions import solution


@pytest.mark.parametrize(
    ("game", "kind", "error"),
    [
        ("2048", "minimax", 0.001),
        pytest.param("2584", "minimax", 0.001, marks=pytest.mark.slow),
        pytest.param("threes", "minimax", 0.001, marks=pytest.mark.slow),
        pytest.param("2048", "expectiminimax", 4, marks=pytest.mark.slow),  # of 64 points
        pytest.param("2584", "expectiminimax", 4, marks=pytest.mark.slow),  # of 116
        pytest.param("threes", "expectiminimax", 1, marks=pytest.mark.slow),  # of 58
    ],
)
def test_training_finds_the_exact_values(game: str, kind: OpponentName, error: float) -> None:
    """Without random moves the player of 2584 never leaves a first plan that earns a third of the points."""
    settings = {
        "game": game, "rows": 2, "columns": 2, "network": ["0123"], "env_steps": 400_000, "report_env_steps": 400_000,
        "threads": 1, "opponent": kind, "levels": 16, "exploration": {"epsilon": 0.3},
    }  # fmt: skip
    learner = NTupleLearner(from_plain(NTupleConfig, settings), 1)
    learner.advance(lambda _: False)
    rules, network = make_game_rules(game, 2, 2), learner.network
    search = ExpectimaxConfig(plies=1, opponent=kind)
    player = PlayerAgainst(rules, ExpectimaxPlayer(rules, network, search, 1), Adversary(rules, network, search, 1))
    has_hints = find_game(game).num_hints > 1
    for played in player.play_each(range(40), 3):
        (lo, hi), *_ = states_of(rules, played.opening, played.actions, played.spawns)
        state = decode_state(rules, Board(lo, hi))
        board = np.array(state.board, np.uint8)
        worth = solution(2, 2, game=game, opponent=kind).look_up(board, state.hint).state
        assert worth is not None
        draws = np.array([encode_draw(state.hint, state.bag)]) if has_hints else None
        values = player.analyse(board[np.newaxis], np.zeros(1, np.uint32), draws).value
        assert values.max() == pytest.approx(worth.expected, abs=error)
        if kind == "minimax":
            first = sum(int(place_points(rules, level)) for level in board.ravel())
            assert played.score == worth.expected + first
