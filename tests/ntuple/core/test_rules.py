"""The rules in plain Python against the reference and the bitboards, and the one constant of all packages."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference import rules as reference

from ntuple.core import rules
from ntuple.game import rollout
from ntuple.game.bitboard import make_rules
from ntuple.game.episode import COLUMNS, RNG

ROOT = Path(__file__).parents[3]
# Openings, spawns and stages of both packages derive from the constant.
FOURS_ALONE = """
import ntuple.core.rules
text = open(ntuple.core.rules.__file__).read().replace("FOUR_SHARE = 0.1", "FOUR_SHARE = 1.0")
exec(compile(text, ntuple.core.rules.__file__, "exec"), vars(ntuple.core.rules))

import jax, numpy as np
from muzero2048.environments.game_env import GameEnv
from muzero2048.game.env import Game2048
from ntuple.game.bitboard import make_rules
from ntuple.game.episode import COLUMNS
from ntuple.game.rollout import boards_of, make_moves, open_game
from ntuple.tables.stages import make_stages

rules, rows = make_rules(4, 4), np.zeros((1, COLUMNS), np.uint64)
opening = open_game(rules, 1, 0, rows[0])
game, env = Game2048(4, 4), GameEnv()
boards = game.init(jax.random.key(0), (100,))
spawned, codes = game.spawn(jax.random.key(1), boards)
levels = [boards_of(rules, rows), game.to_cells(boards), game.to_cells(spawned), env.reset(seed=0)[0]]
assert all(set(np.unique(board).tolist()) == {0, 2} for board in levels), levels
assert all(code % 2 for code in (*opening, *np.asarray(codes).tolist())), (opening, codes)
chances = np.asarray(game.chance_probabilities(boards))
assert (chances[:, ::2] == 0).all() and np.allclose(chances.sum(1), 1)
assert make_stages("turn4").thresholds.tolist() == [4 * 8192 * k for k in (1, 2, 3)]
"""


def test_the_share_of_4s_is_one_constant() -> None:
    # numba's cache knows the files alone, not the changed constant.
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FOURS_ALONE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (4, 3), (4, 4)])
def test_a_plain_game_is_that_of_the_reference_and_of_the_bitboards(rows: int, columns: int) -> None:
    """The same stream gives the same spawns; moves are compared on each board."""
    fast, row = make_rules(rows, columns), np.zeros((1, COLUMNS), np.uint64)
    rollout.open_game(fast, 7, 3, row[0])
    stream = int(rollout.stream(np.uint64(7), np.uint64(3)))
    board, stream = rules.begin_game(rows, columns, stream)
    action = 0
    while not reference.is_over(board):
        assert rollout.boards_of(fast, row)[0].tolist() == [list(line) for line in board]
        assert int(row[0, RNG]) == stream
        moves = [rules.afterstate(board, action) for action in range(4)]
        assert moves == [reference.afterstate(board, action) for action in reference.ACTIONS]
        action = next(a % 4 for a in range(action + 1, action + 5) if moves[a % 4][0] != board)
        rollout.make_moves(fast, row, np.array([action], np.int8), np.zeros(1, np.int64), np.zeros(1, np.int64))
        board, stream = rules.spawn(moves[action][0], stream)
