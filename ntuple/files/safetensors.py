"""Safetensors files of any size: they are written part by part and read as memory maps.

The library's own writer needs all bytes of a file in memory at once, and its reader copies them. Here a network of
16 GB is saved and read with the memory of one of its stages. The format is the library's, which checks each file that
is read. It is plain data: loading a file cannot run code.
"""

import json
import mmap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from ntuple.core.atomic_files import whole_file

METADATA = "__metadata__"  # key of the header's own texts, among the names of tensors
LENGTH_BYTES = 8  # of the number that says how long the header is
ALIGNMENT = 8  # of the tensors in the file, in bytes
# Types of numbers by their names in the format.
TYPES = {"BOOL": np.dtype(bool)} | {
    f"{kind.upper()}{8 * size}": np.dtype(f"{kind}{size}")
    for kind, sizes in (("f", (2, 4, 8)), ("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8)))
    for size in sizes
}
NAMES = {dtype: name for name, dtype in TYPES.items()}
BLOCK = 1 << 18  # numbers at a time: 1 MB of float32, which stays in the cache

Array = NDArray[Any]
Tensors = dict[str, NDArray[np.generic]]


class Parts(NamedTuple):
    """A tensor of one dimension whose parts are made one after the other while it is written."""

    dtype: np.dtype[Any]
    size: int  # numbers of all parts
    parts: Iterable[Array]

    @property
    def shape(self) -> tuple[int]:
        """Shape of the whole tensor."""
        return (self.size,)


def write_safetensors(path: Path, tensors: Mapping[str, Array | Parts], header: dict[str, str]) -> None:
    """Write a safetensors file. Blocks of zeros take no room on file systems that can leave holes in files.

    Raises:
        OSError: the file cannot be written; no partial file remains.
        ValueError: a tensor in parts has another size than it says.
    """
    ordered = sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize)  # so that each one is aligned
    entries: dict[str, Any] = {METADATA: header}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.size * tensor.dtype.itemsize
        entries[name] = {"dtype": NAMES[tensor.dtype], "shape": tensor.shape, "data_offsets": [begin, end]}
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
        for _, tensor in ordered:
            begin = file.tell()
            for part in tensor.parts if isinstance(tensor, Parts) else [tensor]:
                _write(file, part)
                del part  # else it would be in memory while the next one is made
            if file.tell() - begin != tensor.size * tensor.dtype.itemsize:
                raise ValueError(f"{path}: the parts of a tensor are not {tensor.size:,} numbers of {tensor.dtype}")
        file.truncate(file.tell())  # it may end with a hole


def map_safetensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Map the tensors of a file into memory. A page is read when it is used; changes stay in the memory of the process.

    Args:
        path: the file. It may be replaced or deleted while its arrays are in use, but not changed in place.

    Returns:
        The arrays by name, writable, and the metadata of the file. Tensors of types that numpy lacks are left out.

    Raises:
        OSError: the file cannot be read.
        SafetensorError: it is damaged, or of another format.
    """
    with safe_open(path, "numpy"):  # it checks the header, and the lengths of the file and of its tensors
        pass
    with path.open("rb") as file:
        begin = LENGTH_BYTES + int.from_bytes(file.read(LENGTH_BYTES), "little")
        entries = json.loads(file.read(begin - LENGTH_BYTES))
        # Copy on write, because the kernels are compiled for writable arrays.
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    metadata = entries.pop(METADATA, None) or {}
    tensors: Tensors = {}
    for name, entry in entries.items():
        if dtype := TYPES.get(entry["dtype"]):
            array: Array = np.ndarray(entry["shape"], dtype, memory, begin + entry["data_offsets"][0])
            tensors[name] = np.require(array, requirements="A")  # of another writer, who did not align it
    return tensors, metadata


class ForeignFileError(ValueError):
    """A file that is whole, but another one than wanted; the message names the file and says what to do."""


@contextmanager
def naming_damage(path: Path, remedy: str) -> Iterator[None]:
    """Turn what goes wrong while a file is read and checked into one ValueError that names it.

    A ForeignFileError stays as it is.

    Args:
        remedy: what the user can do, used in the message.
    """
    try:
        yield
    except ForeignFileError:
        raise
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: missing or damaged, {remedy} ({error})") from error


def check_format(path: Path, header: Mapping[str, str], wanted: str, foreign: str, outdated: str) -> None:
    """Check the entry `format` of a file's metadata: a kind, a space, and a version.

    Args:
        foreign: what a file of another kind is, and what to do, used in the message.
        outdated: the same of another version.

    Raises:
        ForeignFileError: it is not the wanted one.
    """
    found = header.get("format", "")
    if not found.startswith(wanted.rpartition(" ")[0]):
        raise ForeignFileError(f"{path}: {foreign}")
    if found != wanted:
        raise ForeignFileError(f"{path}: {outdated}")


def check_finite(values: NDArray[np.generic], place: str, remedy: str) -> None:
    """Check that all numbers are finite.

    Training produces finite numbers only, and players read -inf as "this move is not legal".

    Args:
        place: the file and the name of the array, used in the message.
        remedy: what the user can do, used in the message.

    Raises:
        ValueError: numbers are infinite or NaN; the message gives their count.
    """
    if not np.issubdtype(values.dtype, np.floating):
        return
    count = sum(block.size - int(np.count_nonzero(np.isfinite(block))) for block in _blocks(values))
    if count:
        raise ValueError(f"{place} has {count:,} of {values.size:,} numbers that are infinite or NaN: {remedy}")


def _write(file: BinaryIO, values: Array) -> None:
    """Append the bytes of an array; where a block has no bit that is set, leave a hole."""
    for block in _blocks(np.ascontiguousarray(values)):
        if block.view(np.uint8).any():
            file.write(block.data)
        else:
            file.seek(block.nbytes, 1)


def _blocks(values: Array) -> Iterable[Array]:
    flat = values.reshape(-1)
    return (flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK))
