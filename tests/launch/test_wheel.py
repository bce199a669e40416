"""The wheel, installed beside numba, contains all files that its commands need and runs in another folder."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.request import urlopen

import numba
import pytest
from small_runs import write_small_runs

from launch.trained import PACKAGED

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SHIPPED = (".py", ".css", ".js", ".html", ".svg")
BESIDE = ("numba", "llvmlite", "numpy", "numpy.libs")  # packages that lie in the folder of the installed ones
CONFIG = """\
learner: ntuple
run: {name: one, group: wheel, final_games: 20}
ntuple: {rows: 2, columns: 3, network: ["012", "345"], env_steps: 2000, report_env_steps: 1000, threads: 1}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a fresh environment and return its site-packages.

    Other packages come from the environment of the tests. Some are links beside the installed ones, as after a usual
    installation.
    """
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    (wheel,), (site,) = folder.glob("*.whl"), folder.glob("venv/lib/*/site-packages")
    python = str(folder / "venv" / "bin" / "python")
    _run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", str(wheel))
    packages = Path(numba.__file__).parents[1]
    (site / "packages.pth").write_text(f"{packages}\n")
    for name in BESIDE:
        if (packages / name).exists():
            (site / name).symlink_to(packages / name)
    return site


def _run(*words: str, cwd: Path | None = None) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _installed(site: Path, *words: str, program: str = "muzero2048", cwd: Path | None = None) -> str:
    """Run a program of the environment and return what it prints."""
    return _run(str(site.parents[2] / "bin" / program), *words, cwd=cwd)


def test_a_wheel_has_all_files_of_the_packages_and_all_configs(site: Path):
    files = [file for package in ("launch", "muzero2048", "ntuple") for file in (ROOT / package).rglob("*")]
    shipped = [file for file in files if file.suffix in SHIPPED or file.name == "papers.yaml"]
    shipped += [file for name in PACKAGED for file in (ROOT / "launch" / "trained" / name).rglob("*") if file.is_file()]
    assert len(shipped) > 100
    assert all((site / file.relative_to(ROOT)).is_file() for file in shipped)
    assert not (site / "benchmarks").exists()
    configs = list((ROOT / "configs").rglob("*.yaml"))
    assert configs
    assert all((site / "launch" / "example_configs" / file.relative_to(ROOT / "configs")).is_file() for file in configs)


@pytest.mark.parametrize("name", ["tuples", pytest.param("net", marks=pytest.mark.slow)])
def test_a_learner_trains_from_a_wheel_in_a_read_only_folder(site: Path, tmp_path: Path, monkeypatch, name: str):
    """No package of an extra is needed, and no folder but that of the runs is written."""
    hidden = [re.match(r"[\w-]+", package)[0].replace("-", "_") for package in PROJECT["optional-dependencies"]["view"]]
    assert "plotly" in hidden
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({hidden}))\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    write_small_runs(ntuple=(2000, 1000), muzero=(2048, 1024), muzero_save_minutes=0)
    empty, runs = tmp_path / "empty", f"run.runs_folder={tmp_path / 'runs'}"
    empty.mkdir(mode=0o555)
    assert '"games": 10' in _installed(site, "evaluate", "--games", "10", "--json", cwd=empty)  # the packaged network
    _installed(site, "-c", "import muzero2048.muzero.learner, muzero2048.deep_td.learner", program="python", cwd=empty)
    _installed(site, "train", str(tmp_path / f"{name}.yaml"), runs, "run.final_games=20", cwd=empty)
    assert len((tmp_path / "runs" / name / "metrics.jsonl").read_text().splitlines()) > 1
    assert not list(empty.iterdir())


def test_a_home_that_cannot_be_written(site: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOME", "/dev/null/none")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert '"games": 10' in _installed(site, "evaluate", "random", "--games", "10", "--json", cwd=tmp_path)


@pytest.mark.slow
def test_the_commands_of_a_wheel_run_in_another_folder(site: Path):
    Path("one.yaml").write_text(CONFIG)
    assert str(site) in _installed(site, "train", "--help").replace("\n", "")  # the folder of the example configs
    _installed(site, "train", "one.yaml")
    assert [entry["git"] for entry in json.loads(Path("runs/one/environment.json").read_text())] == [None]
    _installed(site, "compare", "runs/one")
    assert "<style>" in Path("comparison/index.html").read_text()
    _installed(site, "network", "inspect", "runs/one")
    assert "<- plays this" in _installed(site, "moves", "runs/one", "--position", "2 2 0 / 0 0 0")
    _installed(site, "evaluate", "runs/one", "--games", "4", "--records", "games.txt")
    _installed(site, "judge", "games.txt")
    code = "import muzero2048; print(muzero2048.load('runs/one').advise('2 2 0 / 0 0 0').moves['left'].reward)"
    assert _installed(site, "-c", code, program="python").split()[-1] == "4"
    script = f"{site.parents[2]}/bin/muzero2048 play --seed 1"  # in a terminal; q ends it
    screen = subprocess.run(
        ["script", "-qec", script, "/dev/null"], input="q", capture_output=True, text=True, timeout=120, check=False
    )
    assert "the same spawns again: muzero2048 play" in screen.stdout
    with subprocess.Popen(
        [f"{site.parents[2]}/bin/muzero2048", "serve", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address
        with urlopen(f"{address[0]}api/agents", timeout=60) as answer:
            assert {agent["id"] for agent in json.load(answer)["agents"]} >= {"one", *PACKAGED}
        server.terminate()
    code = "import gymnasium; print(gymnasium.make('muzero2048.environments:muzero2048/Game2048-v0', rows=2).spec.id)"
    assert _installed(site, "-c", code, program="python").split() == ["muzero2048/Game2048-v0"]
    assert "expected 66.96" in _installed(site, "solve", "--board", "2x2")
    code = "from launch.bench.learner import experiments; print(*(name for name, _ in experiments(None, ())))"
    assert _installed(site, "-c", code, program="python").split() == ["grounded", "latent", "dissertation", "deepmind"]
