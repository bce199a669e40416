from pathlib import Path

import pytest
from toy import ToyConfig

from launch.errors import UserError
from launch.experiment.examples import examples_folder
from launch.experiment.experiment import Experiment, RunConfig, changes, load_experiment, warn_without_effect
from ntuple.td.config import TargetConfig


def test_the_file_and_the_defaults_make_the_experiment(toy_yaml: Path):
    experiment = load_experiment(toy_yaml)
    assert experiment == Experiment(
        learner="toy",
        run=RunConfig("one", "toys", save_minutes=1e-6, evaluate_env_steps=30, evaluation_games=3, final_games=4),
        settings=ToyConfig(rate=0.25),
    )
    assert experiment.run.folder == Path("runs/one")


def test_overrides_win_and_read_numbers_as_yaml_does(toy_yaml: Path):
    experiment = load_experiment(toy_yaml, ["toy.rate=1e-3", "run.seed=7", "toy.env_steps=2_000"])
    assert experiment.settings == ToyConfig(rate=0.001, env_steps=2000)
    assert experiment.run.seed == 7


def test_yaml_round_trip_through_a_folder(toy_yaml: Path, tmp_path: Path):
    experiment = load_experiment(toy_yaml, ["run.seed=3"])
    (tmp_path / "config.yaml").write_text(experiment.to_yaml())
    assert load_experiment(tmp_path) == experiment


def test_changes_name_the_keys_that_differ(toy_yaml: Path):
    old, new = load_experiment(toy_yaml), load_experiment(toy_yaml, ["toy.env_steps=200", "run.seed=1"])
    assert changes(old, new) == ["run.seed: 0 -> 1", "toy.env_steps: 100 -> 200"]
    assert changes(old, old) == []


@pytest.mark.parametrize("text", ["${oc.env:SECRET}", '"\\u0024{oc.env:SECRET}"', "${toy.rate}"])
def test_a_value_reads_neither_the_environment_nor_another_key(toy_yaml: Path, monkeypatch, text: str):
    monkeypatch.setenv("SECRET", "1234")
    assert load_experiment(toy_yaml, [f"run.group={text}"]).run.group == text.strip('"').replace("\\u0024", "$")
    with pytest.raises(UserError, match=r"run.seed is '\$\{.*\}'; give"):
        load_experiment(toy_yaml, [f"run.seed={text}"])


def test_overrides_may_be_mappings_and_lists(tmp_path: Path):
    file = tmp_path / "ntuple.yaml"
    file.write_text(
        "learner: ntuple\nrun: {name: a, group: b}\nntuple: {network: 4x6, target: {steps: 3, decay: 0.25}}\n"
    )
    words = ["ntuple.target={method: n_step, steps: 5}", "ntuple.target.horizon=4", "ntuple.stages=[512,512+256]"]
    settings = load_experiment(file, [*words, "ntuple.step_size={alpha_steps: [[0.5, 0.01]]}"]).settings
    assert settings.target == TargetConfig(method="n_step", steps=5, decay=0.25, horizon=4)
    assert (settings.network, settings.stages) == (("4x6",), (512, "512+256"))
    assert settings.step_size.alpha_steps == ((0.5, 0.01),)


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("toy.rat=1", "override toy.rat=1: there is no key 'toy.rat'; did you mean 'rate'?"),
        ("run.sed=1", "override run.sed=1: there is no key 'run.sed'; did you mean 'seed'?"),
        ("rum.seed=1", "override rum.seed=1: there is no key 'rum'; did you mean 'run'?"),
        ("run.seed=abc", "override run.seed=abc: run.seed is 'abc'; give an integer, 0 to 4294967295"),
        ("run.group=yes", "override run.group=yes: run.group is True; give text in quotes"),
        ("run.group=", "override run.group=: run.group is None; give text in quotes"),
        ("toy.rate=.nan", "override toy.rate=.nan: toy.rate is nan; give a number"),
        ("toy.env_steps=0", "override toy.env_steps=0: toy.env_steps is 0; give 1 or more"),
        ("run.seed=-1", "override run.seed=-1: run.seed is -1; give 0 to 4294967295"),
        ("run.seed=4294967296", "override run.seed=4294967296: run.seed is 4294967296; give 0 to 4294967295"),
        ("run.keep_checkpoints=0", "override run.keep_checkpoints=0: run.keep_checkpoints is 0; give 1 or more"),
        ("run.final_games=1", "override run.final_games=1: run.final_games is 1; give 2 to 10000000"),
        ("run.probe_games=1", "override run.probe_games=1: run.probe_games is 1; give 0, or 2 or more"),
        ("run.probe_games=-2", "override run.probe_games=-2: run.probe_games is -2; give 0 to 10000000"),
        (
            "run.name=../x",
            "override run.name=../x: run.name is '../x'; give up to 200 letters, digits and any of _ . + = - only",
        ),
        (
            "learner=tay",
            "override learner=tay: learner: there is no learner 'tay'; give one of: ntuple, muzero, deep_td, toy",
        ),
        ("run.seed", "cannot read the override 'run.seed'; give key=value, e.g. run.seed=1"),
        ("=3", "cannot read the override '=3'; give key=value, e.g. run.seed=1"),
    ],
)
def test_a_bad_override_is_one_line_that_names_it(toy_yaml: Path, override: str, line: str):
    with pytest.raises(UserError) as error:
        load_experiment(Path(toy_yaml.name), [override])
    assert str(error.value) == line


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("learner: toy\nrun: {name: a, group: b}\ntoy: {rtae: 1}", "there is no key 'toy.rtae'; did you mean 'rate'?"),
        ("learner: toy\nrun: {group: b}\ntoy: {}", "run.name is missing and has no default; set it"),
        ("learner: toy\nrun: {name: a, group: b}", "toy is missing and has no default; set it"),
        ("learner: toy\nrun: {name: a, name: b}", "line 2: the key 'name' stands twice in one mapping"),
        ("run: {name: a, group: b}", "the key 'learner' is missing; set it to one of: ntuple, muzero, deep_td, toy"),
        ("- 1", "an experiment is a mapping"),
        ("", "an experiment is a mapping"),
        ("learner: [toy", "not YAML:"),
        ("learner: toy\nrun: 3", "run is 3; give a mapping with the keys name, group, seed"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(tmp_path: Path, text: str, part: str):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as error:
        load_experiment(file)
    assert str(error.value).startswith(f"{file}: ")
    assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(UserError, match=r"there is no config no\.yaml; give a YAML file"):
        load_experiment(Path("no.yaml"))


def test_the_commands_of_the_docs_find_their_examples_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    example = Path("configs/quick/ntuple.yaml")
    assert load_experiment(example).run.name == "quick-ntuple"
    example.parent.mkdir(parents=True)
    example.write_text((examples_folder() / "quick" / "ntuple.yaml").read_text().replace("quick-ntuple", "mine"))
    assert load_experiment(example).run.name == "mine"
    with pytest.raises(UserError, match=r"there is no config configs/none\.yaml; give"):
        load_experiment(Path("configs/none.yaml"))


def test_the_mistake_of_the_file_is_blamed_on_the_file(toy_yaml: Path):
    toy_yaml.write_text(toy_yaml.read_text() + "  env_steps: 0\n")
    with pytest.raises(UserError, match=r"^toy\.yaml: toy\.env_steps is 0; give 1 or more$"):
        load_experiment(Path(toy_yaml.name), ["run.seed=1"])


def test_overrides_that_do_not_go_together_are_all_named(tmp_path: Path):
    file = tmp_path / "muzero.yaml"
    file.write_text("learner: muzero\nrun: {name: a, group: b}\nmuzero: {env_steps: 1, report_env_steps: 1}\n")
    words = ["run.seed=3", "muzero.replay.capacity=8192", "muzero.num_envs=512"]
    with pytest.raises(UserError) as error:
        load_experiment(file, words)
    assert str(error.value) == (
        "overrides muzero.replay.capacity=8192 muzero.num_envs=512: replay.capacity is 8192; give a multiple of "
        "num_envs * chunk = 16384"
    )


class TestBase:
    """A config file whose defaults are in another file."""

    def _write(self, folder: Path, **texts: str) -> None:
        for name, text in texts.items():
            (folder / f"{name}.yaml").write_text(text)

    def test_keys_of_the_file_win(self, tmp_path: Path, toy_yaml: Path):
        (tmp_path / "sub").mkdir()
        self._write(tmp_path, middle="base: toy.yaml\nrun: {name: middle, seed: 4}\n")
        self._write(tmp_path / "sub", top="base: ../middle.yaml\nrun: {name: top}\ntoy: {env_steps: 7}\n")
        found = load_experiment(tmp_path / "sub" / "top.yaml", ["toy.rate=0.125"])
        assert (found.run.name, found.run.group, found.run.seed) == ("top", "toys", 4)
        assert found.settings == ToyConfig(rate=0.125, env_steps=7)
        assert "base" not in found.to_yaml()

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("base: none.yaml", r"base: there is no file .*none\.yaml; give a path from the folder of"),
            ("base: one.yaml", r"base: .*one\.yaml has itself as a base"),
            ("base: two.yaml", r"base: .*one\.yaml has itself as a base"),
            ("base: list.yaml", r"base: .*list\.yaml is not a mapping"),
        ],
    )
    def test_a_base_that_cannot_be(self, tmp_path: Path, text: str, line: str):
        self._write(tmp_path, one=text, two="base: one.yaml", list="- 1")
        with pytest.raises(UserError, match=line):
            load_experiment(tmp_path / "one.yaml")


def test_keys_without_effect_are_named(tmp_path: Path, capsys):
    file = tmp_path / "idle.yaml"
    file.write_text("learner: ntuple\nrun: {name: a, group: b}\nntuple: {target: {steps: 5}}\n")
    warn_without_effect(load_experiment(file))
    assert capsys.readouterr().err == (
        "warning: ntuple.target.steps = 5 has no effect: it needs ntuple.target.method=n_step|lambda_return\n"
    )
    warn_without_effect(load_experiment(file, ["ntuple.target.method=n_step"]))
    assert capsys.readouterr().err == ""
