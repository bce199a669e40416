from importlib import import_module

import pytest
import toy

from launch.experiment import registry
from ntuple.core.learner_spec import EXPECTIMAX, MCTS, ONE_PLY, TREE
from ntuple.core.settings import keys_of


@pytest.mark.parametrize("name", ["ntuple", "muzero", "deep_td", "toy"])
def test_all_that_a_spec_names_is_there(name):
    spec = registry.spec_of(name)
    for reference in filter(None, (spec.config, spec.learner, *spec.players.values(), spec.begin_from)):
        module, attribute = reference.split(":")
        assert callable(getattr(import_module(module), attribute))
    assert spec.players.keys() <= {ONE_PLY, EXPECTIMAX, MCTS, TREE}
    if spec.start_key:
        defaults = {key.name: key.default for key in keys_of(registry.config_class(name), "")}
        assert defaults[spec.start_key] == "normal"


def test_jax_gets_a_cache_unless_the_user_chose_one(monkeypatch):
    monkeypatch.setattr(toy, "SPEC", toy.SPEC._replace(uses_jax=True))
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    registry.config_class("toy")
    assert registry.os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    registry.config_class("toy")
    assert registry.os.environ["JAX_COMPILATION_CACHE_DIR"] == "caches/muzero2048/jax"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
