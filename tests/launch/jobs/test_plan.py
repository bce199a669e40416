"""Sets of runs: names, groups, seeds, rows of a file, and the mistakes that are found before anything starts."""

import re
from pathlib import Path

import pytest
import toy

from launch.cli import main
from launch.errors import UserError
from launch.jobs.plan import GridRequest, plan_runs, split_values
from launch.jobs.queue import local_queue

TOY = Path("toy.yaml")
RUNS = Path("runs")


def _plan(*overrides: str, configs: tuple[Path, ...] = (TOY,), **options) -> list:
    return plan_runs(GridRequest(configs, overrides, **options))


def _names(*overrides: str, **options) -> list[str]:
    return [run.name for run in _plan(*overrides, **options)]


@pytest.fixture
def ntuple_yaml(tmp_path: Path) -> Path:
    path = tmp_path / "ntuple.yaml"
    path.write_text("learner: ntuple\nrun: {name: two, group: g}\nntuple: {rows: 2, columns: 2, network: '0123'}\n")
    return path


def test_lists_multiply_and_seeds_vary_fastest(toy_yaml: Path):
    runs = _plan("toy.rate=0.1,0.2", "toy.env_steps=20,30", seeds="1-2")
    assert [run.name for run in runs] == [
        f"one-rate={rate}-env_steps={steps}-seed{seed}" for rate in (0.1, 0.2) for steps in (20, 30) for seed in (1, 2)
    ]
    found = [(run.experiment.settings.rate, run.experiment.settings.env_steps, run.experiment.run.seed) for run in runs]
    assert found == [(rate, steps, seed) for rate in (0.1, 0.2) for steps in (20, 30) for seed in (1, 2)]


def test_the_seeds_of_a_setting_are_one_group(toy_yaml: Path):
    def groups(**options) -> list[str]:
        return [run.experiment.run.group for run in _plan("toy.rate=0.1,0.2", seeds="1,2", **options)]

    assert groups() == ["toys/rate=0.1", "toys/rate=0.1", "toys/rate=0.2", "toys/rate=0.2"]
    assert groups(group="sweep") == ["sweep/rate=0.1", "sweep/rate=0.1", "sweep/rate=0.2", "sweep/rate=0.2"]
    assert {run.experiment.run.group for run in _plan(seeds="1-3", group="seeds")} == {"seeds"}


def test_several_configs_in_one_group_stay_apart(toy_yaml: Path, ntuple_yaml: Path):
    runs = _plan("run.final_games=7", configs=(TOY, ntuple_yaml), seeds="1", group="both")
    assert [(run.name, run.experiment.learner, run.experiment.run.group) for run in runs] == [
        ("both-one-final_games=7-seed1", "toy", "both/one/final_games=7"),
        ("both-two-final_games=7-seed1", "ntuple", "both/two/final_games=7"),
    ]
    assert all(run.experiment.run.final_games == 7 for run in runs)


def test_a_name_holds_the_group_and_every_override(toy_yaml: Path):
    assert _names("toy.rate=0.1") == ["one-rate=0.1"]
    assert _names("toy.rate=0.1", "run.name=mine") == ["mine-rate=0.1"]
    assert _names("run.name=a,b", "toy.rate=0.1,-2") == ["a-rate=0.1", "a-rate=-2", "b-rate=0.1", "b-rate=-2"]
    assert _names("toy.rate=0.1", group="sweep/first") == ["sweep_first-one-rate=0.1"]
    assert _names("run.group=mine") == ["mine-one"]
    assert _names(seeds="7, 1-2") == ["one-seed7", "one-seed1", "one-seed2"]
    assert _names("run.seed=4,5") == ["one-seed4", "one-seed5"]
    assert _names("run.seed=4") == ["one-seed4"]
    # The same run is trained on with another budget, so a budget is named only where it differs between the runs.
    assert _names("toy.env_steps=200", "run.keep_checkpoints=1") == ["one"]
    assert _names("toy.env_steps=200,300") == ["one-env_steps=200", "one-env_steps=300"]


def test_two_sweeps_of_one_config_never_share_a_folder(toy_yaml: Path):
    """Each pair of commands differs in one thing, and their runs have other configs."""
    sweeps = [
        _names(*words, seeds="1-2", **options)
        for words, options in (
            ((), {}), (("toy.rate=0.1",), {}), (("toy.rate=1",), {}), (("toy.rate=-1",), {}),
            (("toy.nan_at=1",), {}), (("toy.rate=0.1",), {"group": "a"}), (("toy.rate=0.1",), {"group": "b"}),
            (("run.final_games=6",), {}), (("run.evaluation_games=6",), {}),
        )
    ]  # fmt: skip
    assert len({name for sweep in sweeps for name in sweep}) == 2 * len(sweeps)
    long = ["run.final_games=6", "run.evaluation_games=7", "run.evaluate_env_steps=50", "toy.nan_at=0"]
    (name,) = _names(*long)
    assert re.fullmatch("one-set=[0-9a-f]{8}", name)  # many values that all runs share are named by their digest
    assert _names(*long) == _names(*reversed(long)) == [name]
    assert _names(*long[:-1], "toy.nan_at=1") != [name]
    assert _names(*long, "toy.rate=0.1,0.2", seeds="3") == [f"{name}-rate=0.1-seed3", f"{name}-rate=0.2-seed3"]


def test_keys_with_one_ending_are_told_apart():
    """The ending is unique among all keys of the experiment, so it does not depend on the other words."""
    root = Path(__file__).parents[3]
    names = [
        run.name
        for run in _plan(
            "muzero.search.gumbel.c_scale=0.1,0.2", "muzero.replay.fresh_steps=0,6", "muzero.network.width=32,64",
            "muzero.network.cells.line_width=32,64", configs=(root / "configs" / "muzero" / "latent-tree.yaml",),
        )
    ]  # fmt: skip
    assert names[0] == "latent-tree-c_scale=0.1-fresh_steps=0-network.width=32-cells.line_width=32"
    assert len(set(names)) == 16
    for key in ("value", "reward"):
        (run,) = _plan(f"muzero.{key}.h_max=10", configs=(root / "configs/muzero/tiny.yaml",))
        assert run.name == f"tiny-muzero-{key}.h_max=10"


def test_the_words_of_a_run_give_the_run_again(toy_yaml: Path):
    """`submit` starts `muzero2048` with these words."""
    for run in _plan("toy.rate=0.1,0.2", seeds="1-2"):
        run.prepare()
        assert main(run.arguments) == 0
        assert (run.folder / "config.yaml").read_text() == run.experiment.to_yaml()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("[a,b]", ["[a,b]"]),
        ("[[0.5,1],[1,2]],[]", ["[[0.5,1],[1,2]]", "[]"]),
        ("'0123,4567','0145'", ["'0123,4567'", "'0145'"]),
        ("{a: 1, b: 2}", ["{a: 1, b: 2}"]),
        ("", [""]),
    ],
)
def test_values_are_split_at_outer_commas(text: str, values: list[str]):
    assert split_values(text) == values


def test_a_quoted_comma_is_part_of_a_value(ntuple_yaml: Path):
    runs = _plan("ntuple.network='0123',['01','23']", configs=(ntuple_yaml,))
    assert [run.experiment.settings.network for run in runs] == [("0123",), ("01", "23")]
    assert [run.name for run in runs] == ["two-network=0123", "two-network=01_23"]


def test_rows_of_a_file(toy_yaml: Path, tmp_path: Path):
    rows = tmp_path / "rows.txt"
    rows.write_text("# two settings\ntoy.rate=0.1 toy.env_steps=20\n\ntoy.rate=0.2 toy.env_steps=20  # slow\n")
    runs = _plan(rows=rows, seeds="1-2")
    assert [run.name for run in runs] == [
        "one-rate=0.1-seed1", "one-rate=0.1-seed2", "one-rate=0.2-seed1", "one-rate=0.2-seed2",
    ]  # fmt: skip
    assert {run.experiment.settings.env_steps for run in runs} == {20}


def test_a_key_that_only_some_rows_set_is_in_the_name(toy_yaml: Path, tmp_path: Path):
    rows = tmp_path / "rows.txt"
    rows.write_text("toy.rate=0.1\ntoy.rate=0.1 toy.env_steps=20\n")
    assert _names(rows=rows) == ["one-rate=0.1", "one-rate=0.1-env_steps=20"]


def test_an_existing_run_with_another_config_is_refused(toy_yaml: Path):
    (run,) = _plan()
    run.prepare()
    change = toy_yaml.read_text().replace("rate: 0.25", "rate: 0.5")
    expected = re.escape("runs/one exists with another config (toy.rate: 0.25 -> 0.5)")
    Path("other.yaml").write_text(change)
    assert _names(configs=(Path("other.yaml"),)) == ["one"]  # nothing was trained
    with local_queue(RUNS) as queue:
        queue.add(run)
        with pytest.raises(UserError, match=expected):  # the run waits, so its config must stay
            _plan(configs=(Path("other.yaml"),))
        assert _names() == ["one"]
    assert main(run.arguments) == 0
    assert _names("toy.env_steps=200", "toy.report_env_steps=20") == ["one"]  # a budget may change
    assert _names("run.keep_checkpoints=1") == ["one"]
    with pytest.raises(UserError, match=expected):
        _plan(configs=(Path("other.yaml"),))


MISTAKES = [
    (["toy.rate=0.1,0.2", "toy.typo=1,2"], "there is no key 'toy.typo'"),
    (["toy.rate=0.1,fast"], "override toy.rate=fast"),
    (["toy.env_steps=10,0"], "toy.env_steps is 0; give 1 or more"),
    (["learner=chess"], "there is no learner 'chess'"),
    (["run.seed=-1"], "run.seed"),
    (["run.name=a/b"], "run.name is 'a/b'"),
    (["run.name=" + "a" * 199, "toy.rate=0.1,0.2"], "give a shorter run.name"),
    (["toy.rate=0.1,"], "toy.rate=0.1, has an empty value"),
    (["toy.rate=0.1,0.1"], "has a value twice"),
    (["toy.rate=0.1", "toy.rate=0.2"], "toy.rate is set twice"),
    (["=3"], "cannot read the override '=3'"),
    (["a b=3"], "cannot read the override 'a b=3'"),
    (["toy.rate=0.1,0.2", "run.group=x", "--seeds", "8-1"], "cannot read '8-1'"),
    (["--seeds", "1,1"], "has a seed twice"),
    (["--seeds", "1-2", "run.seed=1,2"], "both set the seeds"),
    (["--seeds", "one"], "cannot read 'one'"),
    (["--seeds", "1-"], "cannot read '1-'"),
    (["--seeds", "1-999999999"], "cannot read '1-999999999'"),
    (["--seeds", "99999999999"], "run.seed"),
    (["toy.rate=" + ",".join(map(str, range(200))), "--seeds", "1-100"], "make 20,000 runs"),
    (["toy.yaml"], "two runs have the name one"),
    (["missing.yaml"], "there is no config missing.yaml"),
    (["empty.yaml"], "empty.yaml: "),
    (["--rows", "missing.txt"], "--rows missing.txt cannot be read"),
    (["--rows", "blank.txt"], "--rows blank.txt has no line"),
    (["--rows", "words.txt"], "words.txt, line 1: cannot read the override 'rate'"),
    (["--rows", "quote.txt"], "quote.txt, line 1: No closing quotation"),
    (["--rows", "twice.txt"], "twice.txt, line 1 sets a key twice"),
    (["--rows", "same.txt"], "two runs have the name one"),
    (["--rows", "rate.txt", "toy.rate=0.3"], "toy.rate is set on the command line and in rate.txt"),
    (["--rows", "seed.txt", "--seeds", "1-2"], "both set the seeds"),
    (["--on", "moon"], "--on moon: there is no"),
    (["--on", "missing.yaml"], "--on missing.yaml: there is no missing.yaml"),
    (["--on", "typo.yaml"], "typo.yaml: there is no key 'core'; did you mean 'cores'?"),
    (["--on", "value.yaml"], "value.yaml: at_once is -1"),
    (["--on", "type.yaml"], "type.yaml: at_once"),
    (["--on", "engine.yaml"], "engine.yaml: engine is 'pbs'; give one of: local, slurm"),
    (["--on", "none.yaml"], "none.yaml: cluster.at_once is 0; give 1 or more on this machine"),
    (["--on", "variable.yaml"], "variable.yaml: cluster.environment is"),
    (["--on", "broken.yaml"], "broken.yaml: not YAML"),
    (["--on", "cores.yaml"], "9999 runs at once with 2 cores each need"),
    (["--on", "gpus.yaml"], "2 runs at once with gpus: 3 need 6 GPUs, and 4 are there"),
    (["--on", "small.yaml"], "one takes 0.0 kB of memory and gets 0.0 kB; lower toy.rate"),
    (["run.runs_folder=/proc/runs"], "cannot write the runs folder /proc/runs"),
    (["run.runs_folder=toy.yaml/runs"], "cannot write the runs folder toy.yaml/runs"),
    (["--jump"], "there is no option --jump"),
    (["--group"], "expected one argument"),
]
FILES = {
    "empty.yaml": "", "blank.txt": "# nothing\n", "words.txt": "rate\n", "quote.txt": "toy.rate='1\n",
    "twice.txt": "toy.rate=1 toy.rate=2\n", "same.txt": "toy.rate=1\ntoy.rate=1\n", "rate.txt": "toy.rate=1\n",
    "seed.txt": "run.seed=1\n", "typo.yaml": "core: 3\n", "value.yaml": "at_once: -1\n", "type.yaml": "at_once: two\n",
    "engine.yaml": "engine: pbs\n", "none.yaml": "at_once: 0\n", "variable.yaml": "environment: [A B=3]\n",
    "broken.yaml": "[\n", "cores.yaml": "{at_once: 9999, cores: 2}\n", "gpus.yaml": "{at_once: 2, gpus: 3}\n",
    "small.yaml": "memory_gb: 1e-9\n",
}  # fmt: skip


@pytest.mark.parametrize(("words", "line"), MISTAKES, ids=lambda value: " ".join(value)[:40] if value else "")
def test_a_mistake_is_one_line_and_starts_nothing(toy_yaml: Path, mistake, monkeypatch, words: list[str], line: str):
    for name, text in FILES.items():
        Path(name).write_text(text)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    if "gpus.yaml" in words:  # a learner without JAX gets none
        monkeypatch.setattr(toy, "SPEC", toy.SPEC._replace(uses_jax=True))
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    before = sorted(Path().rglob("*"))
    error = mistake("submit toy.yaml", *words)
    assert re.search(line, error) or line in error
    assert sorted(Path().rglob("*")) == before


def test_no_config(mistake):
    assert "submit needs a config" in mistake("submit toy.rate=1")
