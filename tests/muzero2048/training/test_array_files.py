"""Tests of pytrees on disk; those of whole checkpoints are in muzero/test_learner.py."""

from pathlib import Path

import jax
import numpy as np
import pytest

from muzero2048.training.array_files import copy_in_half, load_pytree, save_pytree


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


def test_half_precision_is_read_as_single_precision(tmp_path: Path) -> None:
    tree = {"layer": {"weights": np.array([1 / 3, 65_504.0, -(2.0**-14)], np.float32)}}
    save_pytree(tmp_path / "single", tree)
    copy_in_half(tmp_path / "single", tmp_path / "half")
    loaded = load_pytree(tmp_path / "half", tree)["layer"]["weights"]
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded, [0.333251953125, 65_504.0, -(2.0**-14)])


def test_what_has_no_half_precision_is_refused(tmp_path: Path) -> None:
    save_pytree(tmp_path / "single", {"weights": np.array([65_520.0], np.float32)})
    with pytest.raises(ValueError, match=r"numbers above 65,504, too large for half precision; leave out --half$"):
        copy_in_half(tmp_path / "single", tmp_path / "half")
    with pytest.raises(ValueError, match="nothing is missing or damaged"):
        copy_in_half(tmp_path / "nothing", tmp_path / "half")
    assert not (tmp_path / "half").exists()
