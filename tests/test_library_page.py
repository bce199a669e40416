"""Every example of docs/library.md runs as it is written, on small runs with the names of the demo's."""

import re
from pathlib import Path

import pytest
from small_runs import train_in

from launch.experiment.checkpoints import State, save_checkpoint
from launch.experiment.experiment import load_experiment
from launch.experiment.processes import Processes
from launch.experiment.registry import make_learner

PAGE = Path(__file__).parents[1] / "docs" / "library.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
NTUPLE = """\
learner: ntuple
run: {name: quick-ntuple, group: quick, evaluate_env_steps: 10_000, evaluation_games: 4, final_games: 4}
ntuple: {network: ["0123", "4567"], env_steps: 20_000, report_env_steps: 10_000, threads: 1}
"""
MUZERO = """\
learner: muzero
run: {name: quick-muzero, group: quick}
muzero:
  env_steps: 256
  report_env_steps: 256
  num_envs: 16
  chunk: 8
  network: {model: latent, width: 8, blocks: 1}
  search: {simulations: 4}
  replay: {capacity: 1024, batch_size: 16, ratio: 1.0}
"""
IN_JAX = ("quick-muzero", "Game2048(", "make_vec")  # an example with one of these compiles programs of JAX


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a trained run of n-tuples."""
    return train_in(tmp_path_factory.mktemp("library"), NTUPLE)


@pytest.fixture(scope="module")
def network(workplace: Path) -> None:
    """Write the checkpoint of a network that was not trained."""
    (workplace / "muzero.yaml").write_text(MUZERO)
    experiment = load_experiment(workplace / "muzero.yaml")
    learner = make_learner("muzero", experiment.settings, 0)
    run = workplace / "runs" / "quick-muzero"
    run.mkdir()
    save_checkpoint(run, learner, experiment, State("muzero", learner.progress, 0.0, 0, "0"), Processes())


def test_the_page_has_twelve_examples():
    assert len(EXAMPLES) == 12


def _run(number: int, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    code = EXAMPLES[number].replace("SECONDS = 30", "SECONDS = 0.5")
    exec(compile(code, str(PAGE), "exec"), {})


@pytest.mark.parametrize("number", [i for i in range(10) if not any(word in EXAMPLES[i] for word in IN_JAX)])
def test_an_example_runs(number: int, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    _run(number, workplace, monkeypatch)
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("number", [i for i in range(10) if any(word in EXAMPLES[i] for word in IN_JAX)])
def test_an_example_in_jax_runs(number: int, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    _run(number, workplace, monkeypatch)
    assert capsys.readouterr().out
