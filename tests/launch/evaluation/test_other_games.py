"""Trainings and evaluations of other games on the command line, and what is for 2048 alone."""

import csv
import json
from pathlib import Path

import pytest

from launch.cli import main
from launch.evaluation.boards.notation import board_order
from launch.experiment.metrics_file import read_metrics
from launch.viewing.catalogue import Catalogue

CONFIG = """
learner: ntuple
run: {name: a, group: games, seed: 1, final_games: 50, evaluate_env_steps: 0}
ntuple: {network: ["0123"], threads: 1, env_steps: 20_000, report_env_steps: 20_000}
"""
ONLY_2048 = "for 2048 alone so far; its games can be counted: muzero2048 evaluate runs/threes"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of each of three games."""
    folder = tmp_path_factory.mktemp("games")
    config = folder / "config.yaml"
    config.write_text(CONFIG)
    for game in ("2048", "2584", "threes"):
        words = [f"ntuple.game={game}", f"run.name={game}", f"run.runs_folder={folder / 'runs'}"]
        assert main(["train", str(config), *words]) == 0
    return folder


@pytest.fixture(autouse=True)
def in_folder(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained)


def test_a_training_reports_the_tiles_of_its_game() -> None:
    for game, tiles in (("2048", {2048, 8192, 32768}), ("2584", {2584, 6765, 17711}), ("threes", {384, 1536, 6144})):
        row = read_metrics(Path("runs", game))[0]
        assert {int(name.rpartition("_")[2]) for name in row if name.startswith("train/reach_")} == tiles


def test_results_name_the_game_and_are_never_averaged(capsys: pytest.CaptureFixture) -> None:
    assert main(["evaluate", *(f"runs/{game}" for game in ("threes", "2048", "2584")), "--games", "20",
                 "--csv", "all.csv"]) == 0  # fmt: skip
    assert "threes 4x4" in capsys.readouterr().out
    with Path("all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["board"] for row in rows} == {"4x4", "2584 4x4", "threes 4x4"}
    assert [bool(row["reach_384"]) for row in rows] == [True, False, False]
    assert [bool(row["reach_2584"]) for row in rows] == [False, False, True]
    assert main(["compare", "runs/2048", "runs/2584", "runs/threes", "--out", "page"]) == 0
    with Path("page", "groups.csv").open() as file:
        assert len({row["group"] for row in csv.DictReader(file)}) == 3
    with Path("page", "differences.csv").open() as file:
        assert not list(csv.DictReader(file))


@pytest.mark.parametrize("search", [["expectimax", "--plies", "2"], ["mcts", "--simulations", "20"]])
def test_searches_play_other_games(search: list[str], capsys: pytest.CaptureFixture) -> None:
    for game in ("2584", "threes"):
        assert main(["evaluate", f"runs/{game}", "--games", "2", "--json", "--search", *search]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["board"] == f"{game} 4x4"
        assert result["score_mean"] > 0


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["moves runs/threes --position", "0 0 / 0 0"], "boards of players are shown"),
        (["replay runs/threes --games 2"], "boards of players are shown"),
        (["evaluate runs/threes --games 2 --keep"], "games are written as records"),
        (["evaluate runs/threes --games 2 --records games.txt"], "games are written as records"),
        (["diagnose runs/threes"], "values are held against returns (without them: --games 0)"),
    ],
)
def test_what_is_for_2048_alone_says_so(words: list[str], what: str, mistake) -> None:
    assert mistake(*words) == f"runs/threes plays threes, and {what} {ONLY_2048}"


def test_the_page_of_serve_has_no_run_of_another_game(mistake) -> None:
    names = [agent["id"] for agent in Catalogue([], Path("runs")).listing()["agents"]]
    assert "2048" in names
    assert not {"2584", "threes"} & set(names)
    line = "runs/threes plays threes, and the page is of 2048 alone so far; give runs of 2048"
    assert mistake("serve runs/threes") == line


def test_2048_comes_first_among_boards() -> None:
    boards = ["threes 4x4", "2x3", "2584 3x3", "4x4", "2584 4x4"]
    assert sorted(boards, key=board_order) == ["4x4", "2x3", "2584 4x4", "2584 3x3", "threes 4x4"]
