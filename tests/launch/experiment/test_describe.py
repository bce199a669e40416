"""`muzero2048 config` prints all keys, and the shell completes commands, options, keys and values."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launch.cli import main
from launch.experiment.experiment import load_experiment
from launch.experiment.plain_values import flat

ROOT = Path(__file__).parents[3]
NTUPLE = "learner: ntuple\nrun: {name: a, group: b}\nntuple: {network: 5x6, target: {method: n_step, steps: 7}}\n"


@pytest.fixture
def ntuple_yaml(tmp_path: Path) -> Path:
    file = tmp_path / "ntuple.yaml"
    file.write_text(NTUPLE)
    return file


def test_all_keys_of_a_config_with_their_values(ntuple_yaml: Path, capsys):
    assert main(["config", "ntuple.yaml", "run.seed=3"]) == 0
    text = capsys.readouterr().out
    assert main(["config", "ntuple.yaml", "run.seed=3", "--json"]) == 0
    printed = {key["name"]: key["value"] for key in json.loads(capsys.readouterr().out)["keys"]}
    wanted = flat(load_experiment(ntuple_yaml, ["run.seed=3"]).plain())
    assert {"learner": "ntuple", **printed} == wanted
    assert (
        "\nntuple.target.steps: int = 7  (default 1; 1 to 1000; only with ntuple.target.method=n_step|lambda_return)\n"
        in text
    )


@pytest.mark.parametrize("learner", ["ntuple", "muzero", "deep_td"])
def test_all_keys_of_a_learner_with_their_defaults(learner: str, capsys):
    assert main(["config", learner]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"learner: {learner}\n")
    assert "\nrun.name: str (required)  (text)\n    Names the run's folder" in text
    assert f"\n{learner}.rows: int = 4  (" in text


def test_the_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("muzero2048 ")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("muzero2048 eva", {"evaluate "}),
        ("muzero2048 evaluate --sim", {"--simulations "}),
        ("muzero2048 evaluate --search g", {"gumbel "}),
        ("muzero2048 train ntuple.yaml ntuple.target.m", {"ntuple.target.method="}),
        ("muzero2048 train ntuple.yaml run.name=b run.see", {"run.seed="}),
        ("muzero2048 evaluate runs/one search.gumbel.con", {"search.gumbel.considered_actions="}),
        ("muzero2048 moves heuristic search.leaf", {"search.leaf_bits="}),
        ("muzero2048 train ntuple.yaml ntuple.symmetry=f", {"ntuple.symmetry=false"}),
        (
            "muzero2048 train ntuple.yaml ntuple.target.method=t",
            {"ntuple.target.method=td", "ntuple.target.method=trace"},
        ),
        ("muzero2048 config ntu", {"ntuple", "ntuple.yaml"}),
        ("muzero2048 submit eval", {"evaluate "}),
        ("muzero2048 submit ntuple.yaml ntuple.target.m", {"ntuple.target.method="}),
        ("muzero2048 submit evaluate runs/one search.gumbel.con", {"search.gumbel.considered_actions="}),
        ("muzero2048 evaluate --search mcts runs/one search.v_", {"search.v_norm="}),
        ("muzero2048 evaluate --search expectimax runs/net search.least_pri", {"search.least_prior="}),
    ],
)
def test_completion(ntuple_yaml: Path, line: str, offered: set[str]):
    network = Path("runs/net/config.yaml")
    network.parent.mkdir(parents=True)
    network.write_text((ROOT / "configs" / "muzero" / "tiny.yaml").read_text())
    answer = ntuple_yaml.with_name("answer")
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SHELL": "bash",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "",
        "PYTHONPATH": str(ROOT),
    }
    subprocess.run([sys.executable, "-m", "launch"], env=os.environ | asked, check=True, timeout=120)
    assert {word.strip() for word in answer.read_text().split("\n")} == {word.strip() for word in offered}
