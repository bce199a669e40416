"""A masked agent of a known library learns the game through the gymnasium environment (`make test-agents`)."""

import time
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest

import muzero2048
import muzero2048.environments  # registers the environment
from ntuple.core.interfaces import Games

SIDE = 3
MOVES = 120_000  # a minute on two cores
GAMES = 300
RANDOM = 179  # mean of `muzero2048 evaluate random --board 3x3 --games 100000`: the same game as all players play
POINTS = 100.0  # of a reward of 1

Choose = Callable[[np.ndarray, np.ndarray], int]  # (observation, mask bool[4]) -> action


class OneHot(gymnasium.ObservationWrapper):
    """The board as float32[cells * levels]."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.levels = int(env.observation_space.high.max()) + 1
        size = env.observation_space.low.size * self.levels
        self.observation_space = gymnasium.spaces.Box(0, 1, (size,), np.float32)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        return np.eye(self.levels, dtype=np.float32)[observation.ravel()].ravel()


def _make() -> gymnasium.Env:
    env = OneHot(gymnasium.make("muzero2048/Game2048-v0", rows=SIDE, columns=SIDE))
    return gymnasium.wrappers.TransformReward(env, lambda reward: reward / POINTS)


def _play(choose: Choose) -> Games:
    env, played, began = _make(), [], time.monotonic()
    for game in range(GAMES):
        observation, info = env.reset(seed=game)
        score, moves, terminated = 0.0, 0, False
        while not terminated:
            action = choose(observation, info["action_mask"].astype(bool))
            observation, reward, terminated, _, info = env.step(action)
            score, moves = score + reward * POINTS, moves + 1
        played.append((round(score), 1 << int(observation.reshape(-1, SIDE * SIDE + 2).argmax(axis=1).max()), moves))
    return Games(*np.array(played, np.int64).T.copy(), time.monotonic() - began)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the libraries
def test_maskable_ppo_learns_to_play_better_than_random():
    sb3_contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is missing: make test-agents installs it")
    import torch
    from stable_baselines3.common.vec_env import DummyVecEnv

    torch.set_num_threads(1)
    began = time.monotonic()
    agent = sb3_contrib.MaskablePPO(
        "MlpPolicy",
        DummyVecEnv([_make] * 16),
        n_steps=128,
        batch_size=256,
        n_epochs=4,
        learning_rate=1e-3,
        ent_coef=0.01,
        seed=0,
        device="cpu",
        policy_kwargs={"net_arch": [128, 128]},
    ).learn(MOVES)
    seconds = time.monotonic() - began
    rng = np.random.default_rng(0)
    drawn = muzero2048.summarize(_play(lambda _, mask: int(rng.choice(np.flatnonzero(mask)))))
    learned = muzero2048.summarize(
        _play(lambda seen, mask: int(agent.predict(seen, action_masks=mask, deterministic=True)[0]))
    )
    for name, one in (("random", drawn), ("MaskablePPO", learned)):
        print(f"{name}: {one.score_mean:.1f} ({one.score_low:.1f} to {one.score_high:.1f}), {one.games} games")
    print(f"{MOVES:,} moves in {seconds:.0f} s")
    assert learned.score_low > drawn.score_high
    assert drawn.score_low < RANDOM < drawn.score_high
