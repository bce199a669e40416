"""Files are those of the safetensors library: it reads what is written here, and what it writes is read here."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from ntuple.files.safetensors import BLOCK, NAMES, Parts, map_safetensors, write_safetensors

HEADER = {"format": "a format", "config": '{"rows": 4}'}


def _some_tensors() -> dict[str, np.ndarray]:
    """Return one array of each type and several shapes; small types come first, so that order matters."""
    rng = np.random.default_rng(1)
    shapes = [(3,), (2, 5), (0,), (), (1, 0, 2), (7,)]
    types = sorted(NAMES, key=lambda dtype: dtype.itemsize)
    return {
        f"tensor {k}": np.asarray(200 * rng.standard_normal(shapes[k % len(shapes)])).astype(np.int8).astype(dtype)
        for k, dtype in enumerate(types)
    }


def _equal(found: dict, expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_the_library_reads_what_is_written(tmp_path: Path) -> None:
    tensors, path = _some_tensors(), tmp_path / "a.safetensors"
    write_safetensors(path, tensors, HEADER)
    _equal(load_file(path), tensors)
    with safe_open(path, "numpy") as file:
        assert file.metadata() == HEADER
    mapped, header = map_safetensors(path)
    _equal(mapped, tensors)
    assert header == HEADER
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:begin])
    for name, array in tensors.items():  # each one is aligned
        assert (begin + entries[name]["data_offsets"][0]) % array.dtype.itemsize == 0


def test_what_the_library_writes_is_mapped(tmp_path: Path) -> None:
    tensors, path = _some_tensors(), tmp_path / "a.safetensors"
    save_file(tensors, path, HEADER)
    mapped, header = map_safetensors(path)
    _equal(mapped, tensors)
    assert header == HEADER
    save_file(tensors, path)
    assert map_safetensors(path)[1] == {}


def test_a_tensor_in_parts_is_the_whole_tensor(tmp_path: Path) -> None:
    whole = np.random.default_rng(2).standard_normal(2 * BLOCK + 5).astype(np.float32)
    parts = (part for part in np.split(whole, [7, BLOCK + 1]))
    write_safetensors(tmp_path / "a", {"last": np.array([3]), "whole": Parts(whole.dtype, whole.size, parts)}, {})
    _equal(load_file(tmp_path / "a"), {"last": np.array([3]), "whole": whole})


@pytest.mark.parametrize("place", ["first", "middle", "last", "none"])
def test_zeros_take_no_room_and_no_bit_is_lost(tmp_path: Path, place: str) -> None:
    values = np.zeros(64 * BLOCK, np.float32)
    if place != "none":
        values[{"first": 0, "middle": 9 * BLOCK, "last": -1}[place]] = -0.0
    write_safetensors(tmp_path / "a", {"values": values}, HEADER)
    found = load_file(tmp_path / "a")["values"]
    assert found.tobytes() == values.tobytes()
    assert 512 * (tmp_path / "a").stat().st_blocks < values.nbytes / 10


def test_one_part_is_in_memory_at_a_time(tmp_path: Path) -> None:
    size, count = 4 * BLOCK, 8
    parts = (np.full(size, number, np.float32) for number in range(count))
    tracemalloc.start()
    write_safetensors(tmp_path / "a", {"values": Parts(np.dtype(np.float32), count * size, parts)}, {})
    mapped, _ = map_safetensors(tmp_path / "a")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.2 * 4 * size
    assert mapped["values"][::size].tolist() == list(range(count))


def test_changes_of_a_mapped_array_stay_in_memory(tmp_path: Path) -> None:
    path, values = tmp_path / "a", np.arange(10, dtype=np.float32)
    write_safetensors(path, {"values": values}, {})
    mapped = map_safetensors(path)[0]["values"]
    mapped[3] = 99
    _equal(load_file(path), {"values": values})
    write_safetensors(path, {"values": values + 1}, {})  # replaced while it is in use
    path.unlink()
    assert mapped.tolist() == [0, 1, 2, 99, 4, 5, 6, 7, 8, 9]


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path) -> None:
    def parts():
        yield np.ones(3, np.float32)
        raise OSError("disk full")

    write_safetensors(tmp_path / "a", {"values": np.ones(2)}, {})
    with pytest.raises(OSError, match="disk full"):
        write_safetensors(tmp_path / "a", {"values": Parts(np.dtype(np.float32), 6, parts())}, {})
    _equal(load_file(tmp_path / "a"), {"values": np.ones(2)})
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_type_that_numpy_lacks(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_safetensors(path, {"values": np.ones(2, np.float16), "others": np.ones(3)}, HEADER)
    path.write_bytes(path.read_bytes().replace(b'"dtype": "F16"', b'"dtype":"BF16"'))
    mapped, header = map_safetensors(path)
    _equal(mapped, {"others": np.ones(3)})
    assert header == HEADER


def test_parts_of_another_size_are_refused(tmp_path: Path) -> None:
    for size in (2, 4):
        with pytest.raises(ValueError, match=f"not {size} numbers of float64"):
            write_safetensors(tmp_path / "a", {"values": Parts(np.dtype(float), size, [np.ones(2), np.ones(1)])}, {})
    assert list(tmp_path.iterdir()) == []
