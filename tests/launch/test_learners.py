import pytest

from launch import learners
from launch.errors import UserError


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UserError, match=r"there is no learner 'sarsa'; give one of: ntuple, muzero"):
        learners.entry("sarsa")


def test_jax_gets_a_cache_unless_the_user_chose_one(monkeypatch):
    jax_toy = learners.LEARNERS["toy"]._replace(uses_jax=True)
    monkeypatch.setitem(learners.LEARNERS, "toy", jax_toy)
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    learners.config_class("toy")
    assert learners.os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    learners.config_class("toy")
    assert learners.os.environ["JAX_COMPILATION_CACHE_DIR"] == "caches/muzero2048/jax"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
