import io
import re

import pytest
from rich.console import Console

from launch.train import progress
from launch.train.progress import Pace, ProgressDisplay


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Replace the clock by a time in seconds that a test advances."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_line_every_ten_seconds_and_at_the_end(clock: list[float], capsys):
    display = ProgressDisplay("run", total=1000, done=200)
    for seconds, env_steps in ((2, 210), (4, 220), (11, 250), (13, 260), (21, 400), (40, 1000)):
        clock[0] = 100.0 + seconds
        display.update({"env_steps": env_steps, "train/score_mean": 1234.5})
    display.close()
    assert capsys.readouterr().out.splitlines() == [
        "run   21%  210 moves  score 1,234",  # no speed: the first report may include compiling
        "run   26%  260 moves  5 moves/s  score 1,234  2:43 left",  # 50 moves in 11 s, so 740 take 163 s
        "run  100%  1,000 moves  22 moves/s  score 1,234  0:00 left",  # 780 moves in the 36 s from 4 s to 40 s
    ]


def test_compiling_is_said_and_does_not_count(clock: list[float], capsys):
    display = ProgressDisplay("run", total=1000, done=0)
    display.begin()
    clock[0] += 60  # compiling before the first move
    display.moved(0)
    clock[0] += 1
    display.moved(10)
    clock[0] += 10
    display.moved(110)
    clock[0] += 60  # compiling for the first report
    display.update({"env_steps": 110})
    clock[0] += 10
    display.moved(310)
    display.close()
    assert capsys.readouterr().out.splitlines() == [
        "run    0%  0 moves  compiling ...",
        "run    0%  0 moves  compiling ...",  # repeated after a minute
        "run   11%  110 moves  10 moves/s  1:29 left",
        "run   11%  110 moves  10 moves/s  1:29 left",
        "run   31%  310 moves  20 moves/s  0:34 left",
    ]


def test_evaluation_and_saving_do_not_count(clock: list[float], capsys):
    display = ProgressDisplay("run", total=1000, done=0)
    for report in range(1, 4):
        display.begin()
        clock[0] += 10
        display.update({"env_steps": 100 * report})
        with display.evaluating(1000):
            clock[0] += 600
        display.update({"env_steps": 100 * report, "eval/score_mean": 99.0})
        clock[0] += 600  # saving
    display.close()
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "run   20%  200 moves  10 moves/s  evaluation 99  1:20 left",
        "run   30%  300 moves  10 moves/s  evaluation 99  1:10 left",
        "run   30%  300 moves  10 moves/s  evaluation 99  1:10 left",
    ]


def test_an_evaluation_is_said_while_it_is_played(clock: list[float], capsys):
    display = ProgressDisplay("run", total=1000, done=0)
    display.update({"env_steps": 100})
    clock[0] += 20
    with display.evaluating(1000):
        clock[0] += 20
    display.update({"env_steps": 100, "eval/score_mean": 99.0})
    display.close()
    assert capsys.readouterr().out.splitlines() == [
        "run   10%  100 moves",
        "run   10%  100 moves  evaluating 1,000 games",
        "run   10%  100 moves  evaluation 99",
    ]


def test_games_and_the_largest_tile_that_occurs_are_told(clock: list[float], capsys):
    display = ProgressDisplay("run", total=150, done=0)
    reached = {"train/reach_2048": 0.5, "train/reach_8192": 0.25, "train/reach_32768": 0.0}
    for env_steps in (50, 100, 150):
        clock[0] += 20
        display.update({"env_steps": env_steps, "train/score_mean": 9.0, "train/games": 300.0, **reached})
    display.close()
    assert capsys.readouterr().out.splitlines() == [
        "run   33%  50 moves  score 9  8192 in 25.0%",
        "run   67%  100 moves  2 moves/s  15 games/s  score 9  8192 in 25.0%  0:20 left",
        "run  100%  150 moves  2 moves/s  15 games/s  score 9  8192 in 25.0%  0:00 left",
    ]


def test_a_terminal_has_a_bar_that_moves_within_a_report(clock: list[float], monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda: Console(file=screen, force_terminal=True, width=120))
    display = ProgressDisplay("run", total=1000, done=0)
    display.begin()
    for seconds, moves in ((5, 0), (6, 100), (10, 300)):
        clock[0] = 100.0 + seconds
        display.moved(moves)
    display.close()
    text = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", screen.getvalue())
    assert "compiling ..." in text
    assert "30% 50 moves/s  0:14 left" in text  # 200 moves in 4 s


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1.0, "0:00"), (59.6, "1:00"), (3599.0, "59:59"), (3600.0, "1:00:00"), (2_573_863.0, "714:57:43")],
)
def test_the_clock(seconds: float, text: str):
    assert progress.clock(seconds) == text


def test_the_pace_is_that_of_the_last_half_minute(clock: list[float]):
    pace = Pace(0)
    for second in range(1, 101):
        clock[0] += 1
        pace.mark(10 * second if second <= 60 else 600 + 40 * (second - 60))
        if second == 50:
            assert pace.speed == pytest.approx(10)
        if second == 75:
            assert pace.speed == pytest.approx((15 * 10 + 15 * 40) / 30)
    assert pace.speed == pytest.approx(40)


def test_the_pace_of_reports_that_are_longer_than_the_window(clock: list[float]):
    pace = Pace(0)
    for done in (100, 200, 500):
        clock[0] += 100
        pace.mark(done)
    assert pace.speed == pytest.approx(3)
