"""Files of TDL2048+: bytes composed by hand, and the files in golden/tdl2048, which TDL2048+ wrote."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from ntuple import NTuplePlayer, make_rules
from ntuple.files.tdl import FileTable, WeightFile, make_name, read_w, stage_and_pattern, table_title, write_w
from ntuple.tables.file_order import write_field
from ntuple.tables.network import make_network


def _table(digits: int, width: int, weights: bytes, size: int, length: int, more: bytes = b"") -> bytes:
    head = struct.pack("<BIHH", 4, digits, width, 0) + struct.pack("<HQ", size, length)
    return head + weights + more + struct.pack("<H", 0)


WEIGHTS = np.arange(256, dtype=np.float32)
COHERENCE = np.concatenate([-WEIGHTS, WEIGHTS + 1])
ONE = b"\0" + struct.pack("<I", 1) + _table(0x04, 2, WEIGHTS.tobytes(), 4, 256)
TC = struct.pack("<HQ", 4, 512) + COHERENCE.tobytes()
UNKNOWN = struct.pack("<HQ", 3, 2) + b"abcdef"
FILES = {
    "one table": ONE,
    "with its type": b"w" + ONE,
    "half": b"\0" + struct.pack("<I", 1) + _table(0x04, 2, WEIGHTS.astype("<f2").tobytes(), 2, 256),
    "double": b"\0" + struct.pack("<I", 1) + _table(0x04, 2, WEIGHTS.astype("<f8").tobytes(), 8, 256),
    "TC, an unknown block, two tables": b"\0"
    + struct.pack("<I", 2)
    + _table(0x04, 2, WEIGHTS.tobytes(), 4, 256, TC + UNKNOWN)
    + _table(0x56, 2, WEIGHTS.tobytes(), 4, 256, TC),
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_what_is_read_is_written_byte_by_byte(tmp_path: Path, content: bytes) -> None:
    path, again = tmp_path / "a.w", tmp_path / "b.w"
    path.write_bytes(content)
    file = read_w(path)
    write_w(again, file)
    assert again.read_bytes() == content
    for table in file.tables:
        np.testing.assert_array_equal(table.blocks[0].astype(np.float32), WEIGHTS)
    if len(file.tables) == 2:
        np.testing.assert_array_equal(file.tables[0].blocks[1], COHERENCE)
        assert [stage_and_pattern(table) for table in file.tables] == [(0, (0, 4)), (0, (5, 6))]


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cut.w"
    for size in {0, 1, 3, 5, 9, 20, 30, len(content) // 2, len(content) - 3, len(content) - 1}:
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"cut\.w: ") as caught:
            read_w(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\1" + ONE[1:], "not a .w file"),
        (b"\0" + struct.pack("<I", 0), "not a .w file"),
        (ONE + b"more", "4 bytes follow the last table"),
        (b"\0" + struct.pack("<I", 1) + b"\5" + ONE[6:], "should begin a table with 4, not 5"),
        (b"\0" + struct.pack("<I", 1) + ONE[5:14] + b"\0\0", "has no weights"),
    ],
)
def test_other_files_are_refused_with_the_reason(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "other.w"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        read_w(path)
    with pytest.raises(ValueError, match=r"name a \.w file"):
        read_w(tmp_path / "none.w")


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nan.w"
    for where, count, table in ((0, 2, "04"), (3, 1, "56")):
        tables = [list(_blocks()) for _ in range(2)]
        tables[where > 0][where > 0][:count] = np.nan
        names = make_name((0, 4), 0, 1), make_name((5, 6), 0, 1)
        file = WeightFile(tuple(map(FileTable, names, map(tuple, tables))), has_type_byte=False)
        write_w(path, file)
        with pytest.raises(ValueError, match=rf"nan\.w: table '{table}' has {count} of (256|512) numbers"):
            read_w(path)


def _blocks() -> tuple[np.ndarray, np.ndarray]:
    return WEIGHTS.copy(), COHERENCE.copy()


GOLDEN = Path(__file__).parents[2] / "golden" / "tdl2048"


@pytest.mark.slow
def test_its_weights_play_here_as_they_play_there() -> None:
    """The mean score equals that of TDL2048+.

    It would be lower if the cells, their order or the symmetries were read in another way.
    """
    tables = read_w(GOLDEN / "tc.w").tables
    network = make_network("15,012", 4, 4, 0.0)
    write_field(network, np.concatenate([table.blocks[0] for table in tables]))
    games = NTuplePlayer(make_rules(4, 4), network, 2).play(20_000, seed=1)
    theirs = re.search(r"avg=(\d+)", (GOLDEN / "scores.txt").read_text())
    assert theirs
    error = games.score.std() * (2 / 20_000) ** 0.5  # both scores are means over 20,000 games
    assert games.score.mean() == pytest.approx(float(theirs[1]), abs=4 * error)


def _named(name: bytes, size: int) -> FileTable:
    return FileTable(name, (np.zeros(size, np.float32),))


@pytest.mark.parametrize(
    ("pattern", "stage", "stages", "title"),
    [
        ((0, 1, 2, 3, 4, 5), 0, 1, "012345"),
        ((4, 5, 6, 8, 9, 10), 0, 1, "45689a"),
        ((0, 1, 2, 3), 0, 2, "00000123"),  # the names that TDL2048+ wrote for 2x4patt@2
        ((4, 5, 6, 7), 1, 2, "10004567"),
        ((0, 1, 2, 3, 4, 5), 18, 32, "21012345"),
        ((0, 1, 2, 3, 4, 5, 6, 7), 0, 1, "01234567"),
    ],
)
def test_names_hold_cells_and_stage(pattern: tuple[int, ...], stage: int, stages: int, title: str) -> None:
    table = _named(make_name(pattern, stage, stages), 16 ** min(len(pattern), 4) if len(pattern) == 4 else 1)
    assert table_title(table) == title
    if len(pattern) == 4:
        assert stage_and_pattern(table) == (stage, pattern)


def test_names_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ValueError, match="stage 1 of a tuple of 8 cells"):
        make_name(tuple(range(8)), 1, 2)
    with pytest.raises(ValueError, match="'mono' is not one of a tuple"):
        stage_and_pattern(_named(b"mono    ", 256))
    with pytest.raises(ValueError, match="is not 16 to the number"):
        stage_and_pattern(_named(make_name((0, 4), 0, 1), 257))
    assert WeightFile((), has_type_byte=True).has_type_byte
