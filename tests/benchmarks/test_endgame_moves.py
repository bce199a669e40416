"""What moves lose at positions that are the same for all players."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.endgame_moves import draw_positions, measure, moves_differ, parse, rows_of
from benchmarks.script import run_script
from launch.cli import main
from launch.evaluation.loading import load_player
from launch.evaluation.records.endgame_loss import load_table
from launch.evaluation.records.record import write_record
from launch.evaluation.search_options import SearchOptions
from ntuple.core.rules import Board, afterstate

NO = np.nan  # an illegal move


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose five locked tiles are 8 or more and whose target is another 8, and games that come to it."""
    made = tmp_path_factory.mktemp("moves")
    assert main(["endgame", "LLLL/L.../..../....", "--target", "8", "--out", str(made / "table")]) == 0
    records = load_player("heuristic", SearchOptions(search="expectimax", plies=1)).record(60, seed=1)
    (made / "games.txt").write_text("\n".join(map(write_record, records)))
    return made


def test_figures_of_moves() -> None:
    chances = np.array(
        [[0.9, NO, 0.85, 0.9], [1.0, 0.2, NO, NO], [0.4, 0.385, 0.3, NO], [0.992, 0.984, NO, NO], [0.2, NO, 0, NO]]
    )
    rows = [(row.name, pytest.approx(row.value)) for row in rows_of(chances, np.array([2, 0, 1, 1, 2]))]
    losses = (0.05, 0.0, 0.015, 0.008, 0.2)
    margin = 2.776445 * (sum((loss - 0.0546) ** 2 for loss in losses) / 4 / 5) ** 0.5  # t(0.975, 4)
    others = 3.182446 * (sum((loss - 0.01825) ** 2 for loss in losses[:4]) / 3 / 4) ** 0.5  # t(0.975, 3)
    assert rows == [
        ("positions", 5),
        ("lost by a move", 0.0546),
        ("  at least", 0.0546 - margin),
        ("  at most", 0.0546 + margin),
        ("lost by a random legal move", (0.05 / 3 + 0.4 + 0.115 / 3 + 0.004 + 0.1) / 5),
        ("moves that give it up", 0.2),
        ("lost by a move that goes on", 0.01825),
        ("  at least", 0.01825 - others),
        ("  at most", 0.01825 + others),
        ("moves that lose more than 0.01", 0.6),
        ("lost from 0.0, 2 positions", 0.1075),
        ("lost from 0.9, 1 positions", 0.05),
        ("lost from 0.99, 2 positions", 0.004),
    ]


def test_positions_that_leave_a_choice() -> None:
    chances = np.array([[0.5, 0.5, NO, NO], [0.5, NO, NO, 0.4], [NO, NO, 0.3, NO], [NO] * 4, [0.0, 0.1, 0.0, 0.0]])
    assert moves_differ(chances).tolist() == [False, True, False, False, True]


def test_positions_fit_and_leave_a_choice(folder: Path) -> None:
    arguments = parse([f"{folder}/table", f"{folder}/games.txt", "random"])
    boards, chances = draw_positions(load_table(folder / "table"), arguments)
    assert 50 < len(boards) < 1024
    arguments.positions = 50
    assert len(draw_positions(load_table(folder / "table"), arguments)[0]) == 50
    for board, chance in zip(boards.tolist(), chances, strict=True):
        played = tuple(map(tuple, board))
        locked = [level for level in _levels(played) if level >= 3]
        assert len(locked) == len(set(locked)) == 5
        legal = [afterstate(played, action)[0] != played for action in range(4)]
        assert (np.isfinite(chance) == legal).all()
        assert np.nanmin(chance) < np.nanmax(chance) <= 1
        for action in range(4):
            builds = _levels(afterstate(played, action)[0]).count(3) > locked.count(3)
            assert chance[action] in (0, 1) or not builds  # 0: a locked tile moves


def _levels(board: Board) -> list[int]:
    return [level for row in board for level in row]


def test_a_player_with_the_table_loses_nothing(folder: Path) -> None:
    words = [f"{folder}/table", f"{folder}/games.txt"]
    table = [f"search.endgames=[{folder}/table]", "search.endgame_tolerance=0"]
    exact = measure(parse([*words, "heuristic", "--plies", "1", *table]))
    assert exact[0].value > 128  # more than a batch
    assert exact[1].value == 0
    alone = measure(parse([*words, "heuristic", "--plies", "1"]))
    assert (alone[0].value, alone[4].value) == (exact[0].value, exact[4].value)  # the same positions
    assert alone[1].value > 0.05


def test_wrong_words_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"{folder}/table", f"{folder}/games.txt", "random"]
    assert run_script(parse, measure, [*words, "--positions", "1"]) == 2
    assert "--positions 1: give 2 or more" in capsys.readouterr().err
    (folder / "short.txt").write_text(write_record(load_player("random", SearchOptions()).record(1, seed=1)[0]))
    assert run_script(parse, measure, [words[0], f"{folder}/short.txt", "random"]) == 2
    assert "fewer than 2 positions fit LLLL/L.../..../.... to 8" in capsys.readouterr().err
