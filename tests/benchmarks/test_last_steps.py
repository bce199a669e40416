"""The steps to a large tile, and a player that takes the last one."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.last_steps import measure, parse, play_on
from benchmarks.script import run_script
from launch.evaluation.loading import load_player
from launch.evaluation.records.record import GameRecord, write_record
from launch.evaluation.search_options import SearchOptions
from ntuple.core.rules import Board, afterstate

LOST = ((1, 2, 1, 2), (2, 1, 2, 1), (1, 2, 1, 2), (2, 1, 2, 1))  # no move is legal
PAIR = ((5, 5, 1, 2), (2, 1, 2, 1), (1, 2, 1, 2), (2, 1, 2, 1))  # every legal move builds 64


def _boards(record: GameRecord) -> list[Board]:
    """Play a record in plain Python. The code of a spawn is twice the cell, plus 1 for a 4."""
    board: Board = ((0,) * 4,) * 4
    boards = []
    moves: list[tuple[int | None, int]] = [(None, code) for code in record.opening]
    for action, code in moves + list(zip(record.actions.tolist(), record.spawns.tolist(), strict=True)):
        board = board if action is None else afterstate(board, action)[0]
        cells = [level for row in board for level in row]
        assert cells[code // 2] == 0
        cells[code // 2] = 1 + code % 2
        board = tuple(tuple(cells[row : row + 4]) for row in range(0, 16, 4))
        boards.append(board)
    return boards


def test_games_are_counted_at_each_step(tmp_path: Path) -> None:
    records = load_player("greedy", SearchOptions()).record(60, seed=1)
    file = tmp_path / "games.txt"
    file.write_text("\n".join(map(write_record, records)))
    rows = measure(parse([str(file), "--tile", "256", "--chain", "32"]))
    games = [[{level for row in board for level in row} for board in _boards(record)] for record in records]
    for number, chain in enumerate(({7}, {7, 6}, {7, 6, 5})):
        came = [game for game in games if any(chain <= board and max(board) < 8 for board in game)]
        assert rows[2 * number].value == len(came) > 0
        assert rows[2 * number + 1].value == sum(max(map(max, game)) >= 8 for game in came) / len(came)
    assert len(rows) == 6


def test_a_player_goes_on_from_boards_until_the_tile_is_built_or_the_game_is_over() -> None:
    player = load_player("random", SearchOptions())
    assert play_on(player, np.array([PAIR, LOST, PAIR], np.uint8), 6).tolist() == [True, False, True]
    wide = np.array([[[5, 5, 0, 0], [0] * 4, [0] * 4, [0] * 4]] * 50, np.uint8)
    assert play_on(player, wide, 6).all()  # with so much room even random moves merge them
    assert not play_on(player, wide, 12).any()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tile", "100"], "--tile 100: give a power of two"),
        (["--chain", "32768"], "give a tile below --tile 32768"),
        (["--repeat", "0"], "--repeat 0: give 1 or more"),
        ([], "no game holds 16384 at once; give another --chain or --tile"),
    ],
)
def test_wrong_words_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    file = tmp_path / "games.txt"
    file.write_text(write_record(load_player("random", SearchOptions()).record(1, seed=1)[0]))
    assert run_script(parse, measure, [str(file), *words]) == 2
    assert says in capsys.readouterr().err
