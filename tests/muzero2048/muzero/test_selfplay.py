"""Tests of a chunk of self-play: moves obey the rules, targets are returns, statistics count the games."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, rules
from reference.search import Position, Tables, search
from reference.targets import lambda_return

from muzero2048.game.env import Game2048
from muzero2048.muzero import selfplay
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.selfplay import PlayStatistics, play_chunk
from muzero2048.training.actor import ActorState, init_actor
from muzero2048.training.devices import make_shardings
from ntuple.core.games.definition import MOST_LEVELS
from tests.muzero2048.toy_model import plain_settings, random_model, small_config
from tests.settings import configured

DISCOUNT = 0.9
SMALL = small_config(rows=2, columns=2)
CONFIG = dataclasses.replace(  # self-play without a tree, which play with more simulations has
    SMALL, chunk=40, td_lambda=1.0, td_steps=1000, discount=DISCOUNT, self_play_simulations=4,
    search=dataclasses.replace(SMALL.search, simulations=24),
    replay=dataclasses.replace(SMALL.replay, capacity=16 * 40),
)  # fmt: skip
GAME = Game2048(2, 2)


class Played(NamedTuple):
    """A chunk of self-play."""

    actor: ActorState  # after it
    sequence: Sequence
    error: np.ndarray
    statistics: PlayStatistics


@pytest.fixture(scope="module")
def played() -> Played:
    model = random_model(CONFIG, seed=0)

    @jax.jit
    def play(key: jax.Array) -> tuple[ActorState, Sequence, jax.Array, PlayStatistics]:
        actor_key, play_key = jax.random.split(key)
        actor = init_actor(GAME, actor_key, CONFIG.num_envs)
        return play_chunk(model, play_key, actor, CONFIG, make_shardings(CONFIG).cut)

    actor, *others = play(jax.random.key(0))
    return Played(actor, *jax.device_get(others))


@pytest.fixture(scope="module")
def searched(played: Played) -> tuple[np.ndarray, np.ndarray]:
    """Return policies [T, E, A] and values [T, E] of the plain search on the boards of the chunk, without noise.

    It visits every legal move once. Its tables are the outputs of the model: row i is the board at place i.
    """
    model, cells = random_model(CONFIG, seed=0), jnp.asarray(played.sequence.cells.reshape(-1, 4))
    count = len(cells)

    @jax.jit
    def tables() -> Tables:
        state = model.representation(cells)
        prediction = model.prediction(state)
        values, rewards = [], []
        for action in range(4):
            after, reward = model.afterstate_dynamics(state, jnp.full(count, action))
            values.append(model.codec.decode(model.afterstate_prediction(after).value_logits))
            rewards.append(model.reward(reward))
        return Tables(
            policy_logits=prediction.policy_logits,
            value=model.codec.decode(prediction.value_logits),
            afterstate=jnp.arange(4 * count).reshape(count, 4),
            reward=jnp.stack(rewards, axis=1),
            afterstate_value=jnp.stack(values, axis=1).ravel(),
            chance_logits=jnp.zeros((4 * count, 1)),
            next_state=jnp.zeros((4 * count, 1), jnp.int32),
        )

    known, plans = jax.device_get(tables()), []
    for row, board in enumerate(cells):
        legal = list(rules.legal_actions(positions.as_board(board.reshape(2, 2))))
        settings = plain_settings(configured(CONFIG.search, simulations=sum(legal)), DISCOUNT)
        plans.append(search(known, Position(row, legal, np.zeros(4), 0), settings))
    values = np.array([plan.value for plan in plans]).reshape(CONFIG.chunk, CONFIG.num_envs)
    return np.array([plan.policy_target for plan in plans]).reshape(*values.shape, 4), values


@pytest.fixture(scope="module")
def improved(searched: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return searched[0]


BOOTSTRAPPED = dataclasses.replace(CONFIG, bootstrap="network", td_lambda=0.5, td_steps=3)


@pytest.fixture(scope="module")
def bootstrapped() -> tuple[Sequence, PlayStatistics, np.ndarray]:
    """Play with targets that bootstrap from the network; also return its values [T + 1, E]."""
    model = random_model(BOOTSTRAPPED, seed=0)

    @jax.jit
    def play(key: jax.Array) -> tuple[Sequence, PlayStatistics, jax.Array]:
        actor, cut = init_actor(GAME, jax.random.key(1), CONFIG.num_envs), make_shardings(BOOTSTRAPPED).cut
        actor, sequence, _, statistics = play_chunk(model, key, actor, BOOTSTRAPPED, cut)
        last = GAME.to_cells(actor.board).reshape(1, -1, 4)
        cells = jnp.concatenate([sequence.cells, last]).reshape(-1, 4)
        values = model.codec.decode(model.prediction(model.representation(cells)).value_logits)
        return sequence, statistics, values.reshape(-1, CONFIG.num_envs)

    return jax.device_get(play(jax.random.key(0)))


def board_at(sequence: Sequence, t: int, i: int) -> rules.Board:
    return positions.as_board(sequence.cells[t, i].reshape(2, 2))


def test_every_move_obeys_the_rules(played: Played) -> None:
    actor, sequence = played.actor, played.sequence
    last = np.asarray(GAME.to_cells(actor.board))
    assert sequence.done.sum() > 10
    for i in range(CONFIG.num_envs):
        for t in range(CONFIG.chunk):
            board, action = board_at(sequence, t, i), int(sequence.action[t, i])
            legal = rules.legal_actions(board)
            assert legal[action]
            after, reward = rules.afterstate(board, action)
            assert sequence.reward[t, i] == reward
            moved = rules.spawn(after, int(sequence.spawn_code[t, i]))
            assert sequence.done[t, i] == rules.is_over(moved)
            following = board_at(sequence, t + 1, i) if t + 1 < CONFIG.chunk else positions.as_board(last[i])
            assert sequence.done[t, i] or following == moved
            policy = sequence.policy[t, i]
            assert (policy[~np.array(legal)] == 0).all()
            np.testing.assert_allclose(policy.sum(), 1.0, rtol=1e-5)


def test_values_are_returns(played: Played) -> None:
    """With lambda = 1 and no limit of steps, targets of games that end in the chunk are discounted sums of rewards."""
    sequence, checked = played.sequence, 0
    for i in range(CONFIG.num_envs):
        total = None
        for t in reversed(range(CONFIG.chunk)):
            if sequence.done[t, i]:
                total = float(sequence.reward[t, i])
            elif total is not None:
                total = float(sequence.reward[t, i]) + DISCOUNT * total
            if total is not None:
                assert sequence.value[t, i] == pytest.approx(total, rel=1e-5)
                checked += 1
    assert checked > 100


def test_policy_targets_are_those_of_the_plain_search(played: Played, improved: np.ndarray) -> None:
    """The noise of self-play decides the moves alone: the stored policy is that of a search without it."""
    np.testing.assert_allclose(played.sequence.policy, improved, rtol=1e-3, atol=1e-5)
    assert np.sort(improved, axis=-1)[..., -2].mean() > 0.01  # more than one move has a share


def test_moves_are_drawn_from_the_improved_policy(played: Played, improved: np.ndarray) -> None:
    """Argmax of g + logits + sigma over all legal moves is a draw from softmax(logits + sigma) (Gumbel-max trick).

    So the share of a move that is played has the mean sum_a pi(a)^2. Without noise it would be max_a pi(a).
    """
    share = np.take_along_axis(improved, played.sequence.action[..., None].astype(int), axis=-1)[..., 0]
    mean = (improved**2).sum(axis=-1)
    error = np.sqrt(np.sum((improved**3).sum(axis=-1) - mean**2)) / share.size
    assert abs(share.mean() - mean.mean()) < 4 * error
    assert improved.max(axis=-1).mean() - mean.mean() > 6 * error


def test_each_environment_and_move_has_its_own_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one seed for all, the chance rules that draw would visit the same codes in every environment."""

    class SeedsSeenError(Exception):
        pass

    def see(model: object, board: object, seeds: jax.Array, *rest: object) -> None:
        raise SeedsSeenError(np.asarray(seeds).tolist())

    monkeypatch.setattr(selfplay, "search_by_device", see)
    model, seen = random_model(CONFIG, seed=0), set()
    for move in range(2):
        with pytest.raises(SeedsSeenError) as error:
            selfplay._search(model, jax.random.key(move), GAME.empty((CONFIG.num_envs,)), CONFIG,
                             make_shardings(CONFIG).cut, 0.0)  # fmt: skip
        seen |= set(error.value.args[0])
    assert len(seen) == 2 * CONFIG.num_envs


def test_statistics(played: Played) -> None:
    actor, sequence, _, statistics = played
    scores, lengths, largest = [], [], []
    for i in range(CONFIG.num_envs):
        score = moves = 0
        for t in range(CONFIG.chunk):
            score, moves = score + int(sequence.reward[t, i]), moves + 1
            if sequence.done[t, i]:
                scores.append(score)
                lengths.append(moves)
                after, _ = rules.afterstate(board_at(sequence, t, i), int(sequence.action[t, i]))
                largest.append(max(rules.cells(after)))
                score = moves = 0
        assert (actor.score[i], actor.moves[i]) == (score, moves)
    assert statistics.ended.games == len(scores)
    assert statistics.ended.score_sum == sum(scores)
    assert statistics.ended.score_max == max(scores)
    assert statistics.ended.moves_sum == sum(lengths)
    assert statistics.ended.reached.tolist() == [sum(tile >= level for tile in largest) for level in range(MOST_LEVELS)]
    entropy = -np.sum(sequence.policy * np.log(np.maximum(sequence.policy, 1e-30)), axis=-1).mean()
    np.testing.assert_allclose(statistics.target_entropy, entropy, rtol=1e-4)
    assert statistics.late == 0


def test_errors_are_search_values_less_returns(played: Played, searched: tuple[np.ndarray, np.ndarray]) -> None:
    np.testing.assert_allclose(played.error, searched[1] - played.sequence.value, rtol=1e-4, atol=1e-3)
    assert np.abs(played.error).mean() > 1.0


Game = list[int]  # times t of the moves of one game in one environment


def games_of(sequence: Sequence, i: int) -> list[Game]:
    """Return the finished games of environment i, then the game in progress."""
    games: list[Game] = [[]]
    for t in range(CONFIG.chunk):
        games[-1].append(t)
        if sequence.done[t, i]:
            games.append([])
    return games


def test_targets_bootstrap_from_what_the_config_says(bootstrapped: tuple[Sequence, PlayStatistics, np.ndarray]) -> None:
    sequence, _, values = bootstrapped
    for i in range(CONFIG.num_envs):
        reward, done, value = (x[:, i].tolist() for x in (sequence.reward, sequence.done, values))
        expected = [lambda_return(t, reward, done, value, DISCOUNT, 0.5, 3) for t in range(CONFIG.chunk)]
        np.testing.assert_allclose(sequence.value[:, i], expected, rtol=1e-4)


def test_pairs_of_value_and_return(bootstrapped: tuple[Sequence, PlayStatistics, np.ndarray]) -> None:
    """Each finished game gives one pair, at the position that its random numbers mark."""
    sequence, statistics, values = bootstrapped
    keys = jax.random.split(jax.random.key(0), CONFIG.chunk + 1)[:-1]
    bits = [jax.random.bits(jax.random.split(key)[1], (3, CONFIG.num_envs), jnp.uint32)[2] for key in keys]
    pairs = []
    for i in range(CONFIG.num_envs):
        for game in games_of(sequence, i)[:-1]:
            marked = max(t for number, t in enumerate(game, 1) if int(bits[t][i]) * number < 2**32)
            gain = sum(DISCOUNT ** (t - marked) * float(sequence.reward[t, i]) for t in game if t >= marked)
            pairs.append((float(values[marked, i]), gain))
    value, gain = np.array(pairs).T
    assert statistics.ended.pairs.games == len(pairs) == sequence.done.sum()
    np.testing.assert_allclose(statistics.ended.pairs.value_mean, value.mean(), rtol=1e-5)
    np.testing.assert_allclose(statistics.ended.pairs.return_mean, gain.mean(), rtol=1e-5)
    np.testing.assert_allclose(statistics.ended.pairs.error_sum, np.abs(value - gain).sum(), rtol=1e-5)
