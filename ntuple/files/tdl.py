"""Read and write files of TDL2048+ (`.w`).

A file that is read and written again is the same to the byte. The format is little-endian, without padding or checksum:

    file   [u8 'w']  u8 0  u32 number of tables  tables
    table  u8 4  8 bytes of name  blocks  u16 0
    block  u16 bytes of an element  u64 number of elements  elements

- A name is (u32 hex digits, u16 number of digits, u16 0), or 8 ASCII characters.
- The digits are the cells of a tuple, the first cell in the highest digit. In a network of several stages there are 8
  digits, and the highest ones hold the number of the stage, its lowest digit first.
- The first block holds the L = 16^n weights in half, single or double precision. Their index is that of
  ntuple/tables/patterns.py: the first cell is the lowest nibble.
- The second block, of a network trained by TC, holds 2 L numbers: all E, then all A.
"""

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.atomic_files import whole_file
from ntuple.files.safetensors import check_finite
from ntuple.tables.patterns import Pattern, pattern_text

TYPE_BYTE = b"w"  # first byte of the files that TDL2048+ writes; files of other origin may lack it
FILE_CODE, TABLE_CODE = 0, 4
FLOATS: dict[int, np.dtype[np.generic]] = {2: np.dtype("<f2"), 4: np.dtype("<f4"), 8: np.dtype("<f8")}
MOST_TABLES = 1 << 16
DIGITS_WITH_STAGE = 8
# Initial value of E and A in TDL2048+: the smallest normal float instead of 0, so that |E| / A = 1 needs no branch.
UNTOUCHED = np.float32(np.finfo(np.float32).tiny)


class FileTable(NamedTuple):
    """One lookup table of a file, unchanged."""

    name: bytes  # 8 bytes
    blocks: tuple[NDArray[np.generic], ...]  # [0] weights; [1] E, then A; others have no known meaning


class WeightFile(NamedTuple):
    """The content of a `.w` file."""

    tables: tuple[FileTable, ...]
    has_type_byte: bool  # whether the file begins with TYPE_BYTE


def table_title(table: FileTable) -> str:
    """Return a table's name as TDL2048+ prints it: hex digits, or its characters."""
    digits, count, is_text = struct.unpack("<IHH", table.name)
    if is_text:
        return table.name.decode("ascii", "replace").rstrip()
    return f"{digits:0{count}x}"


def stage_and_pattern(table: FileTable) -> tuple[int, Pattern]:
    """Return the stage and the cells of a tuple's table.

    Raises:
        ValueError: the table does not belong to a tuple of cells, or does not have 16^n weights.
    """
    title, size = table_title(table), table.blocks[0].size
    cells = (size.bit_length() - 1) // 4
    try:
        digits = [int(digit, 16) for digit in title]
    except ValueError:
        raise ValueError(f"table {title!r} is not one of a tuple of cells: leave it out of the file") from None
    if size != 16**cells or len(digits) not in (cells, DIGITS_WITH_STAGE):
        raise ValueError(f"table {title!r} has {size:,} weights, which is not 16 to the number of its cells")
    stage = int("".join(f"{digit:x}" for digit in digits[: len(digits) - cells])[::-1] or "0", 16)
    return stage, tuple(digits[len(digits) - cells :])


def make_name(pattern: Pattern, stage: int, num_stages: int) -> bytes:
    """Return the name of a tuple's table, 8 bytes.

    Raises:
        ValueError: the digits of the stage and of the cells are more than 8.
    """
    digits = pattern_text(pattern)
    if num_stages > 1:
        room = DIGITS_WITH_STAGE - len(pattern)
        in_reverse = f"{stage:0{room}x}"[::-1] if room else ("" if stage == 0 else "0" * 9)
        digits = in_reverse + digits
        if len(digits) > DIGITS_WITH_STAGE:
            raise ValueError(f"stage {stage} of a tuple of {len(pattern)} cells has no name in a .w file")
    return struct.pack("<IHH", int(digits, 16), len(digits), 0)


def read_w(path: Path) -> WeightFile:
    """Read a file.

    Raises:
        ValueError: the file is missing, cut short, or of another kind, or has numbers that are not finite; the message
            gives the place.
    """
    try:
        content = memoryview(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; name a .w file of TDL2048+") from error
    reader = _Reader(path, content)
    has_type_byte = content[:1] == TYPE_BYTE
    if has_type_byte:
        reader.at = 1
    (code,) = reader.numbers("<B")
    (count,) = reader.numbers("<I")
    if code != FILE_CODE or not 0 < count <= MOST_TABLES:
        raise ValueError(f"{path}: not a .w file of TDL2048+: its first bytes are {bytes(content[:6]).hex(' ')}")
    tables = tuple(reader.table() for _ in range(count))
    if reader.at != len(content):
        raise ValueError(f"{path}: {len(content) - reader.at:,} bytes follow the last table: a damaged file")
    return WeightFile(tables, has_type_byte)


def count_file_stages(file: WeightFile) -> int:
    """Return the number of stages of a file."""
    return 1 + max(stage for stage, _ in map(stage_and_pattern, file.tables))


class _Reader:
    """Reads the bytes of a file in order; `at` is the position of the next byte."""

    def __init__(self, path: Path, content: memoryview) -> None:
        self.path, self.content, self.at = path, content, 0

    def take(self, size: int) -> memoryview:
        if size > len(self.content) - self.at:
            raise ValueError(
                f"{self.path}: damaged or cut short: byte {self.at:,} promises {size:,} more bytes, "
                f"{len(self.content) - self.at:,} are there"
            )
        self.at += size
        return self.content[self.at - size : self.at]

    def numbers(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def table(self) -> FileTable:
        began = self.at
        (code,) = self.numbers("<B")
        name = bytes(self.take(8))
        if code != TABLE_CODE:
            raise ValueError(f"{self.path}: damaged: byte {began:,} should begin a table with {TABLE_CODE}, not {code}")
        blocks: list[NDArray[np.generic]] = []
        while size := self.numbers("<H")[0]:
            (length,) = self.numbers("<Q")
            raw = self.take(size * length)
            is_known = size in FLOATS
            blocks.append(
                np.frombuffer(raw, FLOATS[size]) if is_known else np.frombuffer(raw, np.uint8).reshape(length, size)
            )
        table = FileTable(name, tuple(blocks))
        if not blocks or blocks[0].dtype not in FLOATS.values():
            raise ValueError(f"{self.path}: damaged: table {table_title(table)!r} has no weights")
        for block in blocks:
            check_finite(block, f"{self.path}: table {table_title(table)!r}", "use another file")
        return table


def write_w(path: Path, file: WeightFile) -> None:
    """Write a file; it exists complete or not at all (`whole_file`)."""
    with whole_file(path) as temporary, temporary.open("wb") as stream:
        stream.write(TYPE_BYTE * file.has_type_byte + struct.pack("<BI", FILE_CODE, len(file.tables)))
        for table in file.tables:
            stream.write(struct.pack("<B", TABLE_CODE) + table.name)
            for block in table.blocks:
                element = block.dtype.itemsize * (block.shape[1] if block.ndim == 2 else 1)
                stream.write(struct.pack("<HQ", element, len(block)))
                stream.write(np.ascontiguousarray(block).data)
            stream.write(struct.pack("<H", 0))
