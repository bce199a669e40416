"""Files of solved games: safetensors with the settings as JSON in the header.

A file is mapped into memory, so processes that read the same file share it. Its SHA-256 is checked when it is opened,
since a changed bit would be a wrong value without any error. The file holds no values of afterstates, because they
follow from the values of the states.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.opponents import OPPONENTS
from ntuple.exact.positions import LEVELS, rules_of
from ntuple.exact.solver import Solved, Values
from ntuple.files.safetensors import check_finite, check_format, map_safetensors, naming_damage, write_safetensors

FORMAT = "muzero2048 solution 4"
TYPES: dict[str, Any] = {  # types of the arrays in a file; `reach` is present only if the game was solved for a tile
    "states": np.uint64,
    "state_starts": np.int64,
    "afters": np.uint64,
    "after_starts": np.int64,
    "expected": np.float64,  # in float32, moves of equal value would differ by a thousandth of a point
    "best": np.int32,
    "worst": np.int32,
    "reach": np.float64,
}


class GameSettings(NamedTuple):
    """The settings of a solved game; see `ntuple.exact.solver.solve`."""

    rows: int
    columns: int
    until: int
    tile: int
    game: str
    opponent: str = "chance"  # files of games by chance need not name it


def write_solution(path: Path, settings: GameSettings, solved: Solved) -> None:
    """Write a solved game.

    Raises:
        OSError: the file cannot be written.
    """
    tensors = solved._asdict() | solved.values._asdict()
    del tensors["values"]
    if settings.tile > LEVELS:
        del tensors["reach"]
    about = json.dumps(settings._asdict())
    write_safetensors(path, tensors, {"format": FORMAT, "settings": about, "sha256": digest_of(about, tensors)})


def read_solution(path: Path) -> tuple[GameSettings, Solved]:
    """Map a file that `write_solution` wrote into memory.

    Raises:
        ValueError: the file is missing, damaged, or of another kind.
    """
    with naming_damage(path, "solve the game again"):
        mapped, header = map_safetensors(path)
        foreign = "not a solved game: name a file that `muzero2048 solve --out` wrote"
        check_format(path, header, FORMAT, foreign, "saved by another version: solve the game again")
        settings = GameSettings(**json.loads(header["settings"]))
        if not all(type(value) is int for value in settings[:4]):
            raise ValueError(f"the settings are {settings}")
        rules_of(settings.game, settings.rows, settings.columns)
        if settings.opponent not in OPPONENTS:
            raise ValueError(f"there is no opponent {settings.opponent!r}")
        tensors = {name: _typed(mapped[name], name) for name in TYPES if name in mapped}
        solved = _checked(dict(tensors), settings)
        if digest_of(header["settings"], tensors) != header["sha256"]:
            raise ValueError("it was changed after saving")
    return settings, solved


def digest_of(settings: str, tensors: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of the settings and of all arrays in the order of TYPES, in hex digits."""
    digest = hashlib.sha256(settings.encode())
    for name in TYPES:
        if name in tensors:
            digest.update(f"{name}{tensors[name].size}".encode())
            digest.update(np.ascontiguousarray(tensors[name]).data)
    return digest.hexdigest()


def _typed(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the array of a file; ValueError if it has not the type of TYPES or not one dimension."""
    if array.dtype != TYPES[name] or array.ndim != 1:
        raise ValueError(f"{name} should be {np.dtype(TYPES[name])}[N], found {array.dtype}{list(array.shape)}")
    return array


def _checked(tensors: dict[str, NDArray[Any]], settings: GameSettings) -> Solved:
    """Check the arrays of a file and return them in the form that `solve` returns."""
    size = tensors["states"].size
    if settings.tile > LEVELS:
        tensors["reach"] = np.zeros(size)
    for name in Values._fields:
        if tensors[name].size != size:
            raise ValueError(f"{name} has {tensors[name].size} entries for {size} states")
        check_finite(tensors[name], name, "no solution has them")
    for name, of in (("state_starts", "states"), ("after_starts", "afters")):
        starts = tensors[name]
        if starts.size < 2 or starts[0] != 0 or starts[-1] != tensors[of].size or (np.diff(starts) < 0).any():
            raise ValueError(f"{name} does not divide the {of}")
    values = Values(tensors["expected"], tensors["best"], tensors["worst"], tensors["reach"])
    starts, after_starts = tensors["state_starts"], tensors["after_starts"]
    return Solved(tensors["states"], starts, tensors["afters"], after_starts, values)
