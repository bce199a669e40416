"""Media of wandb: the histogram of largest tiles, the picture of a game, the table of the config."""

import json
from pathlib import Path

import numpy as np

from launch.cli import main
from launch.experiment.experiment import load_experiment
from launch.experiment.metrics_file import read_metrics
from launch.report.wandb.media import config_table, tile_counts, with_media
from launch.train.game_picture import picture_file

EVALUATION = {
    "env_steps": 30, "games": 3, "updates": 1, "wall_hours": 0.1, "eval/score_mean": 9.0, "eval/score_low": 8.0,
    "eval/score_high": 10.0, "eval/games": 40,
}  # fmt: skip


def test_games_by_their_largest_tile():
    row = EVALUATION | {"eval/reach_2048": 0.75, "eval/reach_4096": 0.5, "eval/reach_8192": 0.025}
    assert tile_counts(row) == [10, 10, 19, 1, 0, 0, 0, 0]
    histogram = with_media(Path("none"), row)["media/log2_largest_tile"]
    assert list(histogram.histogram) == [10, 10, 19, 1, 0, 0, 0, 0]
    np.testing.assert_array_equal(histogram.bins, np.arange(10, 19))  # 2048 is 2^11: the second bin


def test_games_of_threes_by_their_largest_tile():
    reach = {384: 1.0, 768: 0.9, 1536: 0.5, 3072: 0.025, 6144: 0.0}
    row = EVALUATION | {f"eval/reach_{tile}": rate for tile, rate in reach.items()}
    histogram = with_media(Path("none"), row)["media/log2_largest_tile"]
    assert list(histogram.histogram) == [0, 4, 16, 19, 1, 0]
    np.testing.assert_allclose(histogram.bins, np.log2([192, 384, 768, 1536, 3072, 6144, 12288]))


def test_rows_without_a_large_tile_or_without_an_evaluation_have_no_media(tmp_path: Path):
    assert with_media(tmp_path, EVALUATION) == EVALUATION  # a small board
    row = {"env_steps": 10, "train/reach_2048": 1.0}
    assert with_media(tmp_path, row) == row


def test_the_table_of_the_config_begins_with_what_differs(toy_yaml: Path):
    table = config_table(load_experiment(toy_yaml, ["toy.nan_at=7"]))
    lines = [line.split("<td>") for line in table.split("<tr><td>")[1:]]
    rows = {line[0]: line[1:3] for line in lines}
    assert rows["toy.nan_at"] == ["7", "0"]
    assert rows["run.name"] == ["one", ""]
    assert rows["toy.columns"] == ["3", "3"]
    differs = [line[1] != line[2] for line in lines]
    assert differs == sorted(differs, reverse=True)
    assert 0 < sum(differs) < len(differs)


def test_an_upload_has_the_media(runs: Path, wandb_server):
    run = runs / "toy1"
    at = [row["env_steps"] for row in read_metrics(run) if "eval/games" in row]
    file = picture_file(run, at[0])
    file.parent.mkdir()
    file.write_text("<svg></svg>")
    assert main(["wandb", "sync"]) == 0
    name = (run / "wandb" / "id").read_text().strip()
    sent = [row for row in wandb_server.rows[name].values() if "eval/games" in row]
    assert [row["env_steps"] for row in sent] == at
    for row in sent:  # game i of the toy has the tile 1024 2^i
        counts = row["media/log2_largest_tile"]["values"]
        assert counts == [1] * row["eval/games"] + [0] * (len(counts) - row["eval/games"])
    assert sent[0]["media/game"]["_type"] == "html-file"
    assert not any("media/game" in row for row in sent[1:])
    summary = wandb_server.summaries[name]
    assert summary["config_table"]["_type"] == "html-file"
    assert json.loads(json.dumps(summary))["last/env_steps"] == at[-1]
