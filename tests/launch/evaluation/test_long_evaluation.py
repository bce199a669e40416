"""Long evaluations: games kept one by one, records, regret, and the moves of a given board."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from full_disk import full_beyond
from reference import records as reference

from launch.cli import main
from launch.errors import UserError
from launch.evaluation.records.game_log import GameLog, play_missing
from launch.evaluation.seeds import final_evaluation_seed
from launch.experiment.checkpoints import find_checkpoint, read_checkpoint
from launch.experiment.registry import restore_player
from ntuple import ExpectimaxConfig, MCTSConfig, RandomPlayer, make_rules
from ntuple.core.learner_spec import EXPECTIMAX, MCTS
from ntuple.game.rollout import PlayedGame, play_by_analysis


def start(*words: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, *words], env=environment, stdout=pipe, stderr=pipe, text=True)


def test_expectimax_keeps_its_games(run: str, last_json) -> None:
    words = ("evaluate", run, "--search", "expectimax", "--plies", "2", "--games", "12")
    result = last_json(*words)
    assert result["search"] == "expectimax-p2"
    assert result["search_config"]["plies"] == 2
    (file,) = Path(run, "evaluations").glob("*.jsonl")
    assert file.name == f"20000-expectimax-p2-seed{final_evaluation_seed(1)}.games.jsonl"
    heading, *games = [json.loads(line) for line in file.read_text().splitlines()]
    assert heading["board"] == "2x3"
    assert sorted(game["number"] for game in games) == list(range(12))
    assert np.mean([game["score"] for game in games]) == pytest.approx(result["score_mean"])
    again = last_json(*words)
    assert (again["score_mean"], again["moves_mean"]) == (result["score_mean"], result["moves_mean"])
    assert file.read_text().count("\n") == 13  # no game was played again


def test_records_of_any_player_are_right(run: str, last_json) -> None:
    by_mcts = [run, "--search", "mcts", "--simulations", "20"]
    for words in ([run], by_mcts, ["greedy", "--board", "2x3"], ["heuristic", "--board", "2x3"]):
        Path("games.txt").unlink(missing_ok=True)
        result = last_json("evaluate", *words, "--games", "8", "--records", "games.txt")
        judged = last_json("judge", "games.txt", "--whole")
        assert (judged["games"], judged["correct"], judged["wrong"]) == (8, 8, [])
        assert judged["score_mean"] == pytest.approx(result["score_mean"])
        heading, *lines = Path("games.txt").read_text().splitlines()
        assert heading == "% board 2x3"
        assert len(lines) == 8


def test_one_ply_move_by_move_is_the_same_player(run: str, last_json) -> None:
    """The spawns are drawn differently than in the fast evaluation, so the means agree only within their errors."""
    fast = last_json("evaluate", run, "--games", "2000")
    slow = last_json("evaluate", run, "--games", "2000", "--records", "games.txt")
    error = (fast["score_high"] - fast["score_low"]) / 4
    assert slow["score_mean"] == pytest.approx(fast["score_mean"], abs=4 * 1.5 * error)


def test_regret_against_the_solution(run: str, last_json) -> None:
    assert main(["solve", "--board", "2x3", "--out", "2x3.sol"]) == 0
    asked = ("--games", "400", "--solution", "2x3.sol")
    greedy = last_json("evaluate", "greedy", "--board", "2x3", *asked)
    learned = last_json("evaluate", run, *asked)
    assert learned["regret_optimum"] == pytest.approx(480.258272)
    for result in (greedy, learned):
        # score + regret = optimum + luck of the spawns. The luck has mean 0 and a spread of about 200 points a game.
        assert result["score_mean"] + result["regret_a_game"] == pytest.approx(480.26, abs=4 * 200 / 400**0.5)
        assert 0 < result["regret_a_move"] < result["regret_worst"]
        assert result["regret_worst_move"] in "URDL"
    assert greedy["regret_a_game"] > learned["regret_a_game"]
    deep = ("--search", "expectimax", "--plies", "5")
    searched = last_json("evaluate", run, *deep, "--games", "40", "--solution", "2x3.sol")
    assert searched["regret_a_game"] < learned["regret_a_game"]


def test_a_solution_of_another_game_is_refused(run: str, mistake) -> None:
    assert main(["solve", "--board", "2x2", "--out", "2x2.sol"]) == 0
    assert main(["solve", "--board", "2x3", "--until", "64", "--out", "64.sol"]) == 0
    for file, line in {
        "2x2.sol": "2x2.sol: a solution of 2x2, but the games are of 2x3",
        "64.sol": "64.sol: of a game that ends with 64; solve again without --until",
        "none.sol": "none.sol",
    }.items():
        assert line in mistake("evaluate", run, "--games", "4", "--solution", file)


RULES = make_rules(2, 2)


def play_randomly(numbers: Iterable[int], seed: int) -> Iterator[PlayedGame]:
    return play_by_analysis(RULES, lambda *asked: RandomPlayer(RULES, 1).analyse(*asked).action, numbers, seed)


def test_kept_games_of_something_else_are_refused(tmp_path: Path) -> None:
    path, scores = tmp_path / "games.jsonl", []
    header = {"search_config": {"plies": 3, "limits": ((6, 2), (10, 1))}}
    for _ in range(2):
        with GameLog(path, header) as log:
            scores.append(play_missing(play_randomly, log, 5, 1).score.tolist())
    assert scores[0] == scores[1]
    for line in path.read_text().splitlines()[1:]:
        game = json.loads(line)
        judged = reference.judge(game["record"], 2, 2)
        assert (judged.score, judged.is_over) == (game["score"], True)
    with pytest.raises(UserError, match="its games differ in search_config; move it away"):
        GameLog(path, {"search_config": {"plies": 3, "limits": ((6, 2),)}})
    whole = path.read_text()
    score = scores[0][2]
    other_score = whole.replace(f'"score": {score}', f'"score": {score + 4}', 1)
    for changed in (whole.replace('"number"', '"numbers"'), other_score, whole + "5\n", whole + '{"number": 5}\n'):
        assert changed != whole
        path.write_text(changed)
        with pytest.raises(UserError, match="damaged"):
            GameLog(path, header)


def test_a_file_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    with GameLog(path, {"seed": 1}) as log:
        play_missing(play_randomly, log, 3, 1)
        before = path.read_bytes()
        with pytest.raises(UserError, match="another process is playing these games"):
            GameLog(path, {"seed": 1})
        assert path.read_bytes() == before
        play_missing(play_randomly, log, 4, 1)
    with GameLog(path, {"seed": 1}) as log:
        assert sorted(log.games) == [0, 1, 2, 3]


def test_the_seconds_of_games_are_those_of_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This also holds for games in parallel, and if the log already has games."""
    now = 100.0

    def play_slowly(numbers: Iterable[int], seed: int) -> Iterator[PlayedGame]:
        nonlocal now
        for number, game in enumerate(play_randomly(numbers, seed)):
            now += 0.2 if number % 2 else 0.0  # two games end at the same time
            yield game

    monkeypatch.setattr("launch.evaluation.records.game_log.time", SimpleNamespace(monotonic=lambda: now))
    path = tmp_path / "games.jsonl"
    for count, seconds in ((4, 0.4), (4, 0.4), (6, 0.6)):
        with GameLog(path, {}) as log:
            assert play_missing(play_slowly, log, count, 1).seconds == pytest.approx(seconds)


def test_a_disk_that_is_full_ends_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.jsonl"
    with GameLog(path, {}) as log:
        play_missing(play_randomly, log, 2, 1)
    games = list(play_randomly([2], 1))
    line = re.escape(f"cannot write {path}: File too large; the games before this one are kept")
    with full_beyond(path.stat().st_size + 9), pytest.raises(UserError, match=line), GameLog(path, {}) as log:
        log.add(games[0], 1.0)
    with GameLog(path, {}) as log:
        assert sorted(log.games) == [0, 1]

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with GameLog(path, {}) as log:
        monkeypatch.setattr("launch.evaluation.records.line_log.os.fsync", full)
        with pytest.raises(UserError, match="No space left on device; the games before this one are kept"):
            play_missing(play_randomly, log, 5, 1)


def test_parts_come_together_without_repeating_a_game(run: str, capsys: pytest.CaptureFixture[str], last_json) -> None:
    words = ("evaluate", run, "--search", "expectimax", "--plies", "2", "--games", "11")
    assert main([*words, "--part", "1/3"]) == 0
    out = capsys.readouterr().out
    assert "4 games" in out
    assert "part 1/3: the same command without --part puts the parts together" in out.splitlines()
    assert last_json(*words, "--part", "3/3")["games"] == 3
    folder = Path(run, "evaluations")
    stem = f"20000-expectimax-p2-seed{final_evaluation_seed(1)}.games"
    parts = [folder / f"{stem}.part-{number}-of-3.jsonl" for number in (1, 3)]
    played = [[json.loads(line)["number"] for line in part.read_text().splitlines()[1:]] for part in parts]
    assert [sorted(numbers) for numbers in played] == [[0, 3, 6, 9], [2, 5, 8]]
    assert not list(folder.glob("*-11games-*"))
    assert main([*words[:-1], "12", "--part", "1/2"]) == 0  # of games 0, 2, .., 10 only 4 and 10 are missing
    assert "4 of 6 games are there; 2 to play" in capsys.readouterr().out
    (folder / f"{stem}.part-1-of-2.jsonl").unlink()
    together = last_json(*words)
    (own,) = folder.glob(f"{stem}.jsonl")
    assert sorted(json.loads(line)["number"] for line in own.read_text().splitlines()[1:]) == [1, 4, 7, 10]
    for file in (own, *parts):
        file.unlink()
    alone = last_json(*words)
    assert (together["score_mean"], together["moves_mean"]) == (alone["score_mean"], alone["moves_mean"])


def test_parts_that_cannot_be(run: str, mistake) -> None:
    for part in ("0/2", "3/2", "2", "a/b", "-1/2"):
        line = f"--part is {part}; give number/count, such as 2/4 for the second of four processes"
        assert mistake("evaluate", run, "--games", "4", f"--part={part}") == line
    third = ("evaluate", run, "--part", "1/3", "--games")  # 1-ply games are not kept by default
    assert mistake(*third, "6") == "--part 1/3 is for games that are kept as they end: add --keep"
    assert "--keep is .; give a file" in mistake(*third, "6", "--keep", ".")
    assert "give 6 or more" in mistake(*third, "5")
    assert "add --keep" in mistake("evaluate random --games 4 --part 1/2")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stop_loses_no_game_and_repeats_none(last_json, number: int) -> None:
    words = ["evaluate", "heuristic", "--board", "2x3", "--plies", "6", "--games", "80", "--keep", "kept.jsonl"]
    process, kept = start("-m", "launch", *words), Path("kept.jsonl")
    deadline = time.monotonic() + 300
    while not kept.exists() or kept.read_text().count("\n") < 5:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    if number == signal.SIGTERM:
        assert process.returncode == 75
        assert error.strip() == "SIGTERM: keeping the finished games and stopping"
        assert out.splitlines()[-1] == "stopped; the finished games are in kept.jsonl, and the same command goes on"
    with kept.open("a") as file:
        file.write('{"number": 59, "sco')  # a line that a crash cut off
    before = kept.read_text().splitlines()[:-1]
    assert 5 <= len(before) < 80
    result = last_json(*words)
    lines = kept.read_text().splitlines()
    assert lines[: len(before)] == before
    assert sorted(json.loads(line)["number"] for line in lines[1:]) == list(range(80))
    kept.unlink()
    whole = last_json(*words)
    assert (whole["score_mean"], whole["moves_mean"]) == (result["score_mean"], result["moves_mean"])


def test_a_second_interrupt_ends_at_once_and_keeps_the_finished_games(run: str) -> None:
    words = ["evaluate", "heuristic", "--board", "2x3", "--plies", "6", "--games", "80", "--keep", "kept.jsonl"]
    process = start("-c", STUCK_PLAYER, *words)
    assert "stuck" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert [line for line in error.splitlines() if line] == [
        "SIGINT: keeping the finished games and stopping; a second Ctrl-C ends at once",
        "second Ctrl-C: ended at once; the finished games are in kept.jsonl, and the same command goes on",
    ]
    assert len(Path("kept.jsonl").read_text().splitlines()) == 2  # the heading and a game


# A player that returns one game and then blocks in C code, as a deep search or a compiler does.
STUCK_PLAYER = """
import ctypes, sys, threading
from launch.cli import main
from ntuple.expectimax.player import ExpectimaxPlayer
play_each = ExpectimaxPlayer.play_each
def stuck(self, numbers, seed):
    yield from play_each(self, [0], seed)
    libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
    threading.Timer(0.5, print, ["stuck"], {"flush": True}).start()
    libc.pthread_mutex_lock(mutex), libc.pthread_mutex_lock(mutex)
ExpectimaxPlayer.play_each = stuck
main(sys.argv[1:])
"""


def test_what_cannot_be_written_is_refused_before_playing(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.txt").write_text("mine")
    for file, says in (
        ("old.txt", "is there already"),
        (".", "is there already"),
        ("no/new.txt", "is no folder"),
        ("/proc/new.txt", "error: --records /proc/new.txt: cannot write to /proc: "),
    ):
        assert main(["evaluate", run, "--games", "4", "--records", file]) == 2
        captured = capsys.readouterr()
        assert says in captured.err
        assert captured.err.count("\n") == 1
        assert captured.out == ""
    assert Path("old.txt").read_text() == "mine"
    assert not list(Path(run, "evaluations").glob("*-4games-*"))


def test_games_of_other_draws_replace_no_result(run: str) -> None:
    (result,) = Path(run, "evaluations").glob("*.json")
    before = result.read_bytes()
    assert main(["evaluate", run, "--games", "10", "--records", "games.txt"]) == 0
    assert result.read_bytes() == before
    assert Path(run, "evaluations", f"20000-1ply-by_moves-10games-seed{final_evaluation_seed(1)}.json").exists()


def test_moves_of_a_board(run: str, last_json, mistake) -> None:
    found = last_json("moves", run, "--position", "2 2 0 / 4 0 0", "--search", "expectimax", "--plies", "2")
    assert found["position"] == "2 2 0 / 4 0 0"
    assert {name: move["reward"] for name, move in found["moves"].items()} == {"right": 4, "down": 0, "left": 4}
    assert {move["ply"] for move in found["moves"].values()} == {2}
    best = max(found["moves"], key=lambda name: found["moves"][name]["value"])
    assert found["action"] == best
    over = last_json("moves", "greedy", "--board", "2x2", "--position", "2 4 / 4 2")
    assert (over["action"], over["moves"]) == (None, {})
    assert "3" in mistake("moves heuristic --board 2x2 --position", "2 4 / 4 3")


@pytest.mark.parametrize("search", [ExpectimaxConfig(), MCTSConfig()])
def test_other_values_cannot_be_searched(run: str, search: Any) -> None:
    checkpoint = find_checkpoint(Path(run))
    settings = replace(read_checkpoint(checkpoint)[0].settings, values="state")
    kind = EXPECTIMAX if isinstance(search, ExpectimaxConfig) else MCTS
    with pytest.raises(UserError, match="afterstates"):
        restore_player("ntuple", checkpoint, settings, kind, search)


BY_MCTS = ("--search", "mcts", "--simulations", "20")


def test_moves_have_visits_and_a_line(run: str, last_json, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("moves", run, "--position", "2 2 0 / 4 0 0", *BY_MCTS)
    found = last_json(*words)
    assert sum(move["visits"] for move in found["moves"].values()) == 19  # the first simulation makes the root
    assert found["line"][0].split()[0] == found["action"]
    assert re.fullmatch(r"(right|down|left) [24]@\([12],[123]\)", found["line"][0])
    assert main(list(words)) == 0
    assert f"expects: {', '.join(found['line'])}" in capsys.readouterr().out


def test_strength_finds_the_z_of_a_score(run: str, last_json, mistake) -> None:
    drawn = ("evaluate", run, *BY_MCTS, "search.c=0.5", "search.r_th=0")
    means = {}
    for z in (-2.0, 0.0, 4.0):
        result = last_json(*drawn, "--games", "300", "search.choice=drawn", f"search.z={z}")
        means[z] = result["score_mean"]
    assert means[-2.0] < means[0.0] < means[4.0]
    wanted = 0.3 * means[0.0] + 0.7 * means[4.0]
    found = last_json(*drawn, "--games", "300", "--strength", f"{wanted:.1f}")
    assert found["search_config"]["z"] == pytest.approx(2.8, abs=0.01)
    assert found["search_config"]["choice"] == "drawn"
    # Another c was not measured, and neither was another checkpoint. Games against an adversary are of another kind.
    file = next(Path(run, "evaluations").glob("*z=-2.0*.json"))
    for name, change in {"other.json": {"env_steps": 10_000}, "against.json": {"against": {}}}.items():
        file.with_name(name).write_text(json.dumps(json.loads(file.read_text()) | {"score_mean": 1e6} | change))
    again = last_json(*drawn, "--games", "4", "--strength", f"{wanted:.1f}")
    assert 1.5 < again["search_config"]["z"] < 3.6  # the evaluation at 2.8 counts too
    assert "0 values of z are measured" in mistake("evaluate", run, *BY_MCTS, "search.c=0.4", "--strength", "100")
    assert f"is not between the measured {means[-2.0]:,.0f} (z = -2)" in mistake(*drawn, "--strength", "9000")
