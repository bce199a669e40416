"""Settings for the whole suite. Those of JAX are set in the environment: tests which need no JAX do not load it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
# Compiled programs outlive the process: a second run of the suite spends its time in tests.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
# Tests compile many programs and compute little: with these flags XLA compiles a round of training in 5 s, not 24.
FLAGS = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
)
os.environ.setdefault("XLA_FLAGS", " ".join(FLAGS))

# The same examples in every run, and no limit of time for the first one, which compiles.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers of a test, the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """Drop what a file of tests compiled: a process may hold 65,530 memory maps, and beyond them XLA crashes."""
    yield
    if "jax" in sys.modules:
        if "muzero2048.players.player" in sys.modules:
            player = sys.modules["muzero2048.players.player"]
            player._make_play.cache_clear()
            player._make_analyse.cache_clear()
        sys.modules["jax"].clear_caches()
