"""`evaluate --against`: the adversary that is asked for places the tiles, and results say so."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launch.cli import main


@pytest.mark.slow
def test_results_name_the_adversary(run: str, last_json: Callable[..., Any]) -> None:
    found = last_json("evaluate", run, "--against", "adversary", "--games", "20", "--seed", "3")
    assert found["search"] == "1ply-against-minimax-p1-small"
    assert found["against"] == {"opponent": "minimax", "plies": 1, "values": "small"}
    assert len(list(Path(run, "evaluations").glob("*-1ply-against-minimax-p1-small-20games-seed3.json"))) == 1
    drawn = last_json("evaluate", run, "--games", "20", "--seed", "3")
    assert "against" not in drawn
    assert found["score_mean"] < drawn["score_mean"] / 2


@pytest.mark.slow
def test_the_search_expects_the_adversary_unless_told_otherwise(run: str, last_json: Callable[..., Any]) -> None:
    words = ("evaluate", run, "--search", "expectimax", "--plies", "2", "--games", "200", "--seed", "3", "--against")
    right = last_json(*words, "expectiminimax")
    assert right["search_config"]["opponent"] == "expectiminimax"
    assert right["search"] == "expectimax-p2-opponent=expectiminimax-against-expectiminimax-p1-small"
    wrong = last_json(*words, "expectiminimax", "search.opponent=chance")
    assert wrong["search"] == "expectimax-p2-against-expectiminimax-p1-small"
    assert wrong["score_mean"] != right["score_mean"]


def test_the_loss_against_an_adversary_is_that_of_its_solution(
    run: str, last_json: Callable[..., Any], mistake: Callable[..., str]
) -> None:
    """Points and losses of a game add up to its exact value at least: an adversary that errs gives more away."""
    assert main(["solve", "--board", "2x3", "--against", "minimax", "--out", "worst.solution"]) == 0
    words = ("--against", "minimax", "--games", "30", "--seed", "3", "--solution", "worst.solution")
    found = last_json("evaluate", run, *words)
    assert found["regret_optimum"] == pytest.approx(43.72)
    assert found["score_mean"] + found["regret_a_game"] >= 40  # the least value of an opening
    assert found["score_mean"] < found["regret_optimum"] + found["regret_a_game"]
    other = ("evaluate", run, "--games", "4", "--solution", "worst.solution")
    line = "worst.solution: minimax places its tiles, and chance those of the games; solve without --against"
    assert mistake(*other) == line
    line = "worst.solution: minimax places its tiles, and expectiminimax those of the games; solve with --against "
    assert mistake(*other, "--against", "expectiminimax").startswith(line)


def test_any_player_meets_the_adversary_of_another_run(run: str, last_json: Callable[..., Any]) -> None:
    words = ("--board", "2x3", "--games", "50", "--against", "minimax", "--adversary")
    found = {values: last_json("evaluate", "random", *words, values) for values in (run, "heuristic")}
    assert re.fullmatch("against-minimax-p1-small-[0-9a-f]{8}", found[run]["search"])
    assert found["heuristic"]["against"]["values"] == "heuristic"
    deeper = last_json("evaluate", "heuristic", *words, "heuristic", "--adversary-plies", "2")
    assert deeper["search"].endswith("-against-minimax-p2-heuristic")
    assert deeper["search_config"]["opponent"] == "minimax"


def test_games_do_not_depend_on_their_number(run: str, last_json: Callable[..., Any]) -> None:
    """Also where a search takes remembered values of deeper searches."""
    words = ("--search", "expectimax", "--against", "minimax", "--seed", "3", "search.takes_deeper=true")
    for games in ("10", "60"):
        last_json("evaluate", run, *words, "--games", games, "--keep", f"{games}.jsonl")
    some, all_of_them = (
        {game["number"]: game["score"] for game in map(json.loads, Path(file).read_text().splitlines()[1:])}
        for file in ("10.jsonl", "60.jsonl")
    )
    assert len(some) == 10
    assert some.items() <= all_of_them.items()


def test_the_leaderboard_leaves_them_out(
    run: str, last_json: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    last_json("evaluate", run, "--against", "minimax", "--games", "100")
    assert main(["leaderboard", run, "--out", "board.md"]) == 0
    assert "its tiles were placed by an adversary; evaluate without --against" in capsys.readouterr().out
    assert "against-minimax" not in Path("board.md").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "random --against nobody --adversary heuristic",
            "--against nobody: there is no opponent 'nobody'; give one of",
        ),
        ("random --against chance --adversary heuristic", "--against chance: the game itself; leave it out"),
        ("random --against adversary", "random has no n-tuple values for an adversary; give --adversary"),
        ("RUN --against minimax --adversary-plies 9", "--adversary-plies 9; give 1 to 8"),
        ("RUN --against minimax --adversary-plies 0", "--adversary-plies 0; give 1 to 8"),
        ("RUN --adversary heuristic", "--adversary heuristic is of an opponent; add --against adversary"),
        ("random --against minimax --adversary RUN", "--adversary RUN is of 2x3, and random plays 4x4; give one of it"),
        ("RUN --against minimax --snapshots", "--snapshots plays the game itself; leave out --against"),
        (
            "RUN --search expectimax --against minimax search.rectified=true",
            "search.rectified is True; give False with search.opponent=minimax",
        ),
    ],
)
def test_mistakes_are_one_line(run: str, mistake: Callable[..., str], words: str, says: str) -> None:
    assert says.replace("RUN", run) in mistake(f"evaluate {words.replace('RUN', run)} --games 4")
