"""Evaluations by several processes: the same games as by one, each played once, whatever is stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launch.cli import main
from launch.evaluation.parts import Part
from launch.evaluation.records.game_log import GameLog
from launch.evaluation.search_options import SearchOptions
from launch.jobs.evaluations import EvaluationRequest, EvaluationTask, plan_evaluations
from launch.jobs.following import stop

ROOT = Path(__file__).parents[3]
YAML = """\
learner: ntuple
run: {name: small, group: small, final_games: 10}
ntuple: {rows: 2, columns: 3, network: "012345", env_steps: 20_000, report_env_steps: 10_000, threads: 1}
"""
RUN = Path("runs/small")
EVALUATIONS = RUN / "evaluations"


@pytest.fixture
def _run() -> None:
    Path("small.yaml").write_text(YAML)
    assert main(["train", "small.yaml"]) == 0


def _tasks(games: int = 8, parts: int = 2, **options: object) -> list[EvaluationTask]:
    request = EvaluationRequest(games, 5, parts, SearchOptions(**options))  # type: ignore[arg-type]
    (planned,) = plan_evaluations([RUN], request)
    return planned.tasks


def _games(part: int) -> list[dict]:
    (file,) = EVALUATIONS.glob(f"*.part-{part}-of-2.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()[1:]]


@pytest.mark.usefixtures("_run")
@pytest.mark.parametrize("options", [{}, {"search": "expectimax", "plies": 2}])
def test_the_words_of_the_tasks_play_each_game_once(options: dict, capsys):
    first, second, whole = _tasks(**options)
    assert [task.exit_code() for task in (first, second, whole)] == [75, 75, 75]
    assert main(second.arguments) == 0
    assert (first.exit_code(), second.exit_code()) == (75, 0)
    assert main(first.arguments) == 0
    assert [sorted(game["number"] for game in _games(part)) for part in (1, 2)] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert whole.exit_code() == 75
    assert main(whole.arguments) == 0
    assert whole.exit_code() == 0
    scores = [game["score"] for part in (1, 2) for game in _games(part)]
    result = json.loads(whole.planned.result().read_text())
    assert (result["games"], result["score_mean"]) == (8, pytest.approx(sum(scores) / 8))
    # One process, in another folder, plays the same games.
    alone = ["evaluate", str(RUN / "checkpoints" / "20000"), "--games", "8", "--seed", "5", "--keep", "alone.jsonl"]
    assert main([*alone, *SearchOptions(**options).arguments()]) == 0
    lines = [json.loads(line) for line in Path("alone.jsonl").read_text().splitlines()[1:]]
    assert sorted(scores) == sorted(game["score"] for game in lines)


@pytest.mark.usefixtures("_run")
def test_a_running_part_is_found_by_its_log(monkeypatch, mistake):
    first, second, whole = _tasks()
    log = EVALUATIONS / "20000-1ply-seed5.games.jsonl"
    with GameLog(log, {}, Part(2, 2)):
        assert [task.is_running() for task in (first, second, whole)] == [False, True, False]
        assert (first.pid(), second.pid()) == (None, os.getpid())
        killed = []
        monkeypatch.setattr("os.kill", lambda *words: killed.append(words))
        monkeypatch.setattr("launch.jobs.following.STOP_SECONDS", 0.0)
        assert stop(["small"], Path("runs")) == 1
        assert killed == [(os.getpid(), 15)]
        assert "part-2-of-2.jsonl: another process is playing these games; give its number of" in mistake(
            "submit evaluate runs/small --games 9 --seed 5 --parts 3"
        )
    assert not second.is_running()


@pytest.mark.usefixtures("_run")
def test_parts_of_another_number_are_used_too():
    for task in _tasks(parts=2)[:2]:
        assert main(task.arguments) == 0
    assert [task.exit_code() for task in _tasks(parts=4)] == [0, 0, 0, 0, 75]
    second = EVALUATIONS / "20000-1ply-seed5.games.part-2-of-2.jsonl"
    lines = second.read_text().splitlines(keepends=True)
    second.write_text("".join(line for line in lines if '"number": 7' not in line))
    assert [task.exit_code() for task in _tasks(parts=4)] == [0, 0, 0, 75, 75]
    (EVALUATIONS / "20000-1ply-seed5.games.part-1-of-2.jsonl").write_text("{}\n{\n}\n")
    assert [task.exit_code() for task in _tasks(parts=4)] == [75] * 5


def test_a_sweep_and_its_evaluations(monkeypatch):
    Path("small.yaml").write_text(YAML)
    Path("two.yaml").write_text("{at_once: 2, cores: 1}\n")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    words = ["submit", "small.yaml", "--seeds", "1-2", "--on", "two.yaml", "--then-evaluate"]
    words += ["--games", "40", "--parts", "2", "--plies", "2", "--search", "expectimax"]
    Path("launch.py").write_text("raise SystemExit('mine')")  # no task runs it
    command = [sys.executable, "-P", "-m", "launch", *words]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert text.count(": started, ") == 2 + 4 + 2
    results = [json.loads(file.read_text()) for file in sorted(Path("runs").glob("*/*/*expectimax-p2-40games*.json"))]
    assert [result["training_seed"] for result in results] == [1, 2]
    for result in results:
        assert f"{result['score_mean']:,.0f}" in text.splitlines()[-3 + result["training_seed"]]
    again = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "started" not in again
    assert again.splitlines()[-2:] == text.splitlines()[-2:]


@pytest.mark.usefixtures("_run")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("evaluate", "submit evaluate needs a run or a checkpoint"),
        ("evaluate nowhere", "there is no nowhere"),
        ("evaluate runs/small runs/small", "is given twice"),
        ("evaluate runs/small-rate=0.1", "there is no runs/small-rate=0.1"),
        ("evaluate runs/small --seed -1", "--seed is -1; give 0 to "),
        ("evaluate runs/small --parts 0", "--parts is 0; give 1 or more"),
        ("evaluate runs/small --parts 4 --games 7", "--games is 7; give 8 to "),
        ("evaluate runs/small --search puct --plies 2", "--plies 2 is of expectimax"),
        ("evaluate runs/small search.plies=2", "search.plies=2"),
        ("evaluate runs/small --seeds 1-2", "--seeds is of a training, and submit evaluate trains nothing"),
        ("evaluate runs/small run.seed=2", "run.seed=2 is of a training"),
        ("evaluate runs/small --on nowhere.yaml", "--on nowhere.yaml: there is no nowhere.yaml"),
        ("small.yaml --seed 3", "--seed is of an evaluation: add --then-evaluate, or leave it out; seeds of runs are"),
        ("small.yaml --seed 0", "--seed is of an evaluation: add --then-evaluate, or leave it out; seeds of runs are"),
        ("small.yaml --then-evaluate --search puct --plies 2", "--plies 2 is of expectimax"),
        ("small.yaml --then-evaluate --games 1", "--games is 1; give 2 to "),
    ],
)
def test_mistakes_are_one_line_and_start_nothing(words: str, line: str, mistake, monkeypatch):
    monkeypatch.setattr("subprocess.Popen", None)
    before = sorted(Path().rglob("*"))
    assert line in mistake("submit", *words.split())
    assert sorted(Path().rglob("*")) == before


def test_a_player_without_a_run_folder_needs_a_file(mistake):
    assert "random has no run folder that keeps its games: give --keep FILE" in mistake(
        "evaluate random --games 4 --keep"
    )
