"""A chunk of self-play is real play with finished targets."""

import dataclasses

import jax
import numpy as np
import pytest
from reference import positions, rules

from muzero2048.env import Game2048
from muzero2048.selfplay import ActorState, PlayStatistics, init_actor, play_chunk
from muzero2048.targets import Sequence

from .toy_model import random_model, small_config

DISCOUNT = 0.9
CONFIG = dataclasses.replace(
    small_config(rows=2, columns=2), chunk=40, td_lambda=1.0, td_steps=1000, discount=DISCOUNT,
    replay=dataclasses.replace(small_config().replay, capacity=16 * 40),
)  # fmt: skip
GAME = Game2048(2, 2)


@pytest.fixture(scope="module")
def played() -> tuple[ActorState, Sequence, PlayStatistics]:
    model = random_model(CONFIG, seed=0)

    @jax.jit
    def play(key: jax.Array) -> tuple[ActorState, Sequence, PlayStatistics]:
        actor_key, play_key = jax.random.split(key)
        return play_chunk(model, play_key, GAME, init_actor(GAME, actor_key, CONFIG.num_envs), CONFIG)

    actor, sequence, statistics = play(jax.random.key(0))
    return actor, *jax.device_get((sequence, statistics))


def board_at(sequence: Sequence, t: int, i: int) -> rules.Board:
    return positions.as_board(sequence.cells[t, i].reshape(2, 2))


def test_every_move_obeys_the_rules(played: tuple[ActorState, Sequence, PlayStatistics]) -> None:
    actor, sequence, _ = played
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


def test_values_are_returns(played: tuple[ActorState, Sequence, PlayStatistics]) -> None:
    """With lambda = 1 and no limit of steps, a move of a game that ends in the chunk is worth its rewards alone."""
    _, sequence, _ = played
    checked = 0
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


def test_statistics(played: tuple[ActorState, Sequence, PlayStatistics]) -> None:
    actor, sequence, statistics = played
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
    assert statistics.ended.reached.tolist() == [sum(tile >= level for tile in largest) for level in range(18)]
    entropy = -np.sum(sequence.policy * np.log(np.maximum(sequence.policy, 1e-30)), axis=-1).mean()
    np.testing.assert_allclose(statistics.target_entropy, entropy, rtol=1e-4)
    assert statistics.late == 0
