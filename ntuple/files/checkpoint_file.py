"""Files of a checkpoint: safetensors with the configuration as JSON in the header.

weights.safetensors holds V alone, which is all that play needs. training.safetensors holds the rest of a learner.
A file exists complete or not at all (`whole_file`).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ntuple.core.settings import from_plain, list_text
from ntuple.files.safetensors import (
    Array,
    ForeignFileError,
    Parts,
    Tensors,
    check_finite,
    map_safetensors,
    naming_damage,
    write_safetensors,
)
from ntuple.learning.config import NTupleConfig

FORMAT = "muzero2048 n-tuple network 1"
# Keys that must be equal in two configs if the weights of one are to be loaded with the other.
SHAPE_KEYS = ("game", "rows", "columns", "levels", "hint", "places", "network", "symmetry", "values", "stages")


def shape_of(config: NTupleConfig) -> dict[str, Any]:
    """Return the part of a config that determines the number and order of the weights: the values of SHAPE_KEYS."""
    return {key: getattr(config, key) for key in SHAPE_KEYS}


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the keys of SHAPE_KEYS in which two configs differ, with both values as texts."""
    one = {**shape_of(NTupleConfig()), **one}  # a file from before a key has its default
    texts = [(key, list_text(one[key]), list_text(other[key])) for key in SHAPE_KEYS]
    return [(key, mine, theirs) for key, mine, theirs in texts if mine != theirs]


def save_tensors(path: Path, tensors: Mapping[str, Array | Parts], config: NTupleConfig) -> None:
    """Write the tensors of a learner or a network."""
    write_safetensors(path, tensors, {"format": FORMAT, "config": json.dumps(asdict(config))})


def load_tensors(path: Path, config: NTupleConfig) -> tuple[Tensors, NTupleConfig]:
    """Map all tensors of a file that `save_tensors` wrote for the same board and network (`map_safetensors`).

    Returns:
        The tensors, and the config with the file's `promotion`: "none" if promoted weights were written out.

    Raises:
        ValueError: the file is missing or damaged, has another format, is for another board or network, or has
            numbers that are not finite.
    """
    with naming_damage(path, "use an earlier checkpoint"):
        tensors, header = map_safetensors(path)
        if header.get("format") != FORMAT:
            raise ForeignFileError(f"{path}: not a file of this n-tuple learner: name a checkpoint that it saved")
        written = json.loads(header["config"])
        for key, saved, wanted in differences(written, shape_of(config)):
            raise ForeignFileError(f"{path}: saved with {key} = {saved!r}, but the config says {wanted!r}")
        config = replace(config, promotion=written["promotion"])
    for name, tensor in tensors.items():
        check_finite(tensor, f"{path}: {name}", "use an earlier checkpoint")
    return tensors, config


def read_config(path: Path) -> NTupleConfig:
    """Return the config that `save_tensors` wrote into a file; ValueError as of `load_tensors`."""
    with naming_damage(path, "use an earlier checkpoint"):
        return from_plain(NTupleConfig, json.loads(map_safetensors(path)[1]["config"]))


def take(tensors: Tensors, name: str, shape: tuple[int, ...], dtype: DTypeLike, path: Path) -> NDArray[np.generic]:
    """Return the tensor of a name.

    Raises:
        ValueError: the tensor is missing or differs in shape or type.
    """
    tensor = tensors.get(name)
    if tensor is None or tensor.shape != shape or tensor.dtype != dtype:
        actual = "nothing" if tensor is None else f"{tensor.dtype}{list(tensor.shape)}"
        raise ValueError(f"{path}: {name} should be {np.dtype(dtype)}{list(shape)}, found {actual}")
    return tensor


def fill(array: NDArray[np.generic], tensors: Tensors, name: str, path: Path) -> None:
    """Copy a tensor into an array of the same shape and type."""
    array[...] = take(tensors, name, array.shape, array.dtype, path)
