"""The gymnasium environments of 2584 and Threes! against the definition of the games."""

from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import pytest
import scipy.stats
from gymnasium.utils.env_checker import check_env

from muzero2048.environments import IDS
from muzero2048.environments.drawing import CELL, COLOURS, GAP
from muzero2048.environments.game_env import GameEnv
from muzero2048.environments.vector_env import GameVectorEnv
from ntuple.core.games.definition import Afterstate, Game, State
from ntuple.core.games.known import GAMES, find_game

BOARDS = [("2584", 4, 4), ("2584-hard", 2, 3), ("threes", 4, 4), ("threes-easy", 4, 4), ("threes", 2, 3)]


def state_of(seen: Any) -> State:
    """Return the state of an observation."""
    board, hint, bag = (seen["board"], int(seen["hint"]), seen["bag"]) if isinstance(seen, dict) else (seen, 0, ())
    return State(tuple(map(tuple, board.tolist())), hint, tuple(int(count) for count in bag))


def check_step(game: Game, before: State, action: int, reward: float, after: State) -> bool:
    """Compare a step with the definition; return whether the action was legal."""
    move = game.move(before, action)
    if move is None:
        assert (after, reward) == (before, 0)
        return False
    points = {event.points for event in game.events(move.after) if event.state == after}
    assert {reward - move.points} == points
    return True


@pytest.mark.parametrize(("name", "rows", "columns"), BOARDS)
def test_games_follow_the_definition(name: str, rows: int, columns: int):
    env, game = GameEnv(rows, columns, game=name), find_game(name, rows, columns)
    env.action_space.seed(1)
    legal = ended = 0
    seen, info = env.reset(seed=3)
    score = info["score"]
    for _ in range(400):
        action = int(env.action_space.sample())
        following, reward, terminated, _, info = env.step(action)
        assert env.observation_space.contains(following)
        state = state_of(following)
        legal += check_step(game, state_of(seen), action, reward, state)
        assert info["action_mask"].tolist() == [game.move(state, one) is not None for one in range(4)]
        score += reward
        seen = following
        if terminated:
            assert not info["action_mask"].any()
            if game.worth:
                assert score == sum(game.worth[level] for row in state.board for level in row)
            ended += 1
            seen, info = env.reset()
            tiles = [level for row in state_of(seen).board for level in row if level]
            assert (len(tiles), info["score"]) == (game.initial_tiles, sum(map(game.place_points, tiles)))
            score = info["score"]
    assert ended
    assert 50 < legal < 400


def test_draws_have_the_law_of_the_events():
    board = ((10, 1, 2, 1), (2, 1, 2, 1), (1, 2, 1, 0), (0, 0, 0, 0))
    places = ((3, 0), (3, 2), (2, 3))
    rng = np.random.default_rng(5)
    for name, hint, bag in (
        ("2584-hard", 0, ()),
        ("threes", 2, (1, 2, 0)),
        ("threes", 4, (4, 4, 4)),
        ("threes-easy", 3, (0, 1, 0)),
    ):
        game, after = GAMES[name], Afterstate(board, places, hint, bag)
        law = Counter[Any]()
        for event in game.events(after):
            law[event.state, event.points] += float(event.chance)
        drawn = Counter(game.draw(after, rng.random) for _ in range(3000))
        assert set(drawn) <= set(law)
        counts, expected = zip(*((drawn[key], 3000 * chance) for key, chance in law.items()), strict=True)
        assert scipy.stats.chisquare(counts, expected).pvalue > 1e-3
    openings = Counter(GAMES["threes-small"].draw_opening(2, 3, rng.random) for _ in range(3000))
    truth = Counter[Any]()
    for event in GAMES["threes-small"].openings(2, 3):
        truth[event.state, event.points] += float(event.chance)
    counts, expected = zip(*((openings[key], 3000 * chance) for key, chance in truth.items()), strict=True)
    assert set(openings) <= set(truth)
    assert scipy.stats.chisquare(counts, expected).pvalue > 1e-3


@pytest.mark.parametrize("name", [*IDS, "threes-easy"])
def test_gymnasium_finds_no_fault(name: str):
    family = "threes" if name.startswith("threes") else name
    env = gymnasium.make(IDS[family], **({} if name in IDS else {"game": name})).unwrapped
    assert env.game is GAMES[name]
    check_env(env)  # a warning is an error in these tests


@pytest.mark.parametrize("name", ["threes", "2584"])
def test_a_vector_follows_the_definition(name: str):
    env = gymnasium.make_vec(IDS[name], num_envs=16, vectorization_mode="vector_entry_point", rows=2, columns=3)
    assert isinstance(env, GameVectorEnv)
    game, rng = find_game(name, 2, 3), np.random.default_rng(0)

    def states(seen: Any) -> list[State]:
        parts = [{key: value[i] for key, value in seen.items()} if game.bag else seen[i] for i in range(16)]
        return [state_of(part) for part in parts]

    seen, info = env.reset(seed=0)
    before, over = states(seen), np.zeros(16, bool)
    assert info["score"].tolist() == [sum(game.place_points(x) for row in state.board for x in row) for state in before]
    begun = 0
    for _ in range(60):
        actions = rng.integers(4, size=16)
        seen, rewards, terminated, _, info = env.step(actions)
        assert env.observation_space.contains(seen)
        after = states(seen)
        for i, state in enumerate(after):
            if over[i]:
                begun += 1
                assert rewards[i] == 0
                assert sum(level > 0 for row in state.board for level in row) == game.initial_tiles
            else:
                check_step(game, before[i], int(actions[i]), rewards[i], state)
            legal = [game.move(state, one) is not None for one in range(4)]
            assert terminated[i] == (not any(legal))
            assert info["action_mask"][i].tolist() == (legal if any(legal) else [True] * 4)
        before, over = after, terminated
    assert begun > 3


def test_what_is_shown_are_the_tiles_of_the_game():
    env = GameEnv(2, 3, render_mode="ansi", game="threes")
    env.reset(seed=1)
    lines = env.render().splitlines()
    state = state_of(env.reset(seed=1)[0])
    assert lines[-1] == f" next {state.hint}"
    assert sorted(" ".join(lines[:2]).split()) == sorted([".", ".", ".", ".", ".", str(max(map(max, state.board)))])
    picture = GameEnv(2, 2, render_mode="rgb_array", game="2584")
    picture.reset(seed=0)
    levels = picture._levels()
    row, column = np.argwhere(levels)[0]
    corner = picture.render()[GAP + row * (CELL + GAP), GAP + column * (CELL + GAP)]
    assert tuple(corner) == COLOURS[levels[row, column] - 1]


@pytest.mark.parametrize("make", [GameEnv, lambda **words: GameVectorEnv(2, **words)])
def test_a_game_that_does_not_exist_has_a_line(make):
    with pytest.raises(ValueError, match=r"^there is no game 'chess'; give one of: 2048, 2584, "):
        make(game="chess")
