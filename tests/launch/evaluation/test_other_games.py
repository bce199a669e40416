"""Trainings, evaluations, records and advice of other games on the command line, and what is for 2048 alone."""

import csv
from pathlib import Path

import pytest

from launch.cli import main
from launch.errors import UserError
from launch.evaluation.boards.notation import board_order, format_state, parse_state
from launch.evaluation.loading import load_player
from launch.evaluation.records.regret import load_solution
from launch.evaluation.search_options import SearchOptions
from launch.experiment.metrics_file import read_metrics
from launch.viewing.agent_process import answer
from launch.viewing.catalogue import Catalogue
from launch.viewing.game import describe, make_move, open_game
from ntuple.core.games.event_codes import event_code, event_text
from ntuple.core.games.known import GAMES
from tests.launch.evaluation.records.test_records_of_games import placed
from tests.launch.viewing.replayed_page import data_of

CONFIG = """
learner: ntuple
run: {name: a, group: games, seed: 1, final_games: 50, evaluate_env_steps: 0}
ntuple: {network: ["0123"], threads: 1, env_steps: 20_000, report_env_steps: 20_000}
"""


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
def test_searches_play_other_games(search: list[str], last_json) -> None:
    for game in ("2584", "threes"):
        result = last_json("evaluate", f"runs/{game}", "--games", "2", "--search", *search)
        assert result["board"] == f"{game} 4x4"
        assert result["score_mean"] > 0


BOARDS = {
    "2584": "1 2 3 5 / 8 1 0 0 / 0 0 0 13 / 0 0 0 1",
    "threes": "1 2 3 6 / 48 1 0 0 / 0 0 0 12 / 0 0 0 3 +2",
}


@pytest.mark.parametrize(
    "search",
    [[], ["--search", "expectimax"], pytest.param(["--search", "mcts", "--simulations", "50"], marks=pytest.mark.slow)],
)
def test_moves_are_valued(search: list[str], last_json) -> None:
    for game, board in BOARDS.items():
        advice = last_json("moves", f"runs/{game}", "--position", board, *search)
        assert advice["position"] == board
        truth = {
            name: GAMES[game].move(parse_state(board, 4, 4, GAMES[game]), action)
            for action, name in enumerate(("up", "right", "down", "left"))
        }
        points = {name: move.points for name, move in truth.items() if move}
        assert {name: move["reward"] for name, move in advice["moves"].items()} == points
        if "mcts" in search:
            events = {
                event_text(GAMES[game], event_code(GAMES[game], placed(truth[advice["action"]].after, event)), 4): event
                for event in GAMES[game].events(truth[advice["action"]].after)
            }
            assert {chance["spawn"] for chance in advice["chances"]} <= set(events)
            for chance in advice["chances"]:
                assert chance["probability"] == pytest.approx(float(events[chance["spawn"]].chance))


def test_the_hint_counts() -> None:
    player = load_player("runs/threes", SearchOptions(search="expectimax"))
    tiles = BOARDS["threes"].partition("+")[0]
    found = [[move.value for move in player.advise(f"{tiles}+{hint}").moves.values()] for hint in (1, 2, 3)]
    assert found[0] != found[1] != found[2]
    bags = [player.advise(f"{tiles}+1 bag {bag}").moves for bag in ("1 4 4", "4 0 4")]
    assert bags[0] != bags[1]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("+7", "the hint is 7; threes has hints from 1 to 4"),
        (
            "",
            "threes tells the next tile; give the hint after the tiles, +1 to +4, and perhaps the bag, such as +1 bag",
        ),
        ("+1 bag 9 4 4", "the bag is (9, 4, 4); it holds 3 counts from 0 to 4"),
        ("+1 bag 0 0 0", "the bag is empty, but it is filled again when the last tile is drawn"),
        ("+4", "a bonus tile comes only after a tile of 48"),
    ],
)
def test_impossible_hints_are_refused(words: str, line: str, mistake) -> None:
    board = f"1 2 3 6 / 3 1 0 0 / 0 0 0 12 / 0 0 0 3 {words}"
    assert line in mistake("moves runs/threes --position", board)
    assert "2584 tells no hint; give the tiles alone" in mistake("moves runs/2584 --position", f"{BOARDS['2584']} +1")
    assert "column 1 is '7'; give a tile of 2584 from" in mistake("moves runs/2584 --position", "7 0 0 0 / 0 0 0 0")


@pytest.mark.parametrize("game", ["2584", "threes"])
def test_games_are_recorded_judged_and_kept(game: str, last_json) -> None:
    words = ["evaluate", f"runs/{game}", "--games", "6", "--keep"]
    result = last_json(*words, "--records", f"{game}.txt")
    assert Path(f"{game}.txt").read_text().startswith(f"% board {game} 4x4\n")
    judged = last_json("judge", f"{game}.txt", "--whole")
    assert (judged["board"], judged["correct"]) == (f"{game} 4x4", 6)
    assert (judged["score_mean"], judged["reach"]) == (result["score_mean"], result["reach"])
    assert last_json(*words)["score_mean"] == result["score_mean"]  # all games are there
    assert main(["judge", f"{game}.txt", "--game", "2048"]) == 2


def test_values_are_held_against_returns(last_json) -> None:
    assert last_json("diagnose", "runs/threes", "--games", "4", "--depth", "1")["values"]["games"] == 4


@pytest.mark.slow
def test_regret_is_what_the_score_lacks(last_json) -> None:
    """Threes! on 2x3: the mean regret and the mean score make up the optimum, within the error of 400 games."""
    words = ["ntuple.game=threes", "ntuple.rows=2", "ntuple.columns=3", "run.name=small"]
    assert main(["train", "config.yaml", *words]) == 0
    assert main(["solve", "--board", "2x3", "--game", "threes", "--out", "threes.solution"]) == 0
    result = last_json("evaluate", "runs/small", "--games", "400", "--solution", "threes.solution")
    half = (result["score_high"] - result["score_low"]) / 2
    assert result["score_mean"] + result["regret_a_game"] == pytest.approx(455.965665, abs=2 * half)
    assert result["regret_worst_position"].count("+") == 1
    with pytest.raises(UserError, match="a solution of threes 2x3, but the games are of 2584 2x3"):
        load_solution(Path("threes.solution"), "2584", 2, 3)


def test_the_page_of_serve_offers_them_on_their_boards() -> None:
    listing = Catalogue([], Path("runs")).listing()
    agents = {agent["id"]: agent for agent in listing["agents"]}
    assert (agents["threes"]["board"], agents["2584"]["board"]) == ("threes 4x4", "2584 4x4")
    assert {"4x4", "threes 4x4", "2584 4x4"} <= set(listing["boards"])
    assert "4x4" in agents["heuristic"]["boards"]
    assert not {"threes 4x4", "2584 4x4"} & set(agents["heuristic"]["boards"])


def test_a_process_of_a_player_answers_on_other_games() -> None:
    for path, board in (("runs/threes", None), ("random", "2584 3x3")):
        player = load_player(path, SearchOptions(), board)
        game, board = player.definition, player.board
        opening = open_game(board, 3)
        question = {"board": board, "position": format_state(opening.state, game), "seed": 3, "moves": 0, "count": 5}
        steps = answer(player, question)["steps"]
        state = opening.state
        for moves, step in enumerate(steps):
            made = make_move(state, game, step["advice"]["action"], 3, moves)
            assert step["after"] == describe(made.state, game)
            state = made.state


def test_simple_players_play_on_named_boards(last_json, mistake) -> None:
    result = last_json("evaluate", "greedy", "--board", "threes-easy 4x4", "--games", "400")
    assert result["board"] == "threes-easy 4x4"
    assert 500 < result["score_mean"] < 900  # of the course's greedy player 690
    assert mistake("evaluate heuristic --board", "threes 4x4") == (
        "heuristic plays 2048 alone, not threes; give random, greedy, or a run"
    )
    assert "there is no game 'chess'; give one of" in mistake("evaluate random --board", "chess 4x4")
    assert "'threes-easy 2x3': threes-easy begins with 9 tiles" in mistake("evaluate random --board", "threes-easy 2x3")


def test_a_replay_shows_them() -> None:
    for game in ("threes", "2584"):
        assert main(["replay", f"runs/{game}", "--games", "2", "--out", f"{game}.html"]) == 0
        data = data_of(Path(f"{game}.html"))
        assert data["tiles"] == list(GAMES[game].tiles)
        for one in data["games"]:
            gain = data["arrays"]["gain"][one["start"] : one["start"] + one["moves"]]
            assert one["opening"] + gain.sum() == one["score"]
        hints = {data["hints"][hint] for hint in data["arrays"]["hint"].tolist()}
        assert hints >= ({"1", "2", "3"} if game == "threes" else {""})


def test_2048_comes_first_among_boards() -> None:
    boards = ["threes 4x4", "2x3", "2584 3x3", "4x4", "2584 4x4"]
    assert sorted(boards, key=board_order) == ["4x4", "2x3", "2584 4x4", "2584 3x3", "threes 4x4"]
