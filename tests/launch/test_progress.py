import pytest

from launch import progress
from launch.progress import ProgressDisplay


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """The time in seconds; a test moves it on."""
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
        "run   21%  210 moves  5 moves/s  score 1,234  2:38 left",  # 10 moves in 2 s, so 790 in 158 s
        "run   26%  260 moves  5 moves/s  score 1,234  2:40 left",  # 60 in 13 s
        "run  100%  1,000 moves  20 moves/s  score 1,234  0:00 left",
    ]


def test_games_and_the_largest_tile_that_occurs_are_told(clock: list[float], capsys):
    display = ProgressDisplay("run", total=100, done=0)
    reached = {"train/reach_2048": 0.5, "train/reach_8192": 0.25, "train/reach_32768": 0.0}
    for env_steps in (50, 100):
        clock[0] += 20
        display.update({"env_steps": env_steps, "train/score_mean": 9.0, "train/games": 300.0, **reached})
    display.close()
    assert capsys.readouterr().out.splitlines() == [
        "run   50%  50 moves  2 moves/s  15 games/s  score 9  8192 in 25.0%  0:20 left",
        "run  100%  100 moves  2 moves/s  15 games/s  score 9  8192 in 25.0%  0:00 left",
    ]


def test_nothing_is_told_before_the_first_move(clock: list[float], capsys):
    display = ProgressDisplay("run", total=10, done=5)
    clock[0] += 1
    display.update({"env_steps": 5, "eval/score_mean": 99.0})
    display.close()
    assert capsys.readouterr().out == ""


def test_an_evaluation_is_shown_beside_the_score(clock: list[float], capsys):
    display = ProgressDisplay("run", total=10, done=0)
    clock[0] += 1
    display.update({"env_steps": 10, "eval/score_mean": 99.0})
    display.close()
    assert capsys.readouterr().out == "run  100%  10 moves  10 moves/s  evaluation 99  0:00 left\n"
