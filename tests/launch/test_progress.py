"""The line of a command on stderr: what it says, in a log, on a terminal, and never with --json."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import toy

import muzero2048
from launch import progress
from launch.bench import rows
from launch.cli import main
from launch.evaluation.boards import solve
from launch.evaluation.loading import LoadedPlayer
from launch.progress import COMPILING, GamesText, numbered, progress_line, say
from ntuple.core.interfaces import Games, SoFar


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of lines that are shown, in place of lines every ten seconds: one for each call of `say`."""
    shown: list[str] = []

    @contextmanager
    def at_once(seconds: float, call: object) -> Iterator[None]:
        yield

    def said(detail: progress.Detail) -> None:
        if line := progress._LINE.get():
            line.detail = detail
            shown.append(line.text())

    monkeypatch.setattr(progress, "periodically", at_once)
    for module in ("launch.bench.rows", "launch.evaluation.diagnosis.diagnose"):
        monkeypatch.setattr(f"{module}.say", said)
    return shown


def games(*scores: int) -> Games:
    score = np.array(scores, np.int64)
    return Games(score, np.full(len(score), 8192, np.int64), score, 100.0)


def test_the_text_of_games() -> None:
    text = GamesText(1000)
    assert text() == COMPILING
    text.watch(lambda: SoFar(games(), None))
    assert text() == "game 0 of 1,000  1:40 since the start"
    text.watch(lambda: SoFar(games(5), 60.0))
    assert text() == "game 1 of 1,000  1:00 left"
    text.watch(lambda: SoFar(games(1000, 1200), 30.0))
    assert text() == "game 2 of 1,000  mean 1,100 +- 1,271  8192 100%  0:30 left"  # t(0.975, 1) = 12.71, times 100


def test_a_log_gets_lines_on_stderr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.01)
    called = threading.Event()

    def detail() -> str:
        called.set()
        return "game 1 of 2"

    with progress_line("mine", detail), progress_line("inner", "is not shown"):
        assert called.wait(10)
    printed = capsys.readouterr()
    assert set(printed.err.splitlines()) == {"mine: game 1 of 2"}
    assert printed.out == ""
    say("nothing is shown, so this is dropped")


def test_a_terminal_gets_one_line_in_place(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "60")
    with progress_line("mine"):
        print("a result")
    printed = capsys.readouterr()
    assert printed.out == "a result\n"
    assert re.search(r"mine: compiling \.\.\.\s*\n", printed.err)
    assert printed.err.endswith("\x1b[1A\x1b[2K")  # and the line is removed


@pytest.mark.parametrize("words", ["evaluate random --games 4000", "evaluate random --games 50 --records games.txt"])
def test_an_evaluation_shows_its_games_but_not_with_json(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0005)
    assert main(words.split()) == 0
    printed = capsys.readouterr()
    said = [line.partition("random: ")[2] for line in printed.err.splitlines()]
    assert all(line == COMPILING or line.startswith("game ") for line in said)
    assert any(line.startswith("game ") for line in said)
    assert "game " not in printed.out
    assert main([*words.replace("games.txt", "more.txt").split(), "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_play_from_python_shows_a_line_if_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0005)
    player = muzero2048.load("random")
    silent = player.play(2000, seed=1)
    assert capsys.readouterr().err == ""  # stderr is no terminal
    shown = player.play(2000, seed=1, progress=True)
    assert "random: game " in capsys.readouterr().err
    np.testing.assert_array_equal(silent.score, shown.score)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    player.play(200, seed=1)
    assert "random: " in capsys.readouterr().err
    player.play(200, seed=1, progress=False)
    assert capsys.readouterr().err == ""


def test_diagnose_says_what_it_does(toy_yaml, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    main(["train", "toy.yaml"])
    measure = toy.diagnose
    monkeypatch.setattr(toy, "diagnose", lambda *asked: asked[-1]("playing") or measure(*asked))
    assert main(["diagnose", "runs/one", "--games", "0"]) == 0
    assert lines == ["one: playing"]
    assert main(["diagnose", "runs/one", "--games", "0", "--json"]) == 0
    assert lines == ["one: playing"]


@pytest.mark.parametrize(
    ("words", "line", "function"),
    [
        ("moves heuristic --plies 1 --position", "heuristic, expectimax-p1: compiling, then searching ...", "advise"),
        ("solve --board 2x2", "2x2: solving ...", "_solve"),
    ],
)
def test_one_board_and_a_solution_say_what_is_done(words: str, line: str, function: str, monkeypatch) -> None:
    owner = LoadedPlayer if function == "advise" else solve
    called, shown = getattr(owner, function), []

    def noting(*asked: object) -> object:
        shown.append(progress._LINE.get() and progress._LINE.get().text())
        return called(*asked)

    monkeypatch.setattr(owner, function, noting)
    position = ["2 0 0 2 / 0 0 0 0 / 0 0 0 0 / 0 0 0 4"] if words.endswith("--position") else []
    assert main([*words.split(), *position]) == 0
    assert main([*words.split(), *position, "--json"]) == 0
    assert shown == [line, None]


def test_a_benchmark_numbers_its_parts(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def bench() -> list[rows.BenchRow]:
        for _ in numbered((8, 16), "batch {}".format):
            lines.append(progress._LINE.get().text())
            rows.best_seconds({"ours": lambda: None}, repeats=2)
        return []

    monkeypatch.setattr("launch.bench.env.bench", bench)
    assert main(["bench", "env"]) == 0
    assert lines == [
        "1 of 2, batch 8: compiling ...",
        "1 of 2, batch 8: ours, repeat 1 of 2",
        "1 of 2, batch 8: ours, repeat 2 of 2",
        "2 of 2, batch 16: compiling ...",
        "2 of 2, batch 16: ours, repeat 1 of 2",
        "2 of 2, batch 16: ours, repeat 2 of 2",
    ]
