"""The players that the page offers."""

import json
import shutil
from pathlib import Path

from launch.evaluation.search_options import SEARCHES
from launch.trained import PACKAGED
from launch.viewing.catalogue import Catalogue
from tests.launch.viewing.conftest import Client


def test_the_players_are_the_runs_and_those_without_training(client: Client):
    listing = json.loads(client.send("GET", "/api/agents")[2])
    boards = {"tiny": "2x3", "heuristic": None, "random": None, "greedy": None} | dict.fromkeys(PACKAGED, "4x4")
    assert {agent["id"]: agent["board"] for agent in listing["agents"]} == boards
    assert [search["name"] for search in listing["agents"][0]["searches"]] == [*SEARCHES]
    fields = {"board": "2x3", "position": "2 4 2 / 4 2 4", "seed": 0, "moves": 0, "agent": "random"}
    over = client.post("/api/ask", **fields, count=5)
    assert [step["advice"]["action"] for step in over["steps"]] == [None]


def test_the_run_with_the_highest_score_is_selected(runs: Path, tmp_path: Path):
    report = {"env_steps": 1, "games": 1, "updates": 1, "wall_hours": 1}
    evaluation = report | {"eval/score_low": 1, "eval/score_high": 999, "eval/games": 10}
    rows = {
        "a": [], "b": [evaluation | {"eval/score_mean": 90}], "c": [evaluation | {"eval/score_mean": 900}, report],
        "d": [{}], "e": [5],
    }  # fmt: skip
    for name, values in rows.items():
        shutil.copytree(runs / "tiny", tmp_path / name)
        (tmp_path / name / "metrics.jsonl").write_text("".join(f"{json.dumps(value)}\n" for value in values))
    shutil.copytree(runs / "tiny", tmp_path / "f")
    (tmp_path / "f" / "metrics.jsonl").write_text("{\n")
    agents = Catalogue([], tmp_path).listing()["agents"]
    assert [agent["id"] for agent in agents[:6]] == ["c", "b", "a", "d", "e", "f"]
    assert [agent["id"] for agent in Catalogue(["b", "c"], tmp_path).listing()["agents"][:2]] == ["b", "c"]
