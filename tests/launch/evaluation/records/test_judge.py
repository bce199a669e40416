"""The command `judge`: what it prints of files of records, and what it refuses."""

import json
from pathlib import Path

import pytest

from launch.cli import main
from tests.launch.evaluation.records.examples import EXAMPLE, PLACED

CORRECT = "0232 #R 01 #L 31"  # 2x2, over, no points
LONGER = "0111 #L [4] (250) 11 (1)"  # 2x2, not over, 4 points


def _file(text: str) -> str:
    Path("games.txt").write_text(text, encoding="utf-8")
    return "games.txt"


def _judged(capsys, text: str, *words: str) -> tuple[int, list[str]]:
    """Return the exit code of `judge` and the lines that it prints."""
    capsys.readouterr()
    code = main(["judge", _file(text), *words])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out.splitlines()


def test_a_file_of_correct_games(capsys):
    code, lines = _judged(capsys, f"% board 2x2 by hand\n\n{CORRECT}\n% a comment\n{LONGER}\n")
    assert code == 0
    assert lines == [
        "games.txt: board 2x2, games 2, correct 2, without mistake but not over 1",
        "total:  avg=2 max=4 tile=4 win=0.00%",
        "tile     count   score    move     rate      win",
        "4            2       2       2  100.00%  100.00%",
        "mean 2 (95% interval -23 to 27), median 2, 2 games",  # 2 +- 12.706 * 2.828 / 1.414
        "spawns after a move 3: too few to test their law",
    ]


def test_times_give_the_speed(capsys):
    code, lines = _judged(capsys, f"{LONGER}\n{LONGER}", "--board", "2x2")
    assert code == 0
    assert lines[1] == "summary 500ms 4.00ops"  # two moves of 250 ms


def test_one_correct_game(capsys):
    code, lines = _judged(capsys, LONGER, "--board", "2x2")
    first = "games.txt: board 2x2, games 1, correct 1, without mistake but not over 1"
    assert (code, lines[:2]) == (0, [first, "score 4, largest tile 4, moves 1"])
    assert lines[2:] == ["spawns after a move 1: too few to test their law"]


def test_a_game_without_a_move(capsys):
    code, lines = _judged(capsys, "1121", "--board", "4x4")
    assert (code, lines[1:]) == (
        0,
        ["score 0, largest tile 2, moves 0", "spawns after a move 0: too few to test their law"],
    )


def test_wrong_games_are_named(capsys):
    code, lines = _judged(capsys, f"0101 #U 11\n\n{CORRECT}\n{CORRECT} #\n", "--board", "2x2")
    assert code == 2
    assert lines == [
        "games.txt, line 1, number 2: cell not empty, 01",
        "games.txt, line 4, number 7, column 18: unreadable text, found '#'",
        "games.txt: board 2x2, games 3, correct 1, without mistake but not over 0",
        "score 0, largest tile 4, moves 2",
        "spawns after a move 2: too few to test their law",
    ]


def test_whole_games_on_request(capsys):
    code, lines = _judged(capsys, f"{CORRECT}\n{LONGER}\n{CORRECT}", "--board", "2x2", "--whole")
    assert code == 2
    assert lines[0] == "games.txt, line 2, number 4: game not over, a move is legal after it"
    assert _judged(capsys, f"{CORRECT}\n{CORRECT}", "--board", "2x2", "--whole")[0] == 0


def test_the_result_as_json(capsys):
    code, lines = _judged(capsys, f"{CORRECT}\n{LONGER}\n0111 #L 13", "--board", "2x2", "--json")
    assert code == 2
    result = json.loads(lines[-1])
    assert result["wrong"] == [{"line": 3, "kind": "wrong tile", "number": 4, "detail": f"13; {PLACED}", "column": 9}]
    counts = {name: result[name] for name in ("file", "board", "games", "correct", "not_over")}
    assert counts == {"file": "games.txt", "board": "2x2", "games": 3, "correct": 2, "not_over": 1}
    assert (result["score_mean"], result["score_max"], result["max_tile"], result["moves_mean"]) == (2, 4, 4, 1.5)
    assert result["seconds"] is None  # one of the games has no move times
    assert result["score_high"] == pytest.approx(2 + 12.7062 * 2, rel=1e-5)


def test_the_result_of_wrong_games_alone_as_json(capsys):
    code, lines = _judged(capsys, "nonsense", "--json")
    assert code == 2
    wrong = {"line": 1, "kind": "unreadable text", "number": 1, "detail": "found 'nonsense'", "column": 1}
    counts = {"file": "games.txt", "board": "4x4", "games": 1, "correct": 0, "not_over": 0}
    assert json.loads(lines[-1]) == counts | {"wrong": [wrong], "spawns": []}


def test_bytes_that_are_no_text(capsys):
    Path("games.txt").write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode() + b"\r\n\xff\xfe\x00\n" + bytes(range(256)))
    assert main(["judge", "games.txt"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "games.txt, line 2, number 1, column 1: unreadable text, found '\\ufffd\\ufffd\\x00'"
    assert lines[-3].endswith(" correct 1, without mistake but not over 1")


def test_an_evaluation_is_noted_as_judged(capsys, mistake):
    """If the games are right, over, and its own; else it is left as it is."""
    assert (
        main(["evaluate", "random", "--board", "2x2", "--games", "20", "--seed", "1", "--records", "r.txt", "--json"])
        == 0
    )
    result = Path("result.json")
    result.write_text(capsys.readouterr().out)
    before, lines = json.loads(result.read_text()), Path("r.txt").read_text().splitlines()
    for wrong, line in (
        (lines[:-1], "result.json: its games is 20, that of games.txt is 19: other games"),
        ([*lines[:-1], max(lines, key=len)], "result.json: its score_mean is "),
        ([*lines[:-1], "0111 #L 11"], "games.txt: 1 games stop before they are over; result.json is left as it is"),
    ):
        assert mistake("judge", _file("\n".join(wrong)), "--result", "result.json").startswith(line)
    assert main(["judge", _file("\n".join([*lines[:-1], "0111 #R #L"])), "--result", "result.json"]) == 2
    assert mistake("judge r.txt --result none.json").startswith("cannot read none.json")
    assert json.loads(result.read_text()) == before
    assert main(["judge", "r.txt", "--result", "result.json"]) == 0
    assert "result.json: noted that its 20 games are judged" in capsys.readouterr().out
    after = json.loads(result.read_text())
    assert after.pop("judged") == {
        "spawns": sum(line.count("#") for line in lines), "false_alarm": 1e-6, "version": after["version"],
    }  # fmt: skip
    assert after == before


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("", [], "games.txt holds no game; give a file with one game record a line"),
        ("% board 2x2\n", [], "games.txt holds no game; give a file with one game record a line"),
        (EXAMPLE, ["--board", "5x5"], "cannot read the board '5x5'; give rows x columns, each 2 to 4: 3x4, threes 4x4"),
        (f"% board 9\n{EXAMPLE}", [],
         "games.txt, line 1: cannot read the board '9'; give rows x columns, each 2 to 4: 3x4, threes 4x4"),
        (f"% board 3x3\n{EXAMPLE}", ["--board", "4x4"],
         "games.txt, line 1: the header says 3x3, the games are judged on 4x4; leave out one of the two"),
        (f"{EXAMPLE}\n% board 3x3", [],
         "games.txt, line 2: the header says 3x3, the games are judged on 4x4; leave out one of the two"),
    ],
)  # fmt: skip
def test_files_and_boards_that_are_refused(mistake, text: str, words: list[str], line: str):
    assert mistake("judge", _file(text), *words) == line


def test_a_file_that_cannot_be_read(mistake):
    for path in ("nowhere.txt", "."):
        line = mistake("judge", path)
        assert line.startswith(f"cannot read {path}: ")
        assert line.endswith("; give a file of game records")
