"""The page of `replay`: its numbers against `moves`, the exact solution and plain rules; files that are hostile."""

import base64
import dataclasses
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import positions, rules

from launch.cli import main
from launch.evaluation.boards.analyse import NAMES
from launch.evaluation.boards.notation import format_position
from launch.evaluation.boards.views import View, losses
from launch.evaluation.records.game_log import LoggedGame
from launch.evaluation.records.played import Game, game_of, read_games
from launch.evaluation.records.record import parse_record
from launch.evaluation.records.regret import load_solution, regret_of
from launch.viewing.replay import replay as replay_module
from launch.viewing.replay.games import choose_game, shown_games
from launch.viewing.replay.page import ReplayContent, pack, render
from launch.viewing.replay.summary import Bin, LastMove, calibrate, last_moves
from tests.launch.viewing.replayed_page import DATA, boards_of_page, lines_of, replay, unpacked

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"'"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the solution of 2x2 and of 2x3, and 12 games of each by the greedy player."""
    folder = tmp_path_factory.mktemp("files")
    for board in ("2x2", "2x3"):
        assert main(["solve", "--board", board, "--out", str(folder / f"{board}.solution")]) == 0
        words = ["evaluate", "greedy", "--board", board, "--games", "12", "--seed", "5"]
        assert main([*words, "--records", str(folder / f"{board}.txt")]) == 0
    return folder


# What is on the page


def test_boards_points_and_spawns_are_those_of_the_plain_rules(files: Path):
    data = replay(files / "2x3.txt")
    arrays, boards = data["arrays"], boards_of_page(data)
    rewards = arrays["reward"].reshape(-1, 4)
    assert data["tiles"] == [0, *(2**level for level in range(1, 18))]
    assert [game["number"] for game in data["games"]] == list(range(1, 13))
    for game, line in zip(data["games"], lines_of(files / "2x3.txt"), strict=True):
        record, at = parse_record(line), game["start"]
        assert game["moves"] == len(record.actions)
        for action, spawn in zip(record.actions.tolist(), record.spawns.tolist(), strict=True):
            board = positions.as_board(boards[at])
            legal = rules.legal_actions(board)
            points = [rules.afterstate(board, a)[1] if is_legal else -1 for a, is_legal in enumerate(legal)]
            assert (rewards[at].tolist(), int(arrays["made"][at])) == (points, action)
            after = np.array(rules.afterstate(board, action)[0])
            after[divmod(spawn // 2, 3)] = 1 + spawn % 2
            at += 1
            assert np.array_equal(boards[at], after)
            assert arrays["spawn"][at] == spawn // 2
        assert arrays["made"][at] == -1
        assert game["over"]
        assert game["tile"] == 2 ** boards[at].max()
        assert game["score"] == record.rewards.sum()


def test_values_are_those_of_moves(files: Path, last_json):
    data = replay(files / "2x3.txt", "--games", "2", "--player", "heuristic", "search.plies=2")
    own, boards, rewards = data["views"]["own"], boards_of_page(data), data["arrays"]["reward"]
    assert (own["name"], own["unit"]) == ("heuristic, expectimax-p2", "ply")
    for at in range(0, len(boards), 5):
        words = ["heuristic", "--board", "2x3", "--plies", "2"]
        advice = last_json("moves", *words, "--position", format_position(boards[at]))
        found = {
            name: {"reward": rewards[4 * at + a], "value": own["value"][4 * at + a], "ply": own["effort"][4 * at + a]}
            for a, name in enumerate(NAMES)
            if rewards[4 * at + a] >= 0
        }
        assert found == advice["moves"]
        assert advice["action"] == (NAMES[own["action"][at]] if own["action"][at] >= 0 else None)


@pytest.mark.parametrize("board", ["2x2", "2x3"])
def test_losses_are_the_regret(files: Path, board: str):
    solution = files / f"{board}.solution"
    data = replay(files / f"{board}.txt", "--judge", str(solution))
    value, made = data["views"]["judge"]["value"].reshape(-1, 4), data["arrays"]["made"]
    lost = losses(value, made)
    logged = [LoggedGame(i, 0, 0, 0, 0.0, line) for i, line in enumerate(lines_of(files / f"{board}.txt"))]
    regret = regret_of(load_solution(solution, "2048", *map(int, board.split("x"))), logged)
    assert np.nansum(lost) / 12 == pytest.approx(regret.a_game, rel=1e-12)
    assert np.nanmean(lost) == pytest.approx(regret.a_move, rel=1e-12)
    worst = data["mistakes"][0]
    assert worst["loss"] == regret.worst > 0
    assert "URDL"[made[worst["at"]]] == regret.worst_move
    assert format_position(boards_of_page(data)[worst["at"]]) == regret.worst_position
    for mistake in data["mistakes"]:
        row, at = value[mistake["at"]], made[mistake["at"]]
        assert mistake["loss"] == row[mistake["better"]] - row[at] == row.max() - row[at]
    shown = [mistake["loss"] for mistake in data["mistakes"]]
    assert shown == sorted(shown, reverse=True) == sorted(lost[lost > 0].tolist(), reverse=True)[: len(shown)]
    assert f"{regret.a_game:,.2f} a game, {regret.a_move:,.3f} a move" in Path("replay.html").read_text()


def test_a_judge_of_some_moves(files: Path):
    words = ["--games", "3", "--judge", str(files / "2x3.solution"), "--judge-every", "7"]
    data = replay(files / "2x3.txt", *words)
    judged = np.isfinite(data["views"]["judge"]["value"].reshape(-1, 4)).any(axis=1)
    wanted = [game["start"] + t for game in data["games"] for t in range(0, game["moves"], 7)]
    assert np.flatnonzero(judged).tolist() == wanted
    assert {mistake["at"] for mistake in data["mistakes"]} <= set(wanted)
    assert "asked at moves 0, 7, 14, ..." in Path("replay.html").read_text()


def test_a_player_plays_and_another_search_of_it_judges(capsys):
    words = ["--board", "2x2", "--games", "4", "--seed", "3", "--plies", "1", "--game", "worst"]
    data = replay("heuristic", *words, "--judge", "heuristic", "--judge-plies", "3")
    assert {name: view["name"] for name, view in data["views"].items()} == {
        "own": "heuristic, expectimax-p1",
        "judge": "heuristic, expectimax-p3",
    }
    scores = [game["score"] for game in data["games"]]
    assert scores[data["first"]] == min(scores)
    assert capsys.readouterr().out.splitlines()[-1].startswith("replay.html: 4 of 4 games with ")


def test_without_a_judge_the_page_says_so(files: Path):
    data = replay(files / "2x3.txt", "--player", "heuristic", "--plies", "1")
    lost = losses(data["views"]["own"]["value"].reshape(-1, 4).astype(float), data["arrays"]["made"])
    assert data["mistakes"][0]["loss"] == np.nanmax(lost) > 0
    assert "There is no judge: these are the player&#x27;s own values." in Path("replay.html").read_text()
    assert replay(files / "2x3.txt")["mistakes"] == []
    page = Path("replay.html").read_text()
    assert "Nobody values these positions" in page
    names = re.findall(r'\sid="([\w-]+)"', page)
    assert len(names) == len(set(names)) > 20  # of two elements with one name, the script finds the first


# Figures over all games


def test_calibration_by_hand():
    """Bins 0 to 5 and 5 to 10; a value on the edge belongs to the upper one; an unknown value is left out."""
    predicted = np.array([0.0, 4.0, 5.0, 9.0, 10.0, np.nan])
    actual = np.array([2, 4, 3, 9, 12, 1000])
    game = np.array([1, 1, 1, 2, 2, 3])
    assert calibrate(predicted, actual, game, bins=2) == [Bin(0, 5, 2, 1, 2, 3), Bin(5, 10, 3, 2, 8, 8)]
    assert calibrate(np.array([np.nan]), np.array([1]), np.array([1])) == []


def values_and_rests(data: dict[str, Any], file: Path, stride: int = 1) -> list[tuple[float, int]]:
    """Return the value of each move made, and the points of the record from this move on."""
    pairs, value = [], data["views"]["own"]["value"].reshape(-1, 4)
    for game, record in zip(data["games"], map(parse_record, lines_of(file)), strict=True):
        for t in range(0, game["moves"], stride):
            pairs.append((value[game["start"] + t][record.actions[t]], record.rewards[t:].sum()))
    return pairs


def test_calibration_of_some_moves_of_games_that_the_page_does_not_hold(files: Path, monkeypatch):
    """The page holds one game; every third move of all games counts, with the values of a page of all games."""
    words = ["--player", "heuristic", "--plies", "1"]
    whole = replay(files / "2x3.txt", *words)
    pairs = values_and_rests(whole, files / "2x3.txt", stride=3)
    monkeypatch.setattr(replay_module, "MOST_SHOWN", 1)
    monkeypatch.setattr(replay_module, "MOST_CALIBRATED", sum(game["moves"] for game in whole["games"]) // 3 + 1)
    data = replay(files / "2x3.txt", *words, "--game", "2")
    assert [game["number"] for game in data["games"]] == [2]
    counts = [found["positions"] for found in data["bins"]]
    assert sum(counts) == len(pairs)
    for place, name in enumerate(("predicted", "actual")):
        total = sum(count * found[name] for count, found in zip(counts, data["bins"], strict=True))
        assert total == pytest.approx(sum(pair[place] for pair in pairs))
    assert "moves 0, 3, 6, ... of the games" in Path("replay.html").read_text()


def make_game(number: int, boards: list[list[int]], over: bool = True, side: int = 2) -> Game:
    """Return a game of square boards of 2048 with points of 4 a move."""
    levels = np.array(boards, np.uint8).reshape(-1, side, side)
    count, rewards = len(levels), np.full((len(levels), 4), 4)
    rewards[-1] = -1 if over else 4
    made, spawns = np.zeros(count - 1, np.int8), np.zeros(count - 1, np.int16)
    return Game(number, made, spawns, levels, rewards, np.zeros(count, np.uint16), np.zeros(count, np.int64))


def test_ends_by_hand():
    games = [
        make_game(1, [[1, 1, 0, 0], [2, 1, 0, 3]]),
        make_game(2, [[1, 0, 0, 0], [1, 1, 1, 0], [2, 1, 1, 3]]),
        make_game(3, [[1, 0, 0, 0], [5, 0, 0, 0]], over=False),
    ]
    expected = [(0, 2, 0.25, 0.5, 0.75), (1, 2, 1.25, 1.5, 1.75), (2, 1, 3, 3, 3)]
    assert last_moves(games) == [LastMove(*row) for row in expected]
    assert [game.rest.tolist() for game in games] == [[4], [8, 4], [4]]


def test_the_choice_of_games():
    games = [make_game(i, [[1, 1, 0, 0]] * (moves + 1)) for i, moves in enumerate((5, 9, 2, 7), 1)]
    assert [choose_game(games, choice) for choice in ("best", "worst", "median", "1", "4")] == [1, 2, 0, 0, 3]
    assert [game.number for game in shown_games(games, 2, most=9)] == [1, 3]
    assert [game.number for game in shown_games(games, 1, most=3)] == [2]
    assert len(shown_games(games, 0, most=23)) == 4


# The file


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 255], "Uint8Array"),
        ([-1, 127], "Int8Array"),
        ([-1, 128], "Int16Array"),
        ([-1, 2**31 - 1], "Int32Array"),
        ([2**40, 1], "Float64Array"),
        ([0.5, np.nan, -np.inf], "Float32Array"),
        ([0.1, np.nan], "Float64Array"),
    ],
)
def test_an_array_is_stored_exactly_and_small(values: list[float], kind: str):
    packed = pack(np.array(values))
    assert packed["type"] == kind
    assert np.array_equal(unpacked(packed).tolist(), values, equal_nan=True)


def test_a_page_of_20_000_moves_has_less_than_5_mb(rng: np.random.Generator):
    """Numbers of every kind that need most room: all values in float64, points and visits in 32 bits."""
    moves = 20_000
    rewards = rng.integers(0, 131_072, (moves + 1, 4))
    rewards[-1] = -1
    actions, spawns = (rng.integers(0, most, moves).astype(np.int16) for most in (4, 32))
    game = make_game(1, rng.integers(0, 18, (moves + 1, 4, 4)), side=4)
    game = dataclasses.replace(game, actions=actions, spawns=spawns, rewards=rewards)
    view = View("n", "visits", np.zeros(moves + 1, np.int8), rng.random((moves + 1, 4)), rewards + 100_000)
    text = page_of(game, view, view)
    assert 3e6 < len(text.encode()) < 5e6


def test_a_position_shows_its_table_of_an_endgame(last_json, monkeypatch):
    assert main(["endgame", "LLLL/LL../..../....", "--target", "8", "--out", "line.endgame"]) == 0
    search = ["--plies", "1", "search.endgames=[line.endgame]"]
    data = replay("heuristic", "--games", "3", "--seed", "1", *search)
    own = data["views"]["own"]
    (places,) = np.nonzero(own["table"] >= 0)
    assert len(places)
    assert set(own["table"]) == {-1, 0}
    position = format_position(boards_of_page(data)[places[0]])
    truth = last_json("moves", "heuristic", "--position", position, *search)["endgame"]
    assert own["tables"] == [truth["table"]]
    shown = own["probability"].reshape(-1, 4)[places[0]].tolist()
    assert shown == [truth["probabilities"].get(name, -1) for name in NAMES]
    monkeypatch.setattr(replay_module, "MOST_SHOWN", 1)
    data = replay("heuristic", "--games", "3", "--seed", "1", "--game", "2", *search)
    (game,) = data["games"]
    own = data["views"]["own"]
    assert (len(own["table"]), len(own["probability"])) == (game["moves"] + 1, 4 * (game["moves"] + 1))


def page_of(game: Game, own: View, judge: View | None = None) -> str:
    board = "x".join(map(str, game.boards.shape[1:]))
    content = ReplayContent(
        origin="x", board=board, all_games=[game], games=[game], first=0,
        own=own, judge=judge, judge_every=1, bins=[], stride=1,
    )  # fmt: skip
    return render(content)


def scripts_of(text: str) -> list[str]:
    return re.findall(r"<script[^>]*>", text)


def test_a_hostile_record_is_text(files: Path):
    """Its note and name are shown; the page has its own two scripts, one of them with the hash of the policy."""
    name = "<img src=x onerror=alert(3)>.txt"
    lines = (files / "2x3.txt").read_text().splitlines()
    Path(name).write_text("\n".join([f"% board 2x3 {HOSTILE}", *lines[1:]]))
    assert main(["replay", name, "--games", "1"]) == 0
    text = Path("replay.html").read_text()
    assert scripts_of(text) == ['<script type="application/json" id="data">', "<script>"]
    assert text.count("</script") == 2
    assert "<img" not in text
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text
    script = re.search(r"<script>(.*)</script>", text, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text)[1]
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_the_name_of_a_player_is_text():
    game = game_of(1, parse_record("0131 #D 01"), 2, 2)
    view = View(HOSTILE, "ply", np.full(2, -1, np.int8), np.full((2, 4), np.nan), np.zeros((2, 4), np.int64))
    text = page_of(game, view)
    assert len(scripts_of(text)) == text.count("</script") == 2
    assert "<img" not in text
    assert json.loads(DATA.search(text)[1])["views"]["own"]["name"] == HOSTILE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0112 #D 01 #R", "line 1, number 6, column 14: missing spawn, the line ends"),
        ("% board 2x2\n0112 #U 21", "line 2, number 3: illegal move, #U"),
        ('{"format": "muzero2048 games 2"}', "line 1, number 1, column 1: unreadable text"),
        ("", "holds no game"),
    ],
)
def test_a_bad_file_gives_one_line(mistake, content: str, message: str):
    Path("bad.txt").write_text(content)
    line = mistake("replay bad.txt")
    assert message in line
    assert line.startswith("bad.txt")
    assert not Path("replay.html").exists()


def test_a_game_without_moves_and_one_that_stops():
    Path("short.txt").write_text("% board 2x2\n0112\n0112 #D 01\n")
    games, board, note = read_games(Path("short.txt"), None, None)
    assert (board, note) == ("2x2", "")
    assert [(game.moves, game.is_over) for game in games] == [(0, False), (1, False)]
    assert main(["replay", "short.txt", "--player", "heuristic", "--judge", "heuristic"]) == 0
    text = Path("replay.html").read_text()
    assert "2 of 2 games stop before they are over" in text
    assert "no game is over" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nowhere", "there is no nowhere; give a run, a checkpoint, or a file of game records"),
        ("{f}/2x3.txt --out page.txt", "--out is page.txt; give a name that ends with .html"),
        ("{f}/2x3.txt --out no/page.html", "--out no/page.html: there is no folder "),
        ("{f}/2x3.txt --out /proc/page.html", "--out /proc/page.html: cannot write to /proc: "),
        ("{f}/2x3.txt --game 13", "--game is 13; give 1 to 12, or one of best, worst, median"),
        ("{f}/2x3.txt --game first", "--game is first"),
        ("heuristic --board 2x2 --plies 1 --games 2 --game ²", "--game is ²; give 1 to 2"),  # a digit, but no number
        ("{f}/2x3.txt --games 0", "--games is 0"),
        ("{f}/2x3.txt --seed 1", "--seed is for games that are played"),
        ("{f}/2x3.txt --board 2x2", "the header says 2x3"),
        ("{f}/2x3.txt --plies 2", "--plies 2 is the search of a player; add --player PATH"),
        ("{f}/2x3.txt --judge-plies 2", "the options of a judge need one; add --judge PATH"),
        ("{f}/2x3.txt --judge-every 2", "the options of a judge need one"),
        ("{f}/2x3.txt --judge heuristic --judge-every 0", "--judge-every is 0"),
        ("{f}/2x3.txt --judge greedy", "--judge greedy: it gives no values"),
        ("{f}/2x3.txt --judge nowhere", "--judge: there is no nowhere"),
        ("{f}/2x3.txt --judge {f}/2x2.solution", "a solution of 2x2, but the games are of 2x3"),
        ("greedy --judge {f}/2x2.solution", "4x4 has no exact solution; give a player that searches: --judge PATH "),
        ("{f}/2x3.txt --judge {f}/2x3.txt", "2x3.txt"),
        ("{f}/2x3.txt --judge {f}/2x3.solution --judge-plies 2", "is a solution and does not search"),
        ("{f}/2x3.txt --judge heuristic --judge-search mcts", "leave out --judge-search mcts"),
        ("heuristic --board 2x2 --player greedy", "--player is for a file of records"),
        ("heuristic --board 2x2 --games 3 --game 4", "3 games are played; give more --games"),
    ],
)
def test_a_mistake_gives_one_line(files: Path, mistake, words: str, message: str):
    assert message in mistake("replay", *words.format(f=files).split())
    assert not list(Path().rglob("*.html"))


def test_a_mistyped_game_is_refused_before_games_are_played(mistake, monkeypatch):
    monkeypatch.setattr(replay_module, "play_games", None)
    for game in ("bset", "0"):
        assert f"--game is {game}; give 1 to 2" in mistake(f"replay heuristic --board 2x2 --games 2 --game {game}")


def test_ctrl_c_keeps_nothing_and_says_so(files: Path, capsys, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replay_module, "exact_view", interrupted)
    assert main(["replay", str(files / "2x3.txt"), "--judge", str(files / "2x3.solution")]) == 130
    assert capsys.readouterr().err == "stopped: no page is written\n"
    assert not list(Path().iterdir())


def test_games_of_a_checkpoint_that_plays_another_board_are_refused(files: Path, toy_yaml: Path, capsys, mistake):
    main(["train", "toy.yaml"])
    capsys.readouterr()
    for words in (["--player", "runs/one"], ["--judge", "runs/one"]):
        assert "runs/one plays 2x3, but the games are of 2x2" in mistake("replay", str(files / "2x2.txt"), *words)
