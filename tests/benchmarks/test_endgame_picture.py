"""Lines of losses against depth, from the output of endgame_moves."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import endgame_picture
from benchmarks.endgame_moves import rows_of
from benchmarks.endgame_picture import read_lines
from launch.bench.rows import show
from launch.errors import UserError

LOSSES = (0.004, 0.001, 0.001)  # of the moves that go on; one more gives up


@pytest.fixture
def result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The output of endgame_moves for four moves."""
    chances = np.array([[0.9, 0.9 - loss, np.nan, np.nan] for loss in (*LOSSES, 0.9)])
    show(rows_of(chances, np.ones(4, np.int64)), as_json=True)
    path = tmp_path / "result"
    path.write_text(capsys.readouterr().out)
    return path


def test_lines_have_the_losses_of_1000_moves(result: Path) -> None:
    first, second = read_lines(["n-tuples", f"1={result}", f"2={result}", "MuZero", f"16={result}"])
    assert (first.label, first.x.tolist(), second.label, second.x.tolist()) == ("n-tuples", [1, 2], "MuZero", [16])
    margin = 4.302653 * 0.001  # t(0.975, 2) s / sqrt(3), s = 0.001 sqrt(3)
    assert first.y == pytest.approx([2.0, 2.0])
    assert second.low == pytest.approx([2.0 - 1000 * margin])
    assert second.high == pytest.approx([2.0 + 1000 * margin])


def test_a_label_that_is_there_twice_names_two_lines(result: Path) -> None:
    first, second = read_lines(["n-tuples", f"1={result}", "n-tuples", f"2={result}"])
    assert (first.x.tolist(), second.x.tolist()) == ([1], [2])


def test_the_picture_is_written(result: Path, tmp_path: Path) -> None:
    assert endgame_picture.main([f"{tmp_path}/new.png", "n-tuples", f"1={result}", f"3={result}"]) == 0
    assert (tmp_path / "new.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("1=result n-tuples", "1=result: give a LABEL before the first DEPTH=FILE"),
        ("n-tuples 1=result MuZero", "MuZero: no DEPTH=FILE follows this label"),
        ("n-tuples 1=nothing", "1=nothing: needs a number and a file with the output of endgame_moves --json"),
        ("n-tuples two=result", "two=result: needs a number and a file with the output of endgame_moves --json"),
        ("n-tuples 1=empty", "1=empty: needs a number and a file with the output of endgame_moves --json"),
        ("n-tuples 1=other", "1=other: needs a number and a file with the output of endgame_moves --json"),
    ],
)
def test_wrong_words_are_one_line(words: str, message: str, result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(result.parent)
    Path("empty").write_text("")
    Path("other").write_text('{"rows": []}')
    with pytest.raises(UserError) as error:
        read_lines(words.split())
    assert str(error.value) == message


def test_a_folder_that_is_not_there_is_one_line(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert endgame_picture.main(["nowhere/new.png", "n-tuples", f"1={result}"]) == 2
    assert "nowhere/new.png: there is no folder" in capsys.readouterr().err
