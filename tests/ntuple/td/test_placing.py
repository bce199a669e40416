"""Training against an opponent: on 2x2 the values come to be those of the exact solution."""

import numpy as np
import pytest

from ntuple import NTupleConfig, NTupleLearner
from ntuple.core.settings import from_plain
from ntuple.exact.positions import LEVELS
from ntuple.exact.solution import Solution
from ntuple.exact.solver import solve
from ntuple.expectimax.adversary import Adversary, PlayerAgainst
from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.player import ExpectimaxPlayer
from ntuple.game.any_game import make_game_rules
from ntuple.game.bitboard import Board
from ntuple.game.family_events import decode_state
from ntuple.game.rollout import states_of

NONE = LEVELS + 1


@pytest.mark.parametrize("game", ["2048", pytest.param("2584", marks=pytest.mark.slow)])
def test_training_finds_the_exact_value_of_minimax(game: str) -> None:
    settings = {
        "game": game, "rows": 2, "columns": 2, "network": ["0123"], "env_steps": 200_000, "report_env_steps": 200_000,
        "threads": 1, "opponent": "minimax", "step_size": {"alpha": 0.2},
    }  # fmt: skip
    learner = NTupleLearner(from_plain(NTupleConfig, settings), 1)
    learner.advance(lambda _: False)
    rules, network = make_game_rules(game, 2, 2), learner.network
    search = ExpectimaxConfig(plies=1, opponent="minimax")
    player = PlayerAgainst(rules, ExpectimaxPlayer(rules, network, search, 1), Adversary(rules, network, search, 1))
    solution = Solution(2, 2, NONE, NONE, solve(2, 2, game=game, opponent="minimax"), game, "minimax")
    for played in player.play_each(range(40), 3):
        (lo, hi), *_ = states_of(rules, played.opening, played.actions, played.spawns)
        board = np.array(decode_state(rules, Board(lo, hi)).board, np.uint8)
        worth = solution.look_up(board).state
        assert worth is not None
        assert played.score == worth.expected
        values = player.analyse(board[np.newaxis], np.zeros(1, np.uint32)).value
        assert values.max() == pytest.approx(worth.expected, abs=0.5)


@pytest.mark.parametrize(
    "other", [{"values": "state"}, {"target": {"method": "expected"}}, {"target": {"search": {"simulations": 5}}}]
)
def test_what_draws_the_tiles_is_refused(other: dict) -> None:
    with pytest.raises(ValueError, match="opponent is 'minimax'; give chance, or leave out"):
        from_plain(NTupleConfig, {"opponent": "minimax", **other})
