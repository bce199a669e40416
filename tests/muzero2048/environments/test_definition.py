"""The gymnasium environments against the definition of the games."""

from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import pytest
import scipy.stats
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from muzero2048.environments import IDS
from muzero2048.environments.drawing import CELL, COLOURS, GAP, INK, board_picture
from muzero2048.environments.game_env import GameEnv
from muzero2048.environments.vector_env import GameVectorEnv
from ntuple.core.games.definition import Afterstate, Game, State
from ntuple.core.games.known import GAMES, find_game

BOARDS = [
    *(("2048", *shape) for shape in ((2, 2), (2, 3), (4, 3), (4, 4))),
    *(("2584", 3, 3), ("2584-hard", 2, 3), ("threes", 4, 4), ("threes-easy", 4, 4), ("threes", 2, 3)),
]


def state_of(seen: Any) -> State:
    """Return the state of an observation."""
    board, hint, bag = (seen["board"], int(seen["hint"]), seen["bag"]) if isinstance(seen, dict) else (seen, 0, ())
    return State(tuple(map(tuple, board.tolist())), hint, tuple(int(count) for count in bag))


def check_step(game: Game, before: State, action: int, reward: float, after: State) -> list[tuple[float, float]]:
    """Compare a step with the definition; return where the chance event lies in the law: from, to in [0, 1].

    The list is empty if the action is not legal.
    """
    move = game.move(before, action)
    if move is None:
        assert (after, reward) == (before, 0)
        return []
    events = list(game.events(move.after))
    (place,) = [i for i, event in enumerate(events) if event.state == after]
    assert reward == move.points + events[place].points
    below = float(sum(event.chance for event in events[:place]))
    return [(below, below + float(events[place].chance))]


def check_law(spans: list[tuple[float, float]]) -> None:
    """A uniform number of the span of each event is uniform in [0, 1] (probability integral transform)."""
    numbers = np.random.default_rng(2).uniform(*np.array(spans).T)
    assert scipy.stats.kstest(numbers, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("name", "rows", "columns"), BOARDS)
def test_games_follow_the_definition(name: str, rows: int, columns: int):
    env, game = GameEnv(rows, columns, game=name), find_game(name, rows, columns)
    env.action_space.seed(1)
    spans, ended = [], 0
    seen, info = env.reset(seed=3)
    score = info["score"]
    for _ in range(400):
        action = int(env.action_space.sample())
        following, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(following)
        assert not truncated
        state = state_of(following)
        spans += check_step(game, state_of(seen), action, reward, state)
        legal = [game.move(state, one) is not None for one in range(4)]
        assert (info["action_mask"].dtype, info["action_mask"].tolist()) == (np.int8, legal)
        assert env.action_masks().tolist() == legal
        assert terminated == (not any(legal))
        score += reward
        seen = following
        if terminated:
            if game.worth:
                assert score == sum(game.worth[level] for row in state.board for level in row)
            ended += 1
            seen, info = env.reset()
            tiles = [level for row in state_of(seen).board for level in row if level]
            assert (len(tiles), info["score"]) == (game.initial_tiles, sum(map(game.place_points, tiles)))
            score = info["score"]
    assert ended
    assert 50 < len(spans) < 400
    check_law(spans)


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


@pytest.mark.parametrize("name", IDS)
def test_an_id_is_of_its_game(name: str):
    assert gymnasium.make(IDS[name]).unwrapped.game is GAMES[name]


SMALL = [("2048", 2, 3), ("threes", 2, 2), ("threes-far-side", 3, 4), ("2584", 3, 3)]


@pytest.mark.parametrize(("name", "rows", "columns"), [(name, 4, 4) for name in GAMES] + SMALL)
def test_gymnasium_finds_no_fault(name: str, rows: int, columns: int):
    env = gymnasium.make(IDS["threes"], game=name, rows=rows, columns=columns).unwrapped
    assert env.game is find_game(name, rows, columns)
    check_env(env)  # a warning is an error in these tests


@pytest.mark.parametrize("name", ["threes", "2584", "2048"])
def test_a_vector_follows_the_definition(name: str):
    env = gymnasium.make_vec(IDS[name], num_envs=16, vectorization_mode="vector_entry_point", rows=2, columns=3)
    assert isinstance(env, GameVectorEnv)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    game, rng = find_game(name, 2, 3), np.random.default_rng(0)

    def states(seen: Any) -> list[State]:
        parts = [{key: value[i] for key, value in seen.items()} if game.bag else seen[i] for i in range(16)]
        return [state_of(part) for part in parts]

    def worth(state: State) -> int:
        return sum(game.place_points(level) for row in state.board for level in row)

    seen, info = env.reset(seed=0)
    before, begins = states(seen), np.ones(16, bool)
    over, score, spans, ended = np.zeros(16, bool), np.zeros(16), [], 0
    for _ in range(80):
        assert (info["_score"] == begins).all()
        assert info["score"].tolist() == [worth(state) * begun for state, begun in zip(before, begins, strict=True)]
        score = np.where(begins, info["score"], score)
        actions = rng.integers(4, size=16)
        seen, rewards, terminated, truncated, info = env.step(actions)
        assert env.observation_space.contains(seen)
        assert rewards.dtype == np.float64
        assert not truncated.any()
        after = states(seen)
        score += rewards
        for i, state in enumerate(after):
            if over[i]:  # the action was ignored, and a new game begins
                assert rewards[i] == 0
                assert sum(level > 0 for row in state.board for level in row) == game.initial_tiles
            else:
                spans += check_step(game, before[i], int(actions[i]), rewards[i], state)
            legal = [game.move(state, one) is not None for one in range(4)]
            assert terminated[i] == (not any(legal))
            assert info["action_mask"][i].tolist() == (legal if any(legal) else [True] * 4)
            assert not game.worth or not terminated[i] or score[i] == worth(state)
        ended += terminated.sum()
        before, begins, over = after, over, terminated
    assert ended > 3
    check_law(spans)


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


def test_a_picture_shows_the_next_tile_below_the_board():
    several = GameVectorEnv(8, 2, 3, render_mode="rgb_array", game="threes")
    seen, _ = several.reset(seed=0)
    one = GameEnv(2, 3, render_mode="rgb_array", game="threes")
    alone, _ = one.reset(seed=1)
    pictures = [*several.render(), one.render()]
    boards, hints = [*seen["board"], alone["board"]], [*seen["hint"], alone["hint"]]
    for picture, board, hint in zip(pictures, boards, hints, strict=True):
        tile = board_picture(np.array([[hint]]), one.game)[GAP:-GAP, GAP:-GAP]
        assert (picture[: 2 * (CELL + GAP) + GAP] == board_picture(board, one.game)).all()
        assert (picture[2 * (CELL + GAP) + GAP : -GAP, GAP : GAP + CELL] == tile).all()
    bonus = board_picture(np.zeros((2, 2), int), GAMES["threes"], hint=4)
    assert (bonus == INK[True]).all(axis=-1).sum() == 5 * 16  # a + has 5 of 15 pixels, each 4 x 4


@pytest.mark.parametrize("make", [GameEnv, lambda *sides, **words: GameVectorEnv(2, *sides, **words)])
def test_a_game_that_cannot_be_played_has_a_line(make):
    with pytest.raises(ValueError, match=r"^there is no game 'chess'; give one of: 2048, 2584, "):
        make(game="chess")
    with pytest.raises(
        ValueError, match=r"^threes-easy begins with 9 tiles, too many for a board of 3x3; give another"
    ):
        make(3, 3, game="threes-easy")
