"""The command `muzero2048 endgame`, and tables of endgames in searches, advice and evaluations."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launch.cli import main
from launch.errors import UserError
from launch.evaluation.boards import endgame
from launch.signals import STOPPED

PATTERN = "LLLL/LL../..../...."
BOARD = "8 16 32 64 / 128 256 0 4 / 0 0 2 4 / 0 0 0 0"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Six locked tiles, an 8 on ten free cells: games of any player come to it."""
    path = str(tmp_path_factory.mktemp("endgame") / "line.endgame")
    assert main(["endgame", PATTERN, "--target", "8", "--out", path]) == 0
    return path


def test_a_pattern_without_a_file_gets_its_size(capsys, last_json) -> None:
    assert main(["endgame", "LLLL/LL../..../....", "--target", "256"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "LLLL/LL../..../.... to 256: 1,073,741,824 boards, a file of 2.1 GB"
    assert lines[1] == "add --out FILE to compute the table"
    assert main(["endgame", "LLLL/SS../..../....", "--target", "512", "--largest-sum", "640"]) == 0
    assert "to 512, sum to 640: " in capsys.readouterr().out
    sizes = {"largest_sum": 1280, "boards": 8**10, "bytes": 2 * 8**10}
    found = last_json("endgame", "LLLL/LL../..../....", "--target", "256")
    assert found == {"pattern": "LLLLLL..........", "target": 256} | sizes


def test_a_position_in_a_saved_table(table: str, last_json) -> None:
    found = last_json("endgame", "--table", table, "--position", BOARD)
    assert (found["pattern"], found["target"], found["boards"]) == (PATTERN.replace("/", ""), 8, 3**10)
    assert 0.5 < found["probability"] < 1
    moves = found["position"]["moves"]
    assert moves["up"] == 1  # 4 and 4 merge
    assert moves["right"] == moves["down"] == 0  # a locked tile moves
    assert 0 < moves["left"] < 1


def test_a_position_that_does_not_fit(table: str, capsys) -> None:
    assert main(["endgame", "--table", table, "--position", "8 16 32 8 / 128 256 2 0 / 0 0 0 0 / 0 0 0 0"]) == 0
    assert "it does not fit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("endgame LLLL", "--target is missing: give the tile to be built, such as 256"),
        ("endgame", "give either a PATTERN, such as LLLL/LL../..../...., or --table for a file that --out wrote"),
        ("endgame LLLL --target 8", "'LLLL' is no pattern: give 16 letters of L, S, . and T, such as"),
        ("endgame LLLL/LLLL/x.../.... --target 8", "is no pattern: give 16 letters"),
        ("endgame LLLL/SL../..../.... --target 8", "give S side by side in one row, beside free cells"),
        ("endgame LLLL/S.S./..../.... --target 8", "give S side by side"),
        ("endgame LLLL/SS../..../.... --target 64 --largest-sum 60", "60 is no largest sum: give 64 or more"),
        ("endgame LLLL/SS../S.../.... --target 8", "give S side by side in one row, beside free cells"),
        ("endgame LLLL/LL../..../.... --target 100", "100 is no target: give a tile from 8 to 8192"),
        ("endgame LLLL/LL../..../.... --target 0", "0 is no target"),
        ("endgame LLLL/LL../..../.... --target -8", "-8 is no target"),
        ("endgame LL../..../..../.... --target 8", "has 14 free cells: give 2 to 12"),
        ("endgame LLLL/..../..../.... --target 2048 --out a", "of disk while it is made"),
        (
            "endgame LLLL/LL../..../.... --target 256 --position 0x0",
            "--position is looked up in a table: add --out FILE",
        ),
        ("endgame --table nothing", "nothing: missing or damaged, make the table again"),
        ("endgame --table nothing --position 2", "cannot read the position"),
        ("endgame --table TABLE --target 16", "has its own"),
        ("evaluate heuristic search.endgames=[nothing]", "nothing: missing or damaged"),
        ("evaluate heuristic --board 3x3 search.endgames=[a]", "tables of endgames are of 2048 on 4x4"),
        ("evaluate random --board 3x3 --endgame a", "tables are of 2048 on 4x4"),
        ("evaluate random --endgame nothing", "nothing: missing or damaged"),
        ("evaluate random greedy --endgame a", "--endgame is for one player"),
        ("evaluate heuristic search.endgame_least=2", "search.endgame_least is 2; give a number in [0, 1]"),
    ],
)
def test_mistakes(table: str, mistake: Callable[..., str], words: str, message: str) -> None:
    assert message in mistake(words.replace("TABLE", table))


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endgame, "available_bytes", lambda: 1e6)
    smaller = "give fewer free cells, or a smaller --target or --largest-sum"
    with pytest.raises(UserError, match=rf"takes 1\d\.\d MB of 1\.0 MB of memory; {smaller}$"):
        endgame.run_endgame(endgame.Request(PATTERN, 8, None, Path("a.endgame"), None, None, as_json=False))
    assert not list(Path().iterdir())


def test_a_signal_stops_it_and_the_same_command_goes_on(table: str) -> None:
    words = [sys.executable, "-m", "launch", "endgame", "LLLL/LL../..../....", "--target", "32", "--out", "a"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    give_up = time.monotonic() + 60
    while not Path("a.part").exists() and time.monotonic() < give_up:
        time.sleep(0.05)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == STOPPED
    assert "the same command goes on from a.part" in process.communicate()[0]
    assert sorted(path.name for path in Path().iterdir()) == ["a.part", "a.state"]
    assert main(words[3:]) == 0
    assert sorted(path.name for path in Path().iterdir()) == ["a"]


def test_no_move_that_a_table_removes_is_made(table: str, last_json: Callable[..., Any]) -> None:
    words = ("evaluate", "heuristic", "--plies", "1", "--games", "30", "--seed", "1", "--endgame", table)
    without = last_json(*words)["endgames"]
    guided = last_json(*words, f"search.endgames=[{table}]", "search.endgame_tolerance=0")
    assert without[0]["loss"] > 0.001
    assert without[0]["kept"] < without[0]["promise"] - 0.05
    (row,) = guided["endgames"]
    assert row["table"] == "LLLL/LL../..../.... to 8"
    assert row["loss"] == 0
    assert row["moves"] > 30
    assert row["kept"] == pytest.approx(row["promise"], abs=0.1)
    assert re.fullmatch(r"expectimax-p1-endgames=1-[0-9a-f]{8}-endgame_tolerance=0\.0", guided["search"])
    # A table has no say where its best move is not certain enough.
    least = last_json(*words, f"search.endgames=[{table}]", "search.endgame_least=1")["endgames"][0]
    assert least["loss"] > 0


def test_advice_names_the_table(table: str, last_json: Callable[..., Any], capsys) -> None:
    words = ("moves", "heuristic", "--position", BOARD, "--plies", "1", f"search.endgames=[{table}]")
    endgames = last_json(*words)["endgame"]
    assert endgames["table"] == "LLLL/LL../..../.... to 8"
    assert endgames["probabilities"]["up"] == 1
    assert main(list(words)) == 0
    assert "LLLL/LL../..../.... to 8: up 1.0000, right 0.0000, down 0.0000, left 0.8" in capsys.readouterr().out
    other = last_json("moves", "heuristic", "--position", "2 4 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0", *words[4:])
    assert "endgame" not in other
