"""Tables of endgames: solved into a file, loaded, and asked for the moves of boards."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntuple.core.atomic_files import sync
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.endgames.layout import Layout, make_layout
from ntuple.endgames.lookup import SCALE, Endgame, look_up_boards
from ntuple.endgames.pattern import SIDE, Pattern, parse_pattern
from ntuple.endgames.solver import EMPTY_LAYER, Layer, solve_layers
from ntuple.files.safetensors import (
    ForeignFileError,
    Parts,
    check_format,
    map_safetensors,
    naming_damage,
    write_safetensors,
)
from ntuple.game.any_game import make_game_rules

FORMAT = "muzero2048 endgame 2"
VALUE = np.dtype(np.uint16)
SAVE_SECONDS = 60.0
BLOCK = 1 << 22  # values at a time

Words = NDArray[np.uint64]  # [B, 2] `lo` and `hi` of boards


@dataclass(frozen=True)
class EndgameTable:
    """The probability to build the target, of all afterstates of a pattern."""

    pattern: Pattern
    layout: Layout
    values: NDArray[np.uint16]

    @classmethod
    def load(cls, path: Path) -> "EndgameTable":
        """Map a file that `solve_table` wrote into memory; processes that read the same file share it.

        Raises:
            ValueError: the file is missing, damaged, or of another kind.
        """
        with naming_damage(path, "make the table again"):
            tensors, header = map_safetensors(path)
            foreign = "not a table of an endgame: make one with `muzero2048 endgame`"
            check_format(path, header, FORMAT, foreign, "made by another version: make the table again")
            pattern = parse_pattern(header["pattern"], int(header["target"]), int(header["largest_sum"]))
            values: Any = tensors["values"]
            if values.dtype != VALUE or values.shape != (pattern.boards,):
                raise ValueError(f"{values.dtype}{list(values.shape)} for {pattern.boards} boards")
            if _digest(pattern, values) != header["sha256"]:
                raise ValueError("it was changed after it was written")
        return cls(pattern, make_layout(pattern), values)

    @property
    def promise(self) -> float:
        """Probability of the target if all free cells are empty before the next spawn."""
        return float(self.values[0] / SCALE)

    def kernel_form(self) -> Endgame:
        """Return the table as kernels read it."""
        return Endgame(self.pattern.target, self.layout, self.values)

    def look_up(self, words: Words) -> NDArray[np.float64]:
        """Return the probabilities [B, 4] of moves: NaN for a board that does not fit, -1 for an illegal move."""
        numbers, found = np.zeros(len(words), np.int64), np.full((len(words), 4), np.nan)
        look_up_boards(make_game_rules(GAME_2048.name, SIDE, SIDE), (self.kernel_form(),), words, numbers, found)
        return found


def bytes_of(pattern: Pattern) -> int:
    """Return the size of the table's file."""
    return pattern.boards * VALUE.itemsize


def memory_of(pattern: Pattern) -> int:
    """Return the bytes that `solve_table` needs: four layers and the tables of the layout."""
    layout = make_layout(pattern)
    largest = int(np.diff(layout.layers).max())
    return (
        4 * largest * EMPTY_LAYER.itemsize
        + 8 * layout.lines.nbytes
        + layout.begins.nbytes
        + 8 * layout.locked.size * layout.halves.nbytes
    )


def solve_table(
    pattern: Pattern,
    path: Path,
    watch: Callable[[float], None] = lambda _: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Compute a table into a file; go on from the files that a stopped or killed run left beside it.

    Args:
        watch: called with the share of the boards that are computed.
        is_stopped: asked after each layer; True: save and return.

    Returns:
        Whether the table is complete. Otherwise PATH.part and PATH.state hold what is done.

    Raises:
        OSError: a file cannot be written.
        ValueError: the files beside it are of another table.
    """
    work, state = _beside(path, "part"), _beside(path, "state")
    layout, boards = make_layout(pattern), pattern.boards
    done, above = _read_state(state, pattern) if state.exists() else (None, (EMPTY_LAYER, EMPTY_LAYER))
    mode: Any = "r+" if done is not None else "w+"
    if done is not None and (not work.exists() or work.stat().st_size != bytes_of(pattern)):
        raise ValueError(f"{work}: missing or cut; delete {state} to begin anew")
    values = np.memmap(work, VALUE, mode, shape=(boards,))
    saved_at = time.monotonic()
    for number, layer in solve_layers(pattern, layout, done, above):
        first = int(layout.layers[number])
        values[first : first + layer.size] = np.rint(SCALE * layer)
        watch(1 - first / boards)
        above = (layer, above[0])
        is_last = number == 0
        if is_last or is_stopped() or time.monotonic() - saved_at > SAVE_SECONDS:
            values.flush()
            _write_state(state, pattern, number, above)
            saved_at = time.monotonic()
            if not is_last and is_stopped():
                return False
    header = {
        "format": FORMAT,
        "pattern": pattern.letters,
        "target": str(1 << pattern.target),
        "largest_sum": str(pattern.largest_sum),
        "sha256": _digest(pattern, values),
    }
    write_safetensors(path, {"values": Parts(VALUE, boards, _blocks(values))}, header)
    work.unlink()
    state.unlink()
    sync(path.parent)
    return True


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}.{ending}")


def _write_state(path: Path, pattern: Pattern, number: int, above: tuple[Layer, Layer]) -> None:
    tensors = dict(zip(("after_two", "after_four"), above, strict=True))
    write_safetensors(path, tensors, {"format": FORMAT, "layer": str(number), "table": json.dumps(pattern)})


def _read_state(path: Path, pattern: Pattern) -> tuple[int, tuple[Layer, Layer]]:
    """Return the last layer that is known, and its values with those of the layer above it."""
    remedy = f"delete {path} and {_beside(path.with_suffix(''), 'part').name} to begin anew"
    with naming_damage(path, remedy):
        tensors, header = map_safetensors(path)
        if json.loads(header["table"]) != list(pattern):
            raise ForeignFileError(f"{path}: of another table; name another file, or {remedy}")
        above: Any = (tensors["after_two"].copy(), tensors["after_four"].copy())
        return int(header["layer"]), above


def _blocks(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (values[start : start + BLOCK] for start in range(0, values.size, BLOCK))


def _digest(pattern: Pattern, values: NDArray[Any]) -> str:
    """Return the SHA-256 of a table, in hex digits."""
    digest = hashlib.sha256(repr(tuple(pattern)).encode())
    for block in _blocks(values):
        digest.update(np.ascontiguousarray(block).data)
    return digest.hexdigest()
