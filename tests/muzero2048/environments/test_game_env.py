"""What a caller gives to the gymnasium environments and sees of them; their steps are in test_definition.py."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from muzero2048.environments.drawing import CELL, COLOURS, EMPTY, GAP, INK, board_picture, state_text
from muzero2048.environments.game_env import GameEnv
from muzero2048.environments.vector_env import GameVectorEnv
from ntuple.core.games.definition import State
from ntuple.core.games.game_2048 import GAME_2048

ROOT = Path(__file__).parents[3]


def _untyped(function, *args, **kwargs):
    """Call a function as users do: these tests check the types of all arguments, before the function can."""
    return inspect.unwrap(function)(*args, **kwargs)


def _make(kind: type, *args, **kwargs):
    env = object.__new__(kind)
    _untyped(kind.__init__, env, *args, **kwargs)
    return env


def _reset(env: GameVectorEnv, seed):
    return _untyped(GameVectorEnv.reset, env, seed=seed)[0]


def text_of(levels: np.ndarray) -> str:
    return state_text(State(tuple(map(tuple, levels.tolist()))), GAME_2048)


def test_games_begin_with_two_spawns():
    env = GameEnv(2, 3)
    env.reset(seed=0)
    boards = [env.reset()[0] for _ in range(3000)]
    tiles = np.array(boards)
    assert ((tiles > 0).sum(axis=(1, 2)) == 2).all()
    assert tiles.max() == 2
    assert abs((tiles == 2).sum() - 600) < 4 * np.sqrt(0.09 * 6000)
    np.testing.assert_allclose((tiles > 0).mean(axis=0), 1 / 3, atol=4 * np.sqrt(2 / 9 / 3000))


def _game(env: GameEnv, seed: int | None) -> Iterator[list]:
    levels, info = env.reset(seed=seed)
    terminated = False
    while not terminated:
        yield levels.tolist()
        levels, _, terminated, _, info = env.step(info["action_mask"].argmax())


def test_a_seed_repeats_the_games():
    one, other = GameEnv(3, 3), GameEnv(3, 3)
    games = [list(_game(one, seed)) for seed in (5, None)]
    assert games == [list(_game(other, seed)) for seed in (5, None)]
    assert games[0] != games[1]
    assert games[0] != list(_game(other, 6))


def test_make_finds_the_environments_by_their_module_and_loads_no_jax():
    code = (
        "import sys, gymnasium\n"
        "for name in ('Game2048', 'Threes'):\n"
        "    env = gymnasium.make(f'muzero2048.environments:muzero2048/{name}-v0', rows=2); env.reset(); env.step(0)\n"
        "sys.exit('jax' in sys.modules or 'numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GameEnv(5, 4), "a board of 5x4: give rows and columns as whole numbers of 2 to 4"),
        (lambda: GameEnv(render_mode="window"), "there is no render_mode 'window'; give one of: ansi"),
        (lambda: GameVectorEnv(0), "num_envs is 0"),
        (lambda: _make(GameEnv, rows="4"), "a board of '4'x4: give"),
        (lambda: _make(GameEnv, 4, 4.0), r"a board of 4x4\.0: give"),
        (lambda: _make(GameEnv, None), "a board of Nonex4: give"),
        (lambda: _make(GameVectorEnv, 2.5), r"num_envs is 2\.5"),
        (lambda: GameVectorEnv(2, rows=5), "a board of 5x4"),
        (lambda: _make(GameVectorEnv, 2, rows="4"), "a board of '4'x4"),
        (lambda: GameVectorEnv(2, render_mode="ansi"), "give rgb_array"),
        (lambda: GameVectorEnv(2).reset(seed=[1]), "1 seeds for 2 games"),
        (
            lambda: GameVectorEnv(2).reset(seed=[1, 2**32]),
            "a seed is 4294967296; give whole numbers of 0 to 4294967295",
        ),
        (lambda: _reset(GameVectorEnv(2), [1, 0.5]), r"a seed is 0\.5; give whole numbers"),
        (lambda: GameVectorEnv(2).reset(seed=-1), "a seed is -1; give whole numbers of 0"),
        (lambda: _reset(GameVectorEnv(2), 1.5), r"the seed is 1\.5; give a whole number, 2 of them, or None"),
        (lambda: _reset(GameVectorEnv(2), True), "the seed is True; give a whole number"),
    ],
)
def test_bad_arguments_have_a_line(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_action_that_does_not_exist_is_refused():
    env, several = GameEnv(), GameVectorEnv(2)
    env.reset(seed=0)
    for action in (4, -1, True, np.True_, 1.0, "1", None, np.array([1])):
        with pytest.raises(ValueError, match=r"^the action is .*; give 0 \(up\), 1 \(right\)"):
            _untyped(GameEnv.step, env, action)
    with pytest.raises(gymnasium.error.ResetNeeded):
        several.step(np.array([0, 1]))
    several.reset(seed=0)
    for actions, line in (
        ([0, 4], r"^the action of game 1 is 4; give 0 \(up\)"),
        ([-1, 0], "^the action of game 0 is -1; give 0"),
        ([0], r"^the actions are of shape \(1,\); give \(2,\), one for each game"),
        ([0.7, 1.2], "^the actions are of type float64; give whole numbers"),
        ([True, False], "^the actions are of type bool; give whole numbers"),
    ):
        with pytest.raises(ValueError, match=line):
            _untyped(GameVectorEnv.step, several, actions)


def test_numbers_of_numpy_are_taken():
    one, other = _make(GameVectorEnv, np.int64(2), np.int8(2), 3), GameVectorEnv(2, 2, 3)
    for seed, same in ((np.int64(3), 3), (np.array([5, 6]), [5, 6])):
        assert (_reset(one, seed) == other.reset(seed=same)[0]).all()
    env = _make(GameEnv, np.int64(2), 3)
    env.reset(seed=0)
    env.step(np.int64(0))


def test_observations_can_be_written_to():
    """And the environment does not read them again."""
    env = GameVectorEnv(2, 2, 2)
    for seen in (env.reset(seed=0)[0], *env.step(np.array([0, 1]))[:4]):
        assert seen.flags.writeable
    levels = env.reset(seed=0)[0]
    levels += 1
    assert (np.asarray(env._board_game.to_cells(env._state.board)) == levels - 1).all()


def test_pictures_and_texts(capsys):
    levels = np.array([[0, 1], [3, 17]])
    assert text_of(levels) == "      .      2\n      8 131072"
    picture = board_picture(levels)
    assert picture.shape == (2 * (CELL + GAP) + GAP, 2 * (CELL + GAP) + GAP, 3)
    corners = [tuple(picture[GAP + r * (CELL + GAP), GAP + c * (CELL + GAP)].tolist()) for r in (0, 1) for c in (0, 1)]
    assert corners == [EMPTY, COLOURS[0], COLOURS[2], COLOURS[16]]
    eight = picture[GAP + CELL + GAP :, : GAP + CELL]
    # An 8 has 13 of 15 pixels, each 4 x 4.
    assert (eight == INK[True]).all(axis=-1).sum() == 13 * 16
    env = GameEnv(2, 2, render_mode="human")
    levels, _ = env.reset(seed=0)
    assert capsys.readouterr().out == text_of(levels) + "\n\n"
    env = GameEnv(2, 2, render_mode="ansi")
    levels, _ = env.reset(seed=0)
    assert env.render() == text_of(levels)


def test_games_of_a_vector_depend_on_their_seeds_alone():
    one, other = GameVectorEnv(3, 3, 3), GameVectorEnv(2, 3, 3)
    one.reset(seed=7)
    other.reset(seed=[9, 8])
    actions = np.array([0, 1, 2])
    for _ in range(20):
        mine, theirs = one.step(actions)[0], other.step(actions[[2, 1]])[0]
        assert (mine[[2, 1]] == theirs).all()
        actions = (actions + 1) % 4
    assert (mine[0] != mine[1]).any()
    one.reset(seed=7)
    drawn = [one.reset()[0].tolist() for _ in range(2)]
    one.reset(seed=7)
    assert drawn == [one.reset()[0].tolist() for _ in range(2)]
    assert drawn[0] != drawn[1]


def test_pictures_of_a_vector():
    env = GameVectorEnv(2, 2, 2, render_mode="rgb_array")
    levels, _ = env.reset(seed=0)
    for picture, board in zip(env.render(), levels, strict=True):
        assert (picture == board_picture(board)).all()
