"""Pytrees of arrays on disk, written and read with Orbax.

A checkpoint of a learner has two of them: the parameters, which are all that play needs, and everything else that
training needs to continue to the bit. Each is a flat dictionary of arrays; an array's name is its path in the pytree.
Loading runs no code from the file.
"""

import glob
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from orbax.checkpoint import v1 as ocp

PyTree = Any

PARAMETERS = "parameters"
TRAINING = "training"


def save_pytree(path: Path, tree: PyTree) -> None:
    """Write arrays to a new folder; random keys are written as their words."""
    with _without_wildcards(path.absolute().parent) as parent:
        ocp.save(parent / path.name, _flatten(tree))


@contextmanager
def _without_wildcards(folder: Path) -> Iterator[Path]:
    """Give a folder a path in which no character is a wildcard: Orbax finds the files that it joins by a pattern."""
    if glob.escape(str(folder)) == str(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory() as place:
        link = Path(place, "folder")
        link.symlink_to(folder, target_is_directory=True)
        yield link


def load_pytree(path: Path, like: PyTree) -> PyTree:
    """Read what `save_pytree` wrote into the structure of `like`.

    `like` holds arrays or their shapes. A leaf with a sharding is loaded with that sharding, any other leaf to the
    first device of this process. The numbers of devices and of processes may differ from those that saved.

    Raises:
        ValueError: the folder is missing or damaged, or its arrays are not those of the config; one line names the
            difference.
    """
    first = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    names, shapes = _names(like), jax.eval_shape(_flatten, like)
    expected = {
        name: jax.ShapeDtypeStruct(
            shapes[name].shape, shapes[name].dtype, sharding=getattr(leaf, "sharding", None) or first
        )
        for name, leaf in zip(names, jax.tree.leaves(like), strict=True)
    }
    try:
        saved = ocp.metadata(path.absolute()).metadata
        difference = _difference(saved, expected)
        if not difference:
            loaded = ocp.load(path.absolute(), expected)
    except Exception as error:  # orbax and tensorstore raise many types for one cause: wrong files
        wrong = "does not fit the memory" if "RESOURCE_EXHAUSTED" in str(error) else "is missing or damaged"
        raise ValueError(f"{path} {wrong}: {_first_line(error)}") from error
    if difference:
        raise ValueError(f"{path} was made with another network or config: {difference}")
    leaves, structure = jax.tree.flatten(like)
    restored = [
        jax.random.wrap_key_data(x) if _is_key(leaf) else x
        for leaf, x in zip(leaves, (loaded[name] for name in names), strict=True)
    ]
    return jax.tree.unflatten(structure, restored)


def copy_in_half(source: Path, target: Path) -> None:
    """Write what `save_pytree` wrote with all numbers in half precision; `load_pytree` returns single precision again.

    Raises:
        ValueError: the folder is missing or damaged, or a number is above 65,504, the largest of half precision.
    """
    first = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    try:
        saved = ocp.metadata(source.absolute()).metadata
        like = {name: jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=first) for name, one in saved.items()}
        halves = {name: array.astype(jnp.float16) for name, array in ocp.load(source.absolute(), like).items()}
    except Exception as error:  # see load_pytree
        raise ValueError(f"{source} is missing or damaged: {_first_line(error)}") from error
    if any(jnp.isinf(array).any() for array in halves.values()):
        raise ValueError(f"{source} has numbers above 65,504, too large for half precision; leave out --half")
    save_pytree(target, halves)


def load_network(folder: Path, make: Callable[[], nnx.Module]) -> tuple[nnx.GraphDef[Any], PyTree]:
    """Load structure and parameters of the network of a checkpoint; `make` makes a new one. Errors as `load_pytree`."""
    graphdef, like = nnx.split(nnx.eval_shape(make))
    return graphdef, load_pytree(folder / PARAMETERS, like)


def _is_key(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _names(tree: PyTree) -> list[str]:
    return [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in jax.tree.leaves_with_path(tree)]


def _flatten(tree: PyTree) -> dict[str, Any]:
    leaves = [jax.random.key_data(x) if _is_key(x) else x for x in jax.tree.leaves(tree)]
    return dict(zip(_names(tree), leaves, strict=True))


def _difference(saved: dict[str, Any], expected: dict[str, jax.ShapeDtypeStruct]) -> str:
    """Describe the first array that differs; empty if none does."""
    for name in sorted(saved.keys() | expected.keys()):
        shapes = [tuple(arrays[name].shape) if name in arrays else "none" for arrays in (saved, expected)]
        if shapes[0] != shapes[1]:
            return f"array {name} is {shapes[0]}, expected {shapes[1]}"
    return ""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
