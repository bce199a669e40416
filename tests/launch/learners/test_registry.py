import pytest
from flax import nnx

import ntuple
from launch.errors import UserError
from launch.learners import registry
from launch.learners.interfaces import Player
from muzero2048.deep_td.player import OnePlySetting
from muzero2048.game.env import Game2048
from muzero2048.players.ntuple_player import NTupleSetting
from muzero2048.players.player import SearchPlayer
from muzero2048.search.config import SearchConfig


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UserError, match=r"there is no learner 'sarsa'; give one of: ntuple, muzero"):
        registry.entry("sarsa")


def test_jax_gets_a_cache_unless_the_user_chose_one(monkeypatch):
    jax_toy = registry.LEARNERS["toy"]._replace(uses_jax=True)
    monkeypatch.setitem(registry.LEARNERS, "toy", jax_toy)
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    registry.config_class("toy")
    assert registry.os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    registry.config_class("toy")
    assert registry.os.environ["JAX_COMPILATION_CACHE_DIR"] == "caches/muzero2048/jax"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")


def test_every_player_gives_analysis():
    rules, game = ntuple.make_rules(2, 2), Game2048(2, 2)
    network = ntuple.NTupleLearner(ntuple.NTupleConfig(rows=2, columns=2, network="0123", threads=1), 0)
    by_search = NTupleSetting(game, SearchConfig(), 1.0, ((0, 1, 2, 3),))
    by_values = OnePlySetting(game, 1.0, nnx.split(nnx.Module())[0])
    players = {
        network.player(): "ply",
        ntuple.RandomPlayer(rules, 1): "ply",
        ntuple.GreedyPlayer(rules, 1): "ply",
        SearchPlayer(by_search, None): "visits",
        SearchPlayer(by_values, None): "ply",
    }
    for player, unit in players.items():
        assert isinstance(player, Player)
        assert player.effort_unit == unit
