"""The networks of the package: found by their names, whole, and as strong as their cards say."""

import json
import re
from pathlib import Path

import pytest

import muzero2048
from launch.cli import main
from launch.experiment.checkpoints import find_checkpoint, read_checkpoint
from launch.trained import HERE, PACKAGED, PAGE_SCORE
from ntuple import NTupleConfig

CARDS = (HERE / "README.md").read_text(encoding="utf-8")
POSITION = "2 4 0 8 / 0 8 2 0 / 0 0 0 0 / 16 32 64 1024"


@pytest.mark.parametrize("name", PACKAGED)
def test_it_is_whole_has_a_card_and_nothing_that_play_does_not_need(name: str):
    checkpoint = find_checkpoint(Path(name))
    experiment, state = read_checkpoint(checkpoint)
    assert checkpoint == HERE / name
    assert (experiment.settings.rows, experiment.settings.columns) == (4, 4)
    assert f"{state.progress['env_steps']:,}" in CARDS.partition(f"## {name}")[2]
    files = [file for file in checkpoint.rglob("*") if file.is_file()]
    assert not [file for file in files if "training" in file.name]
    assert sum(file.stat().st_size for file in files) < 12e6


def test_a_path_of_the_user_goes_first(tmp_path: Path, monkeypatch, mistake):
    monkeypatch.chdir(tmp_path)
    Path("ntuple").mkdir()  # as in a checkout
    assert find_checkpoint(Path("ntuple")) == HERE / "ntuple"
    Path("ntuple", "config.yaml").write_text("learner: ntuple\n")
    assert mistake("evaluate ntuple").startswith("ntuple holds no checkpoint")


def test_commands_without_a_player_use_the_ntuple_network_and_say_so(capsys):
    assert main(["moves", "--position", POSITION, "--json"]) == 0
    captured = capsys.readouterr()
    assert "ntuple, the n-tuple network of the package" in captured.err
    assert json.loads(captured.out)["action"] == muzero2048.load().advise(POSITION).action
    assert muzero2048.load().name == muzero2048.load("ntuple").name


@pytest.mark.parametrize(
    ("words", "found"),
    [("--search 1ply", "value"), pytest.param("--search mcts search.seconds=0.01", "visits", marks=pytest.mark.slow)],
)
def test_a_search_without_a_player_is_that_of_the_network(words: str, found: str, capsys):
    assert main(["moves", "--position", POSITION, *words.split(), "--json"]) == 0
    captured = capsys.readouterr()
    assert "ntuple, the n-tuple network of the package" in captured.err
    assert found in captured.out


@pytest.mark.parametrize("options", [pytest.param([], marks=pytest.mark.slow), ["--half"]])
def test_a_network_of_another_learner_is_converted_for_play_alone(options: list[str]):
    assert main(["network", "convert", "muzero", *options, "--out", "copy"]) == 0
    assert read_checkpoint(find_checkpoint(Path("copy"))) == read_checkpoint(HERE / "muzero")
    assert not list(Path("copy").rglob("commit_success.txt"))
    assert main(["moves", "copy", "--position", POSITION]) == 0


def test_its_page_has_its_score(capsys):
    assert main(["serve", "--export", "page.html"]) == 0
    assert PAGE_SCORE in Path("page.html").read_text()
    assert all(number in CARDS for number in re.findall(r"[\d,]+ ± [\d,]+", PAGE_SCORE))


@pytest.mark.slow
def test_the_ntuple_network_scores_what_its_card_says():
    (mean, interval) = re.search(r"\| ntuple \| 1ply \| 1,000 \| ([\d,]+) ± ([\d,]+)", CARDS).groups()
    score = muzero2048.load().play(games=1000, seed=7).score.mean()
    assert abs(score - int(mean.replace(",", ""))) < 2 * int(interval.replace(",", ""))
    assert isinstance(read_checkpoint(HERE / "ntuple")[0].settings, NTupleConfig)


@pytest.mark.slow
def test_the_muzero_network_plays():
    assert muzero2048.load("muzero").play(games=16, seed=7).score.mean() > 20_000
