"""A wheel contains all files that its commands need: they run in another folder, without the checkout."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = (".py", ".css", ".js", ".html", ".svg")
CONFIG = """\
learner: ntuple
run: {name: one, group: wheel, final_games: 20}
ntuple: {rows: 2, columns: 3, network: "012,345", env_steps: 2000, report_env_steps: 1000, threads: 1}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the content of the wheel, as pip would install it."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def _python(site: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_has_all_files_of_the_packages_and_all_configs(site: Path):
    files = [file for package in ("launch", "muzero2048", "ntuple") for file in (ROOT / package).rglob("*")]
    shipped = [file for file in files if file.suffix in SHIPPED or file.name == "papers.yaml"]
    assert len(shipped) > 100
    assert all((site / file.relative_to(ROOT)).is_file() for file in shipped)
    configs = list((ROOT / "configs").rglob("*.yaml"))
    assert configs
    assert all((site / "launch" / "example_configs" / file.relative_to(ROOT / "configs")).is_file() for file in configs)


@pytest.mark.slow
def test_the_commands_of_a_wheel_run_in_another_folder(site: Path):
    Path("one.yaml").write_text(CONFIG)
    run = ["-m", "launch"]
    assert str(site) in _python(site, *run, "train", "--help").replace("\n", "")  # the folder of the example configs
    _python(site, *run, "train", "one.yaml")
    assert [entry["git"] for entry in json.loads(Path("runs/one/environment.json").read_text())] == [None]
    _python(site, *run, "compare", "runs/one")
    assert "<style>" in Path("comparison/index.html").read_text()
    _python(site, *run, "network", "inspect", "runs/one")
    assert "<- plays this" in _python(site, *run, "moves", "runs/one", "--position", "2 2 0 / 0 0 0")
    _python(site, *run, "evaluate", "runs/one", "--games", "4", "--records", "games.txt")
    _python(site, *run, "judge", "games.txt")
    code = "import muzero2048; print(muzero2048.load('runs/one').advise('2 2 0 / 0 0 0').moves['left'].reward)"
    assert _python(site, "-c", code).split()[-1] == "4"
    code = "import gymnasium; print(gymnasium.make('muzero2048.environments:muzero2048/Game2048-v0', rows=2).spec.id)"
    assert _python(site, "-c", code).split() == ["muzero2048/Game2048-v0"]
    assert "expected 66.96" in _python(site, *run, "solve", "--board", "2x2")
    code = "from launch.bench.learner import experiments; print(*(name for name, _ in experiments(None, ())))"
    assert _python(site, "-c", code).split() == ["grounded", "latent", "dissertation", "deepmind"]
