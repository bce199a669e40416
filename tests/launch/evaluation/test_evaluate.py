import json
import signal
from pathlib import Path

import pytest
from toy import ToyPlayer

from launch.cli import main
from launch.evaluation.seeds import final_evaluation_seed
from launch.experiment import registry


def test_a_path_is_enough(toy_yaml: Path, last_json):
    main(["train", "toy.yaml", "run.seed=3"])
    result = last_json("evaluate", "runs/one", "--games", "5", "--seed", "7")
    weight = round(json.loads(Path("runs/one/checkpoints/100/toy.json").read_text())["weight"])
    expected = {
        "run": "one", "group": "toys", "learner": "toy", "training_seed": 3, "env_steps": 100, "training_games": 20,
        "board": "2x3", "search": "1ply", "games": 5, "seed": 7, "seconds": 0.5,
        "score_mean": weight + 207, "score_max": weight + 407,  # of 7 + weight + (0, 100, 200, 300, 400)
    }  # fmt: skip
    assert expected.items() <= result.items()
    assert result["reach"] == {
        "2048": 0.8, "4096": 0.6, "8192": 0.4, "16384": 0.2, "32768": 0.0, "65536": 0.0, "131072": 0.0,
    }  # fmt: skip
    assert result["version"]
    assert json.loads(Path("runs/one/evaluations/100-1ply-5games-seed7.json").read_text()) == result


def test_the_last_evaluation_of_a_run_can_be_repeated(toy_yaml: Path, last_json):
    main(["train", "toy.yaml"])
    kept = json.loads(Path(f"runs/one/evaluations/100-1ply-4games-seed{final_evaluation_seed(0)}.json").read_text())
    again = last_json("evaluate", "runs/one", "--games", "4")
    assert kept | {"time": ""} == again | {"time": ""}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_games_that_are_not_kept(toy_yaml: Path, capfd, monkeypatch, number: int):
    class Struck(ToyPlayer):
        def play(self, num_games: int, seed: int, watch: object) -> None:
            signal.raise_signal(number)
            pytest.fail("it played on")

    main(["train", "toy.yaml"])
    before = sorted(Path("runs/one/evaluations").iterdir())
    capfd.readouterr()
    monkeypatch.setattr(registry, "restore_player", lambda *_: Struck(0.0))
    assert main(["evaluate", "runs/one", "--games", "4"]) == 130
    assert capfd.readouterr().err.startswith(f"\n{signal.Signals(number).name}: stopping")
    assert sorted(Path("runs/one/evaluations").iterdir()) == before


@pytest.mark.parametrize(("name", "mean"), [("random", 19.66), ("greedy", 24.04)])
def test_random_and_greedy_play_for_scale(last_json, name: str, mean: float):
    result = last_json("evaluate", name, "--board", "2x2", "--games", "20000")
    assert result["search"] == name
    assert result["board"] == "2x2"
    assert result["score_mean"] == pytest.approx(mean, abs=0.6)  # exact value of the 2x2 board to two decimals
    assert not list(Path().iterdir())


def test_a_result_that_cannot_be_kept_is_printed_with_a_warning(toy_yaml: Path, capsys):
    main(["train", "toy.yaml", "toy.env_steps=50", "run.save_minutes=0"])
    folder = Path("runs/one/evaluations")
    folder.rename("evaluations")
    folder.write_text("a file, not a folder")  # permissions would not stop root, and tests may run as root
    capsys.readouterr()
    assert main(["evaluate", "runs/one", "--games", "5"]) == 0
    captured = capsys.readouterr()
    assert "summary 500ms" in captured.out
    assert captured.err.startswith(f"warning: the result is not kept: cannot write to {folder.resolve()}: ")
    assert captured.err.count("\n") == 1


def test_of_a_checkpoint_outside_its_run_nothing_is_kept(toy_yaml: Path, last_json):
    main(["train", "toy.yaml"])
    Path("best").mkdir()
    copy = Path("runs/one/checkpoints/100").rename("best/one")
    before = sorted(Path().rglob("*"))
    assert last_json("evaluate", str(copy))["env_steps"] == 100
    assert sorted(Path().rglob("*")) == before
