"""Files of endgame tables: stopped and resumed, damaged, and of another kind; and boards of games in their views."""

from pathlib import Path

import numpy as np
import pytest
from reference import rules
from reference.positions import as_board

from ntuple.endgames import table as table_module
from ntuple.endgames.layout import make_layout
from ntuple.endgames.pattern import parse_pattern
from ntuple.endgames.table import EndgameTable, bytes_of, solve_table
from ntuple.game.bitboard import encode, make_rules
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS, RNG
from ntuple.game.rollout import make_moves
from ntuple.players.analysis import words_of

PATTERN = parse_pattern("LLLL/LLLL/LL../....", 32)
BOARD = np.array([[11, 10, 9, 8], [17, 12, 13, 7], [6, 5, 3, 2], [0, 0, 1, 2]])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("endgames") / "a.endgame"
    assert solve_table(PATTERN, path)
    return path


def words(*boards: np.ndarray) -> np.ndarray:
    return np.array([encode(board) for board in boards], np.uint64)


def test_a_stopped_table_goes_on_to_the_same_file(file: Path, tmp_path: Path) -> None:
    path, shares = tmp_path / "b.endgame", []
    for stop in (10, 1, 30):
        left = iter(range(stop))
        assert not solve_table(PATTERN, path, shares.append, lambda left=left: next(left, None) is None)
        assert not path.exists()
    assert solve_table(PATTERN, path, shares.append)
    assert path.read_bytes() == file.read_bytes()
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_table_goes_on_from_the_last_save(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, layers = tmp_path / "b.endgame", []
    monkeypatch.setattr(table_module, "SAVE_SECONDS", 0.0)

    def watch(share: float) -> None:
        layers.append(share)
        if len(layers) == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_table(PATTERN, path, watch)
    assert solve_table(PATTERN, path, watch)
    assert path.read_bytes() == file.read_bytes()
    assert len(layers) == make_layout(PATTERN).layers.size - 1 + 1  # the layer in work was lost, no other


def test_files_beside_it_of_another_table(tmp_path: Path) -> None:
    path = tmp_path / "b.endgame"
    solve_table(PATTERN, path, is_stopped=lambda: True)
    with pytest.raises(ValueError, match=r"of another table; name another file, or delete .*\.state and b\."):
        solve_table(parse_pattern("LLLL/LLLL/LL../....", 16), path)
    (tmp_path / "b.endgame.part").unlink()
    with pytest.raises(ValueError, match="delete"):
        solve_table(PATTERN, path)
    (tmp_path / "b.endgame.state").write_bytes(b"cut")
    with pytest.raises(ValueError, match="damaged"):
        solve_table(PATTERN, path)


def test_the_size_of_a_file(file: Path) -> None:
    assert 0 < file.stat().st_size - bytes_of(PATTERN) < 1_000
    assert EndgameTable.load(file).pattern == PATTERN


def test_damaged_files(file: Path, tmp_path: Path) -> None:
    content, path = file.read_bytes(), tmp_path / "c.endgame"
    flipped = bytearray(content)
    flipped[-100] ^= 1
    for damaged in (content[:-1], content[:100], b"", bytes(flipped), content.replace(b"LLLLLLLLLL", b"LLLLLLLL.L")):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="missing or damaged, make the table again"):
            EndgameTable.load(path)
    path.write_bytes(content.replace(b"endgame 2", b"endgame 1"))
    with pytest.raises(ValueError, match="another version"):
        EndgameTable.load(path)
    path.write_bytes(content.replace(b"muzero2048 endgame", b"muzero2048 solutio"))
    with pytest.raises(ValueError, match="not a table of an endgame"):
        EndgameTable.load(path)


def test_all_views_of_a_board_have_the_same_probabilities(file: Path) -> None:
    """With a tile of 131072 among the locked ones, which needs the fifth bit of a cell."""
    table, board = EndgameTable.load(file), BOARD.copy()
    board[2, :2] = 6, 14
    found = sorted(table.look_up(words(board))[0])
    assert len(set(found)) > 2
    views = [np.array(view) for view in rules.symmetries(as_board(board.tolist()))]
    assert [sorted(row) for row in table.look_up(words(*views))] == [found] * 8


@pytest.mark.parametrize(
    ("cell", "level", "fits"),
    [
        ((2, 0), 6, True),
        ((2, 0), 4, False),  # smaller than the target
        ((2, 0), 5, False),  # the same tile twice
        ((3, 3), 5, False),  # a large tile on a free cell
        ((3, 3), 0, True),
    ],
)
def test_boards_that_fit(file: Path, cell: tuple[int, int], level: int, fits: bool) -> None:
    board = BOARD.copy()
    board[cell] = level
    assert np.isfinite(EndgameTable.load(file).look_up(words(board))).all() == fits


def test_moves_that_build_the_target_and_moves_that_lose_the_pattern(file: Path) -> None:
    board = np.array([[11, 10, 9, 8], [17, 12, 13, 7], [6, 5, 4, 4], [0, 0, 0, 0]])
    up, right, down, left = EndgameTable.load(file).look_up(words(board))[0]
    assert (up, down, left) == (-1, 0, 1)  # not legal; all tiles of two rows move; 16 and 16 merge
    assert right == 0  # they merge to the right, and no tile is beside them: the locked ones move into the gap


def test_sliding_tiles_of_a_board(tmp_path: Path) -> None:
    """The probability of moves belongs to the arrangement after the move, in each view of the board."""
    pattern = parse_pattern("LLLL/SS../LLLL/....", 16)
    assert solve_table(pattern, tmp_path / "a")
    table = EndgameTable.load(tmp_path / "a")
    board = np.array([[17, 10, 9, 8], [6, 5, 3, 3], [15, 12, 13, 7], [0, 0, 1, 2]])
    assert table.look_up(words(board))[0].tolist() == [-1, 1, 0, 1]  # right: large tiles slide, and 16 is built
    board[1] = 0, 6, 5, 0
    up, right, down, left = table.look_up(words(board))[0]
    assert up == down == 0  # locked tiles move
    assert 0 < right < 1
    assert 0 < left < 1
    views = [np.array(view) for view in rules.symmetries(as_board(board.tolist()))]
    assert [sorted(row) for row in table.look_up(words(*views))] == [sorted([up, right, down, left])] * 8
    board[0, 0] = 9  # the same tile twice
    assert np.isnan(table.look_up(words(board))).all()
    board[0, 0], board[1, 2] = 4, 17  # only in a locked cell may a tile be above 32768
    assert np.isnan(table.look_up(words(board))).all()


@pytest.mark.parametrize(
    "least", [pytest.param(0.5, marks=pytest.mark.slow), 0.9, pytest.param(0.99, marks=pytest.mark.slow)]
)
def test_a_promise_is_kept(least: float, tmp_path: Path) -> None:
    """Games from boards with a promise in [least, least + 0.01], by the table's moves, build the target as often.

    The allowed difference is five standard deviations.
    """
    pattern, rules_4x4 = parse_pattern("LLLL/LLLL/..../....", 64), make_rules(4, 4)
    path = tmp_path / "a.endgame"
    solve_table(pattern, path)
    table, rng = EndgameTable.load(path), np.random.default_rng(1)
    boards = np.zeros((400_000, 4, 4), np.int64)
    boards[:, :2] = np.arange(16, 8, -1).reshape(2, 4)
    boards[:, 2:] = rng.integers(0, pattern.target, (len(boards), 2, 4))
    words = words_of(rules_4x4, boards.astype(np.uint8), np.zeros(len(boards), np.uint32), None)
    promises = table.look_up(words).max(axis=1)
    chosen = np.flatnonzero((promises >= least) & (promises < least + 0.01))[:4_000]
    assert len(chosen) > 1_000
    games = np.zeros((len(chosen), COLUMNS), np.uint64)
    games[:, BOARD_LO], games[:, BOARD_HI] = words[chosen].T
    games[:, RNG] = rng.integers(0, 2**63, len(chosen))
    built, going = 0, games
    while len(going):
        values = table.look_up(np.ascontiguousarray(going[:, [BOARD_LO, BOARD_HI]]))
        actions = values.argmax(axis=1).astype(np.int8)
        best = values.max(axis=1)
        built += int((best == 1.0).sum())
        going, actions = np.ascontiguousarray(going[(best > 0) & (best < 1)]), actions[(best > 0) & (best < 1)]
        make_moves(rules_4x4, going, actions, np.zeros(len(going), np.int64), np.zeros(len(going), np.int64))
    mean = promises[chosen].mean()
    assert built / len(chosen) == pytest.approx(mean, abs=5 * np.sqrt(mean * (1 - mean) / len(chosen)) + 2e-5)
