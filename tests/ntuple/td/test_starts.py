from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import blocks
from reference import rules as reference
from scipy import stats

from ntuple import NTupleConfig
from ntuple.game.any_game import make_game_rules
from ntuple.game.bitboard import Board, decode, make_rules
from ntuple.game.episode import (
    AFTER_HI,
    AFTER_LO,
    CAROUSEL,
    COLUMNS,
    FIRST,
    IS_WHOLE,
    MOVES,
    RNG,
    board_of,
    last_afterstate,
)
from ntuple.game.rng import stream
from ntuple.td.block_carousel import next_block
from ntuple.td.config import BlocksConfig, BoundaryConfig, CarouselConfig, JumpStartConfig, PositionsConfig, StartConfig
from ntuple.td.history import LONGEST_GAME, make_history, remember
from ntuple.td.starts import Starts, begin_next, make_starts, watch
from tests.ntuple.drivers import board_of_tiles, to_reference

RULES = make_rules(4, 4)


def _starts(kind: str, stages: tuple[int, ...] = (), boundary: int = 0, **groups: Any) -> Starts:
    groups = {"carousel": CarouselConfig(size=3), "boundary": BoundaryConfig(size=3)} | groups
    groups = {"jump_start": JumpStartConfig(tiles=(2048, 1024, 512))} | groups
    return make_starts(NTupleConfig(start=StartConfig(kind, **groups), stages=stages, frozen_stages=boundary))


def see(starts: Starts, before: Board, after: Board, reward: int = 0, is_whole: bool = True) -> None:
    row = _row()
    row[AFTER_LO], row[AFTER_HI], row[IS_WHOLE] = before.lo, before.hi, is_whole
    watch(starts, row, after, np.float32(reward))


def _row(seed: int = 1):
    row = np.zeros(COLUMNS, np.uint64)
    row[RNG] = stream(np.uint64(seed), np.uint64(0))
    return row


def _tiles(*tiles: int) -> Board:
    return board_of_tiles(tiles)


def _is_spawn_behind(row, after: Board) -> bool:
    """Return whether the board of a row is an afterstate plus one spawn."""
    spawned, before = to_reference(RULES, board_of(row)), to_reference(RULES, after)
    return spawned in [reference.spawn(before, code) for code in reference.chance_probabilities(before)]


def test_restart_goes_on_from_the_middle() -> None:
    history, starts, row = make_history(1, LONGEST_GAME), _starts("restart"), _row()
    afters = {move: _tiles(2 ** (1 + move % 16), 2 ** (1 + move // 16 % 16)) for move in range(300)}
    for move, after in afters.items():
        remember(history, 0, move, after, np.float32(0))
    row[MOVES], row[IS_WHOLE] = 300, 1
    begin_next(RULES, starts, history, 0, row)
    # The game restarts at move 150, after a spawn on afterstate 149, and does not count as a whole game.
    assert (row[FIRST], row[MOVES], row[IS_WHOLE]) == (150, 150, 0)
    assert last_afterstate(row) == afters[149]
    assert _is_spawn_behind(row, afters[149])
    row[MOVES] = 352
    begin_next(RULES, starts, history, 0, row)
    assert (row[FIRST], row[MOVES]) == (251, 251)  # 101 moves follow the middle
    row[MOVES] = 451
    begin_next(RULES, starts, history, 0, row)  # only 100 moves follow it: a new game
    assert (row[FIRST], row[MOVES], row[IS_WHOLE]) == (0, 0, 1)
    assert len([tile for tile in reference.cells(to_reference(RULES, board_of(row))) if tile]) == 2


def test_carousel_takes_each_stage_in_turn() -> None:
    starts, row = _starts("carousel", stages=(512, 1024, 2048)), _row()
    begin_next(RULES, starts, None, 0, row)
    assert (row[CAROUSEL], row[IS_WHOLE]) == (0, 1)  # no stage entered so far: start with two tiles
    entered = [_tiles(512, 2 * k) for k in (1, 2, 4, 8, 16)]
    for after in entered:
        see(starts, _tiles(256, 256), after)
    see(starts, _tiles(512, 512), _tiles(1024))
    see(starts, _tiles(512, 512), _tiles(512, 512, 2))  # the same stage
    see(starts, _tiles(256), _tiles(1024))  # a jump over a stage is not an entry, as in the paper
    assert starts.seen.tolist() == [0, 5, 1, 0]
    boards = set()
    for _ in range(40):
        begin_next(RULES, starts, None, 0, row)
        assert (row[CAROUSEL], row[MOVES], row[FIRST], row[IS_WHOLE]) == (1, 0, 0, 0)
        assert last_afterstate(row) in entered[-3:]  # the last three afterstates are kept
        assert _is_spawn_behind(row, last_afterstate(row))
        boards.add(last_afterstate(row))
        begin_next(RULES, starts, None, 0, row)
        assert row[CAROUSEL] == 2
        assert last_afterstate(row) == _tiles(1024)
        begin_next(RULES, starts, None, 0, row)  # stage 3 has never been reached
        assert (row[CAROUSEL], row[IS_WHOLE]) == (0, 1)
    assert len(boards) == 3


def test_boundary_begins_where_whole_games_entered_the_stage_once_enough_are_known() -> None:
    starts, row = _starts("boundary", stages=(512, 1024), boundary=2), _row()
    entered = [_tiles(1024, 2 * k) for k in (1, 2, 4)]
    see(starts, _tiles(512, 512), _tiles(1024, 512), is_whole=False)  # a game that began at the boundary
    for after in entered:
        begin_next(RULES, starts, None, 0, row)
        assert (row[CAROUSEL], row[IS_WHOLE]) == (0, 1)
        see(starts, _tiles(256, 256), _tiles(512))  # the stage before
        see(starts, _tiles(512, 512), after)
    seen = set()
    for _ in range(40):
        begin_next(RULES, starts, None, 0, row)
        assert (row[MOVES], row[FIRST], row[IS_WHOLE]) == (0, 0, 0)
        assert _is_spawn_behind(row, last_afterstate(row))
        seen.add(last_afterstate(row))
    assert seen == set(entered)


@pytest.mark.parametrize("game", ["2048", "2584"])
def test_positions_are_those_of_the_file_each_as_often(game: str, tmp_path: Path) -> None:
    boards = np.zeros((5, 3, 4), np.uint8)
    boards[:, 0], boards[:, 1, 0] = [15, 14, 3, 1], [1, 2, 17, 4, 5]
    np.save(tmp_path / "boards.npy", boards)
    start = StartConfig("positions", positions=PositionsConfig(str(tmp_path / "boards.npy")))
    starts, rules = make_starts(NTupleConfig(game=game, rows=3, start=start)), make_game_rules(game, 3, 4)
    row, seen = _row(), Counter[int]()
    for _ in range(2000):
        begin_next(rules, starts, None, 0, row)
        assert (row[MOVES], row[FIRST], row[IS_WHOLE]) == (0, 0, 0)
        after = decode(rules, last_afterstate(row))
        seen[[board.tolist() for board in boards].index(after.tolist())] += 1
        assert (decode(rules, board_of(row)) != after).sum() == 1
    assert stats.chisquare([seen[i] for i in range(5)]).pvalue > 1e-4


def test_positions_that_hold_the_tile_of_the_end_are_refused(tmp_path: Path) -> None:
    boards = np.zeros((2, 4, 4), np.uint8)
    boards[1, 0, 0] = 15
    np.save(tmp_path / "boards.npy", boards)

    def made(until: int) -> Starts:
        positions = PositionsConfig(str(tmp_path / "boards.npy"), until)
        return make_starts(NTupleConfig(start=StartConfig("positions", positions=positions)))

    assert made(65536).until == 16
    other = StartConfig("restart", positions=PositionsConfig(until=65536))
    assert make_starts(NTupleConfig(start=other)).until == 0
    for until in (32768, 16384):
        with pytest.raises(ValueError, match=f"boards with start.positions.until={until} or more"):
            made(until)


@pytest.mark.parametrize(
    ("boards", "says"),
    [
        (None, "cannot read the positions of .*boards.npy: .*; make them by `muzero2048 positions`"),
        (np.zeros((0, 4, 4), np.uint8), r"is not an array uint8 \[N, 4, 4\]"),
        (np.zeros((3, 3, 4), np.uint8), r"is not an array uint8 \[N, 4, 4\]"),
        (np.zeros((3, 4, 4), np.int64), r"is not an array uint8 \[N, 4, 4\]"),
        (np.ones((3, 4, 4), np.uint8), "has a board without an empty cell"),
        (18 * np.eye(4, dtype=np.uint8)[None], "a tile that is too large"),
    ],
)
def test_files_that_hold_no_positions(boards: np.ndarray | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "boards.npy"
    path.write_bytes(b"no array") if boards is None else np.save(path, boards)
    config = NTupleConfig(start=StartConfig("positions", positions=PositionsConfig(str(path))))
    with pytest.raises(ValueError, match=says) as caught:
        make_starts(config)
    assert "\n" not in str(caught.value)


def _random_cells(rng: np.random.Generator, shape: tuple[int, int]) -> list[int]:
    """Tiles of an afterstate of a game: at least one empty cell."""
    cells = 2 ** rng.integers(0, rng.integers(3, 16), shape[0] * shape[1])
    cells[rng.random(cells.size) < rng.random()] = 1
    cells[rng.integers(cells.size)] = 1
    return [0 if cell == 1 else int(cell) for cell in cells]


@pytest.mark.parametrize("shape", [(4, 4), (3, 4)])
def test_a_board_of_the_next_block_has_the_tiles_of_tdl2048(shape: tuple[int, int]) -> None:
    rng, rules = np.random.default_rng(1), make_rules(*shape)
    for _ in range(2000):
        cells, level = _random_cells(rng, shape), int(rng.integers(3, 13))
        tiles = blocks.next_tiles(cells, 1 << level)
        made, is_below = next_block(rules, level, 65536, board_of_tiles(cells, *shape))
        assert is_below == (max(tiles) < 65536)
        if is_below:
            assert made == board_of_tiles(blocks.with_tiles(cells, tiles), *shape), (cells, level)


def test_blocks_follow_each_other_to_the_limit() -> None:
    """A game that ended in block k is followed by one in block k + 1; after the last block a game begins normally."""
    starts, row = _starts("blocks", blocks=BlocksConfig(tile=8, limit=32)), _row()
    begin_next(RULES, starts, None, 0, row)
    assert last_afterstate(row) == _tiles(8)  # a game without a tile of a block ends in block 0
    watch(starts, row, _tiles(4, 4, 2), np.float32(4))
    watch(starts, row, _tiles(16, 4, 2), np.float32(16))
    watch(starts, row, _tiles(16, 4, 4), np.float32(4))  # enters no block
    begin_next(RULES, starts, None, 0, row)
    assert last_afterstate(row) == _tiles(16, 8, 4, 2)  # the 4 is made from the 2, and the 2 on an empty cell
    assert (row[MOVES], row[FIRST], row[IS_WHOLE]) == (0, 0, 0)
    assert _is_spawn_behind(row, last_afterstate(row))
    begin_next(RULES, starts, None, 0, row)  # 16 + 8 + 8 is the limit
    assert row[IS_WHOLE] == 1
    begin_next(RULES, starts, None, 0, row)
    assert last_afterstate(row) == _tiles(8)


def test_made_up_boards_have_the_first_of_the_tiles() -> None:
    starts, row = _starts("jump_start"), _row()
    kinds: Counter[tuple[int, ...]] = Counter()
    cells: Counter[int] = Counter()
    for _ in range(4000):
        begin_next(RULES, starts, None, 0, row)
        board = reference.cells(to_reference(RULES, board_of(row)))
        large = tuple(sorted((tile for tile in board if tile > 2), reverse=True))
        kinds[large] += 1
        assert row[IS_WHOLE] == (not large)
        assert len([tile for tile in board if tile in (1, 2)]) == (1 if large else 2)
        if large:
            cells[board.index(11)] += 1
    assert set(kinds) == {(), (11,), (11, 10), (11, 10, 9)}
    assert stats.chisquare([kinds[kind] for kind in sorted(kinds)], [2000, 4000 / 6, 4000 / 6, 4000 / 6]).pvalue > 1e-3
    assert stats.chisquare([cells[cell] for cell in range(16)]).pvalue > 1e-3


def test_tiles_beyond_the_index_can_be_made_up() -> None:
    starts = _starts("jump_start", jump_start=JumpStartConfig(fraction=1.0, tiles=(65536, 32768)))
    row = _row()
    seen = set()
    for _ in range(20):
        begin_next(RULES, starts, None, 0, row)
        seen |= set(reference.cells(to_reference(RULES, board_of(row))))
    assert {15, 16} <= seen <= {0, 1, 2, 15, 16}


@pytest.mark.parametrize("kind", ["restart", "carousel", "blocks", "jump_start"])
def test_nothing_is_random_but_the_row_s_stream(kind: str) -> None:
    """The starts of a game depend only on the random stream of its row."""

    def boards(seed: int) -> list[Board]:
        starts, row, history = _starts(kind, stages=(512,)), _row(seed), make_history(1, LONGEST_GAME)
        found = []
        for _ in range(20):
            begin_next(RULES, starts, history, 0, row)
            found.append(board_of(row))
        return found

    assert boards(1) == boards(1) != boards(2)
