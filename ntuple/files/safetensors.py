"""Files of a checkpoint: safetensors, the configuration as JSON in the header.

weights.safetensors holds V alone, all that playing needs; training.safetensors holds the rest of a learner.
safetensors is plain data: loading a file cannot run code. Files appear whole or not at all.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ntuple.learning.config import NTupleConfig
from ntuple.lists import list_text

FORMAT = "muzero2048 n-tuple network 1"
# What two configs must share for one's weights to serve the other.
SHAPE_KEYS = ("rows", "columns", "network", "symmetry", "values", "stages")

BLOCK = 1 << 18  # numbers looked at in one go: 1 MB of float32, which stays in the cache

Tensors = dict[str, NDArray[np.generic]]


def shape_of(config: NTupleConfig) -> dict[str, Any]:
    """The part of a config that says which weights there are."""
    return {key: getattr(config, key) for key in SHAPE_KEYS}


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the keys of SHAPE_KEYS in which two configs differ, with both values.

    Lists are compared as text, because files of earlier versions hold text.
    """
    texts = [(key, list_text(one[key]), list_text(other[key])) for key in SHAPE_KEYS]
    return [(key, mine, theirs) for key, mine, theirs in texts if mine != theirs]


def save_tensors(path: Path, tensors: Tensors, config: NTupleConfig) -> None:
    """Write the tensors of a learner or a network."""
    write_safetensors(path, tensors, {"format": FORMAT, "config": json.dumps(asdict(config))})


def write_safetensors(path: Path, tensors: Tensors, header: dict[str, str]) -> None:
    """Write a file under a temporary name, flush it to the disk, and rename it.

    Raises:
        OSError: the file cannot be written; nothing is left of it.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        save_file(tensors, temporary, header)
        _sync(temporary)
        temporary.rename(path)
    except SafetensorError as error:
        raise OSError(str(error)) from error
    finally:
        temporary.unlink(missing_ok=True)
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Force a file or the entries of a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def load_tensors(path: Path, config: NTupleConfig) -> Tensors:
    """Read all tensors of a file that `save_tensors` wrote for the same board and network.

    Raises:
        ValueError: the file is missing, damaged, of another format, or of another board or network, or has numbers
            that are not finite.
    """
    try:
        with safe_open(path, "numpy") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise ValueError(f"{path}: not a file of this n-tuple learner: name a checkpoint that it saved")
            for key, saved, wanted in differences(json.loads(header["config"]), shape_of(config)):
                raise ValueError(f"{path}: saved with {key} = {saved!r}, but the config says {wanted!r}")
            tensors: Tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        # TypeError: JSON, but not an object
        raise ValueError(f"{path}: missing or damaged, use an earlier checkpoint ({error})") from error
    for name, tensor in tensors.items():
        check_finite(tensor, f"{path}: {name}", "use an earlier checkpoint")
    return tensors


def saved_promotion(path: Path) -> Any:
    """The promotion of the weights in a file that `load_tensors` has read: "none" if they were written out."""
    with safe_open(path, "numpy") as file:
        return json.loads(file.metadata()["config"])["promotion"]


def check_finite(values: NDArray[np.generic], place: str, remedy: str) -> None:
    """Refuse numbers that no training leaves behind, which players would take for moves that are not legal.

    Args:
        values: an array of any type; integers are always finite.
        place: the file and the name of the array, for the message.
        remedy: what the user can do, for the message.

    Raises:
        ValueError: some are infinite or NaN; the line says how many.
    """
    if not np.issubdtype(values.dtype, np.floating):
        return
    flat: NDArray[Any] = values.reshape(-1)
    blocks = (flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK))
    count = sum(block.size - int(np.count_nonzero(np.isfinite(block))) for block in blocks)
    if count:
        raise ValueError(f"{place} has {count:,} of {flat.size:,} numbers that are infinite or NaN: {remedy}")


def take(tensors: Tensors, name: str, shape: tuple[int, ...], dtype: DTypeLike, path: Path) -> NDArray[np.generic]:
    """The tensor of a name.

    Raises:
        ValueError: the tensor is not there or differs in shape or type.
    """
    tensor = tensors.get(name)
    if tensor is None or tensor.shape != shape or tensor.dtype != dtype:
        found = "nothing" if tensor is None else f"{tensor.dtype}{list(tensor.shape)}"
        raise ValueError(f"{path}: {name} should be {np.dtype(dtype)}{list(shape)}, found {found}")
    return tensor


def fill(array: NDArray[np.generic], tensors: Tensors, name: str, path: Path) -> None:
    """Copy a tensor into an array of the same shape and type.

    Raises:
        ValueError: see `take`.
    """
    array[...] = take(tensors, name, array.shape, array.dtype, path)
