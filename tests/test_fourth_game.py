"""A game that is not in the package: its definition alone, and what works with it (docs/extend.md, "A game")."""

import jax
import numpy as np
import pytest

from muzero2048.game.family_env import FamilyGame
from ntuple import NTupleConfig, NTupleLearner
from ntuple.core.games.definition import Game
from ntuple.core.games.known import GAMES
from ntuple.exact.positions import LEVELS
from ntuple.exact.solution import Solution
from ntuple.exact.solver import solve
from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.player import ExpectimaxPlayer
from ntuple.game.any_game import make_game_rules

# 2048 in which a 1 and two larger tiles are placed: 1, 3, 6, 12, ... Equal tiles merge, and two 1s make a 3.
THREES_OF_2048 = Game(
    name="1-3-6",
    tiles=(0, 1, *(3 * 2**k for k in range(14))),
    merge=lambda one, other: one + 1 if one == other and one < 15 else 0,
    spawns=((1, 0.7), (2, 0.2), (3, 0.1)),
    goals=(384, 768, 1536, 3072, 6144),
)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GAMES, THREES_OF_2048.name, THREES_OF_2048)


@pytest.mark.slow
def test_it_is_solved_trained_searched_and_played_on_the_device() -> None:
    start = Solution(2, 2, LEVELS + 1, LEVELS + 1, solve(2, 2, game="1-3-6"), "1-3-6").start()
    budget = {"threads": 1, "env_steps": 400_000, "report_env_steps": 400_000, "v_init": 2.0 * start.expected}
    config = NTupleConfig(game="1-3-6", rows=2, columns=2, network=("0123",), **budget)
    learner = NTupleLearner(config, seed=1)
    report = learner.advance()
    assert report["train/reach_384"] == 0
    games = learner.player().play(4000, seed=2)
    assert games.score.mean() == pytest.approx(start.expected, rel=0.04)
    assert set(games.max_tile.tolist()) <= set(THREES_OF_2048.tiles)
    rules = make_game_rules("1-3-6", 2, 2)
    searched = ExpectimaxPlayer(rules, learner.network, ExpectimaxConfig(plies=2), 1).play(2000, seed=2)
    assert searched.score.mean() == pytest.approx(start.expected, rel=0.04)

    game = FamilyGame(THREES_OF_2048, 2, 2)
    board = game.init(jax.random.key(0), (64,))
    for move in range(10):
        action = game.random_action(jax.random.key(move), board)
        board, _ = game.step(jax.random.key(100 + move), board, action)
    assert 0 < int(np.asarray(game.to_cells(board)).max()) < len(THREES_OF_2048.tiles)
