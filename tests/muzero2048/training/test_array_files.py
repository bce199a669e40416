"""Tests of pytrees on disk; those of whole checkpoints are in muzero/test_learner.py."""

from pathlib import Path

import jax
import numpy as np
import pytest

from muzero2048.training.array_files import load_pytree, save_pytree


@pytest.mark.parametrize("folder", ["runs", "runs [2]", "what*?", "a [b", "ä ö"])
def test_a_pytree_comes_back_from_any_folder(folder: str, tmp_path: Path) -> None:
    tree = {"weights": np.arange(6.0, dtype=np.float32).reshape(2, 3), "key": jax.random.key(4)}
    parent = tmp_path / folder
    parent.mkdir()
    save_pytree(parent / "parameters", tree)
    assert [path.name for path in parent.iterdir()] == ["parameters"]
    loaded = load_pytree(parent / "parameters", tree)
    np.testing.assert_array_equal(loaded["weights"], tree["weights"])
    assert (jax.random.key_data(loaded["key"]) == jax.random.key_data(tree["key"])).all()
