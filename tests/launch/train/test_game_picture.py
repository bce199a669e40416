"""The picture of a game at each evaluation."""

import re
from pathlib import Path

import numpy as np
from small_runs import rows_without_times

from launch.cli import main
from launch.evaluation.loading import LoadedPlayer, play_each
from launch.train.game_picture import BOARDS, draw_game_of
from ntuple import RandomPlayer, make_rules
from tests.reference import rules

CONFIG = """\
learner: ntuple
run: {name: one, group: g, evaluate_env_steps: 1_000, evaluation_games: 4, final_games: 4}
ntuple: {rows: 2, columns: 3, network: ["012", "345"], env_steps: 2_000, report_env_steps: 500, threads: 1}
"""


def test_the_boards_are_those_of_the_game(tmp_path: Path):
    player = LoadedPlayer(RandomPlayer(make_rules(2, 3), threads=1), "random", 2, 3)
    (played,) = play_each(player, [0], 7)
    opening = rules.spawn(rules.spawn(((0, 0, 0), (0, 0, 0)), played.opening[0]), played.opening[1])
    boards, points = [opening], [0]
    for action, code in zip(played.actions, played.spawns, strict=True):
        after, reward = rules.afterstate(boards[-1], int(action))
        boards.append(rules.spawn(after, int(code)))
        points.append(points[-1] + reward)
    draw_game_of(player, 7, tmp_path / "pictures" / "1.svg")
    text = (tmp_path / "pictures" / "1.svg").read_text()
    assert text.count("<g ") == BOARDS
    moves = len(played.actions)
    for i, drawn in enumerate(text.split("<g ")[1:], start=1):
        place = round(moves * i / BOARDS)
        assert f">move {place}<" in drawn
        assert f">{points[place]:,} points<" in drawn
        tiles = [int(tile) for tile in re.findall(r">(\d+)</text>", drawn)]
        assert tiles == [2**level for level in np.ravel(boards[place]) if level]


def test_pictures_change_nothing_of_a_training():
    Path("small.yaml").write_text(CONFIG)
    assert main(["train", "small.yaml"]) == 0
    assert main(["train", "small.yaml", "run.name=two", "run.picture=true"]) == 0
    assert not Path("runs/one/pictures").exists()
    assert {file.name for file in Path("runs/two/pictures").iterdir()} == {"1000.svg", "2000.svg"}
    assert rows_without_times(Path("runs/one")) == rows_without_times(Path("runs/two"))
