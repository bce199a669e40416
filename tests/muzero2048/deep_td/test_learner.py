"""Tests of the learner through the interface of the training loop: metrics, checkpoints, players, learning."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest

from launch.experiment.metrics import REGISTRY
from muzero2048.deep_td import learner as learner_module
from muzero2048.deep_td.config import EpsilonConfig
from muzero2048.deep_td.learner import DeepTDLearner
from muzero2048.deep_td.value_player import load_one_ply_player, load_value_search
from muzero2048.networks.config import NetworkConfig
from muzero2048.search.config import SearchConfig
from muzero2048.training.config import OptimizerConfig, ReplayConfig
from tests.muzero2048.deep_td.test_train_step import shared_learner
from tests.muzero2048.deep_td.toy_network import small_config
from tests.settings import configured

CONFIG = small_config(rows=2, columns=2, exploration=EpsilonConfig(0.4, 0.1, 0.6))
OPTIMUM = 66.964149  # mean score of optimal play on 2x2


@pytest.fixture(scope="module", autouse=True)
def _compile_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner_module, "make_learner", shared_learner)
        yield


Run = tuple[DeepTDLearner, Path, dict[str, float], dict[str, float]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a learner after two reports, its checkpoint after the first, and the metrics of both."""
    learner = DeepTDLearner(CONFIG, seed=1)
    assert learner.env_steps_total == 640
    first = learner.advance()
    assert learner.progress == {"env_steps": 256, "games": int(first["train/games"]), "updates": 4}
    folder = tmp_path_factory.mktemp("checkpoint")
    learner.save(folder)
    second = learner.advance()
    assert learner.progress["env_steps"] == 512  # two more rounds of 128 moves pass 400, the end of the second report
    return learner, folder, first, second


def test_metrics(run: Run) -> None:
    for metrics in run[2:]:
        assert set(metrics) <= set(REGISTRY)
        assert all(type(value) is float and np.isfinite(value) for value in metrics.values())
        assert 0 < metrics["train/score_mean"] <= metrics["train/score_max"] < 1000
    assert run[2]["td/epsilon"] == pytest.approx(0.35)


def test_a_checkpoint_continues_to_the_bit(run: Run) -> None:
    learner, folder, _, second = run
    other = DeepTDLearner(CONFIG, seed=99)
    other.restore(folder)
    assert other.progress["env_steps"] == 256
    again = other.advance()
    assert all(again[name] == second[name] for name in second if not name.startswith("perf/"))
    assert other.progress == learner.progress
    weights = ([np.array(x) for x in jax.tree.leaves(one.player()._params)] for one in (other, learner))
    assert all(np.array_equal(a, b) for a, b in zip(*weights, strict=True))


def test_a_stop_within_a_report_changes_no_bit(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, report_env_steps=600)
    whole, first, second = (DeepTDLearner(config, seed) for seed in (1, 1, 99))
    whole.advance()
    assert whole.progress["env_steps"] == 640
    metrics = first.advance(lambda moves: moves >= 128)
    assert first.progress["env_steps"] == 128
    assert first.within_report
    assert metrics["td/epsilon"] == pytest.approx(0.4)
    first.save(tmp_path)
    second.restore(tmp_path)
    second.advance()
    assert second.progress == whole.progress
    assert not second.within_report
    weights = ([np.array(x) for x in jax.tree.leaves(one.player()._params)] for one in (second, whole))
    assert all(np.array_equal(a, b) for a, b in zip(*weights, strict=True))


@pytest.mark.parametrize("env_steps", [1, 639, 640, 641])
def test_the_planned_updates_are_made(env_steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every chunk of 128 moves has updates, and the last one is whole."""
    config = dataclasses.replace(CONFIG, env_steps=env_steps)
    monkeypatch.setattr(learner_module, "make_learner", lambda _: shared_learner(CONFIG))  # these do not read the key
    learner = DeepTDLearner(config, seed=1)
    while learner.progress["env_steps"] < env_steps:
        learner.advance()
    assert learner.progress["updates"] == config.total_updates


def test_players_of_a_checkpoint(run: Run) -> None:
    """A tree search that visits every move once plays the same games as 1-ply, from the same checkpoint."""
    learner = DeepTDLearner(CONFIG, seed=99)
    learner.restore(run[1])
    one_ply = configured(SearchConfig, simulations=4, considered_actions=4, model="simulator")
    games = learner.player().play(20, seed=5)
    for player in (load_one_ply_player(run[1], CONFIG), load_value_search(run[1], CONFIG, one_ply)):
        same = player.play(20, seed=5)
        np.testing.assert_array_equal(games.score, same.score)
        np.testing.assert_array_equal(games.moves, same.moves)
    with pytest.raises(ValueError, match="q_learning has none; give --search 1ply"):
        load_value_search(run[1], dataclasses.replace(CONFIG, method="q_learning"), one_ply)
    with pytest.raises(ValueError, match="another network or config"):
        load_one_ply_player(run[1], dataclasses.replace(CONFIG, output="scalar"))


@pytest.mark.parametrize("method", ["td_afterstate", pytest.param("q_learning", marks=pytest.mark.slow)])
def test_it_learns_2x2(method: str) -> None:
    """The mean score exceeds 80% of the optimum; random play scores 19.66, greedy play 24.04."""
    config = small_config(
        method,
        rows=2,
        columns=2,
        env_steps=60_000,
        report_env_steps=60_000,
        discount=1.0,
        optimistic_value=60.0 if method == "q_learning" else 0.0,  # it learns the value of a move only by playing it
        num_envs=64,
        chunk=16,
        network=NetworkConfig(blocks=1, width=32, tile_levels=8),
        exploration=EpsilonConfig(0.2, 0.0, 0.5) if method == "q_learning" else EpsilonConfig(),
        replay=ReplayConfig(capacity=64 * 16 * 4, batch_size=128),
        optimizer=OptimizerConfig(learning_rate=3e-3),
    )
    learner = DeepTDLearner(config, seed=0)
    learner.advance()
    games = learner.player().play(500, seed=0)
    assert games.score.mean() > 0.8 * OPTIMUM
