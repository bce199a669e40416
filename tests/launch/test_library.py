"""The functions of `import muzero2048`: players, metrics and solutions, and the lines of their mistakes."""

import json
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from reference import rules
from typing_extensions import TypeAliasType

import muzero2048
from launch.arguments import checked
from launch.cli import main
from launch.evaluation.seeds import BASELINE_SEED


@pytest.fixture
def run(toy_yaml: Path) -> Path:
    assert main(["train", "toy.yaml", "run.seed=3"]) == 0
    return Path("runs/one")


def test_a_run_plays_and_advises(run: Path):
    player = muzero2048.load(run)
    weight = json.loads((run / "checkpoints/100/toy.json").read_text())["weight"]
    assert (player.name, player.rows, player.columns) == ("one, 1ply", 2, 3)
    assert player.play(games=3, seed=7).score.tolist() == [round(weight) + 7 + 100 * i for i in range(3)]
    advice = player.advise([[1, 1, 0], [0, 0, 2]])
    assert advice.position == "2 2 0 / 0 0 4"
    assert advice.action == "left"
    assert {name: move.value for name, move in advice.moves.items()} == {
        name: weight + points for points, name in enumerate(("up", "right", "down", "left"))
    }
    old = muzero2048.load(f"{run}/checkpoints/90")
    assert old.play(1).score[0] == round(json.loads((run / "checkpoints/90/toy.json").read_text())["weight"])


def test_boards_are_advised_on_in_one_batch_as_alone():
    player = muzero2048.load("heuristic", board="2x3", plies=1)
    boards = ["2 2 0 / 0 0 4", np.array([[2, 0, 0], [2, 0, 1]]), [[1, 2, 1], [2, 1, 2]]]
    together = player.advise_all(boards)
    assert together == [player.advise(board) for board in boards]
    assert [sorted(one.moves) for one in together] == [
        ["down", "left", "right", "up"], ["down", "left", "right", "up"], [],
    ]  # fmt: skip
    assert [one.action is None for one in together] == [False, False, True]
    assert together[0].moves["left"].reward == 4
    assert together[1].moves["up"].reward == 8
    assert player.advise_all([]) == []


def test_the_words_of_a_search_are_those_of_the_command(capsys):
    settings = {"rectified": True, "limits": [[1, 1], (2, 2)], "least_probability": 1e-5}
    player = muzero2048.load("heuristic", "expectimax", board="2x2", plies=2, settings=settings)
    position = "2 4 / 0 2"
    overrides = ["search.rectified=true", "search.limits=[[1,1],[2,2]]", "search.least_probability=0.00001"]
    words = ["--board", "2x2", "--plies", "2", "--position", position, *overrides]
    assert main(["moves", "heuristic", *words]) == 0
    assert capsys.readouterr().out.startswith(f"{player.name}: {position}\n")
    assert main(["moves", "heuristic", *words, "--json"]) == 0
    advice = player.advise(position)
    assert json.loads(capsys.readouterr().out) == advice.to_json()
    assert advice.action == ("up", "right", "down", "left")[advice.action_index]


def test_records_are_games_by_the_rules():
    player = muzero2048.load("greedy", board="2x2")
    records = player.record(games=20, seed=5)
    for record in records:
        board, score = ((0, 0), (0, 0)), 0
        for code in record.opening:
            board = rules.spawn(board, code)
        for action, spawn, reward in zip(record.actions, record.spawns, record.rewards, strict=True):
            best = max(rules.afterstate(board, move)[1] for move in rules.ACTIONS)
            after, points = rules.afterstate(board, int(action))
            assert after != board
            assert points == reward == best
            board, score = rules.spawn(after, int(spawn)), score + points
        assert rules.is_over(board)
        assert muzero2048.judge_record(record, 2, 2).score == score
    again = player.record(games=20, seed=5)
    assert [one.actions.tolist() for one in again] == [one.actions.tolist() for one in records]


def test_games_are_those_of_the_evaluation(capsys):
    assert main(["evaluate", "random", "--board", "2x3", "--games", "50", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert muzero2048.load("random", board="2x3").play(50, BASELINE_SEED).score.mean() == result["score_mean"]


def test_metrics_of_a_run(run: Path):
    rows = muzero2048.read_metrics(run)
    assert [row["env_steps"] for row in rows if "td/error_abs_mean" in row] == list(range(10, 101, 10))
    assert [row["env_steps"] for row in rows if "eval/score_mean" in row] == [30, 60, 90, 100]


def test_a_solution_is_the_optimum():
    solution = muzero2048.solve_board("2x2")
    assert solution.start().expected == pytest.approx(66.96, abs=0.01)  # docs/solve.md


MISTAKES = [
    (lambda: muzero2048.load("nowhere"), "there is no nowhere; give a run folder or a checkpoint"),
    (lambda: muzero2048.load("runs/one", board="2x3"), "board is for random, greedy and heuristic"),
    (lambda: muzero2048.load("runs/one", plies=2), "100: plies=2 is of expectimax; add search='expectimax'"),
    (lambda: muzero2048.load("runs/one", "nope"), "search is nope; give one of: 1ply, expectimax, mcts, gumbel, puct"),
    (lambda: muzero2048.load("runs/one", model="nope"), "model is nope; give one of: learned, simulator"),
    (lambda: muzero2048.load("runs/one", value="nope"), "value is nope; give one of: network, ntuple"),
    (lambda: muzero2048.load("runs/one", strength=5), "strength=5.0 is of mcts; add search='mcts'"),
    (lambda: muzero2048.load("random", board="5x5"), "cannot read the board '5x5'"),
    (lambda: muzero2048.load("random", plies=2), "random does not search; leave out plies=2"),
    (lambda: muzero2048.load("heuristic", settings={"depth": 2}), "search.depth"),
    (
        lambda: muzero2048.load("runs/one").advise("2 4"),
        "cannot read the position '2 4': row 1 has 2 cells; give 3",
    ),
    (lambda: muzero2048.load("runs/one").advise([[1, 0, 0]] * 2, seed=-1), ": seed is -1; give 0 to 4294967295"),
    (lambda: muzero2048.load("runs/one").play(0), "games is 0; give 1 or more"),
    (lambda: muzero2048.load("runs/one").play(2, seed=2**32), ": seed is 4294967296; give 0 to"),
    (lambda: muzero2048.load_network("runs/one"), "runs/one was trained by toy; load its values with"),
    (lambda: muzero2048.read_metrics("runs"), "there is no runs/metrics.jsonl; give the folder of a run"),
    (lambda: muzero2048.solve_board("4x4"), "add until, a small tile"),
    (lambda: muzero2048.solve_board("2x2", until=16, tile=32), ": the game ends with until=16, so tile=32 is out"),
]


def test_a_mistake_has_one_line(run: Path):
    for call, line in MISTAKES:
        with pytest.raises(muzero2048.UserError) as raised:
            call()
        assert line in f": {raised.value}"
        assert "\n" not in str(raised.value)
        assert "--" not in str(raised.value)


PLAYER = muzero2048.load("random", board="2x3")
WRONG_TYPES = [
    (lambda: muzero2048.load(5), "path is 5; give text or a path"),
    (lambda: muzero2048.load("random", board=(4, 4)), "board is (4, 4); give text or None"),
    (lambda: muzero2048.load("random", plies=True), "plies is True; give a whole number or None"),
    (lambda: muzero2048.load("random", settings=[1]), "settings is [1]; give a dict or None"),
    (lambda: muzero2048.load("random", settings={"c": {1}}), "settings: c is {1}; give numbers, True, False, text,"),
    (lambda: muzero2048.read_metrics(None), "run is None; give text or a path"),
    (lambda: muzero2048.load_network(["a"]), "path is ['a']; give text or a path"),
    (lambda: muzero2048.solve_board(3), "board is 3; give text"),
    (lambda: PLAYER.play(games=1.5), "games is 1.5; give a whole number"),
    (lambda: PLAYER.play("a"), "games is 'a'; give a whole number"),
    (lambda: PLAYER.record(1, seed="x"), "seed is 'x'; give a whole number"),
    (lambda: PLAYER.play(np.arange(20)), "games is of type ndarray; give a whole number"),
    (lambda: PLAYER.advise(5), "board is 5; give text or a State or an array or a list"),
    (lambda: PLAYER.advise_all(5), "boards is 5; give a list or an array"),
    (lambda: PLAYER.advise_all("2 4 0 / 0 0 0"), "boards is '2 4 0 / 0 0 0'; give a list or an array"),
    (lambda: muzero2048.parse_record(5), "line is 5; give text"),
    (lambda: muzero2048.summarize([1, 2]), "games is [1, 2]; give Games"),
]


@pytest.mark.parametrize(("call", "line"), WRONG_TYPES, ids=[line for _, line in WRONG_TYPES])
def test_a_wrong_type_has_one_line(call, line: str):
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value)


def test_an_annotation_may_be_an_alias():
    """From numpy 2.5 on, NDArray is one in Python 3.12 and later."""
    number = TypeVar("number")
    array = TypeAliasType("array", np.ndarray[tuple[int, ...], np.dtype[number]], type_params=(number,))

    def size(board):
        return len(board)

    size.__annotations__["board"] = str | array[np.int64]
    assert checked(size)(np.arange(3)) == 3
    with pytest.raises(TypeError, match=r"^board is 5; give text or an array$"):
        checked(size)(5)


def test_scalars_and_arrays_of_numpy_are_taken():
    games = PLAYER.play(np.int64(2), seed=np.array(1))
    assert games.score.tolist() == PLAYER.play(2, 1).score.tolist()
    settings = {"least_probability": np.float32(0.5), "rectified": np.bool_(True), "limits": np.array([[1, 1], [2, 2]])}
    plain = {"least_probability": 0.5, "rectified": True, "limits": [[1, 1], [2, 2]]}
    names = [
        muzero2048.load("heuristic", board="2x2", plies=np.int8(2), settings=one).name for one in (settings, plain)
    ]
    assert names[0] == names[1]
    assert "rectified" in names[0]


@pytest.mark.parametrize(
    ("board", "line"),
    [
        ([[2, 4], [8, 16]], "give [boards, 2, 3]"),
        ([[2, 4, 8], [0, 1024, 2048]], "cells of 0..2048: give levels of tiles, 0..17"),  # tiles in place of levels
        ([[-1, 0, 0], [0, 0, 0]], "cells of -1..0"),
        ([[256, 1, 0], [0, 0, 0]], "cells of 0..256"),
    ],
)
def test_an_array_that_is_no_board_is_refused(board: list, line: str):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the line is compared below
        muzero2048.load("random", board="2x3").advise(board)
    assert line in str(raised.value)
