import json
import shutil
from pathlib import Path

import pytest
from toy import ToyLearner

from launch.errors import UserError
from launch.experiment.checkpoints import (
    State,
    find_checkpoint,
    read_checkpoint,
    run_folder_of,
    save_checkpoint,
    verify,
)
from launch.experiment.experiment import Experiment, load_experiment
from launch.experiment.processes import Processes


@pytest.fixture
def experiment(toy_yaml: Path) -> Experiment:
    return load_experiment(toy_yaml, ["run.keep_checkpoints=3"])


@pytest.fixture
def run(tmp_path: Path, experiment: Experiment) -> Path:
    """Make a run folder with checkpoints at 9, 10 and 100 moves; the one at 8 moves is no longer kept."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.yaml").write_text(experiment.to_yaml())
    for env_steps in (8, 9, 10, 100):
        _save(folder, experiment, env_steps)
    return folder


def _save(run: Path, experiment: Experiment, env_steps: int, wall_hours: float = 1.5) -> Path:
    learner = ToyLearner(experiment.settings, seed=0)
    learner.env_steps = env_steps
    return save_checkpoint(run, learner, experiment, State("toy", learner.progress, wall_hours, 7, "0.1"), Processes())


def _cut(checkpoint: Path) -> None:
    file = checkpoint / "toy.json"
    file.write_bytes(file.read_bytes()[:-1])


def test_a_checkpoint_holds_learner_experiment_and_state(run: Path, experiment: Experiment):
    checkpoint = run / "checkpoints" / "100"
    assert sorted(path.name for path in checkpoint.iterdir()) == [
        "config.yaml",
        "manifest.json",
        "state.json",
        "toy.json",
    ]
    saved, state = read_checkpoint(checkpoint)
    assert saved == experiment
    assert state == State("toy", {"env_steps": 100, "games": 20, "updates": 100}, 1.5, 7, "0.1")
    assert sorted(json.loads((checkpoint / "manifest.json").read_text())) == ["config.yaml", "state.json", "toy.json"]


def test_the_newest_by_number_are_kept_and_nothing_half_written(run: Path):
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["10", "100", "9"]


def test_a_run_a_checkpoints_folder_and_a_checkpoint_are_all_found(run: Path, tmp_path: Path):
    run = run.rename(tmp_path / "2048")  # a run may have a number for its name
    newest = run / "checkpoints" / "100"
    assert find_checkpoint(run) == find_checkpoint(run / "checkpoints") == newest
    assert find_checkpoint(run / "checkpoints" / "9") == run / "checkpoints" / "9"
    assert run_folder_of(newest) == run
    copy = newest.rename(tmp_path / "best")  # elsewhere
    assert find_checkpoint(copy) == copy
    assert run_folder_of(copy) is None


def test_what_a_killed_save_left_is_not_taken_for_a_checkpoint(run: Path, experiment: Experiment):
    halves = [run / "checkpoints" / name for name in (".150.tmp", ".200.tmp")]  # 150 is never saved again, 200 is
    for half in halves:
        half.mkdir()
        (half / "toy.json").write_text("{")
    assert find_checkpoint(run).name == "100"
    _save(run, experiment, 200)
    assert find_checkpoint(run).name == "200"
    assert not any(half.exists() for half in halves)


def test_a_kill_while_the_old_checkpoint_of_a_step_is_deleted_leaves_the_new_one(
    run: Path, experiment: Experiment, monkeypatch, capsys
):
    def killed(folder: Path, **_: object) -> None:
        if folder.exists():
            (folder / "toy.json").unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            _save(run, experiment, 100, wall_hours=9.0)
    newest = find_checkpoint(run)
    assert (newest.name, read_checkpoint(newest)[1].wall_hours, capsys.readouterr().err) == ("100", 9.0, "")
    _save(run, experiment, 200)
    assert sorted(path.name for path in newest.parent.iterdir()) == ["10", "100", "200"]


def test_there_is_never_more_than_one_checkpoint_beside_those_to_keep(run: Path, experiment: Experiment, monkeypatch):
    """This also holds after a kill between the new checkpoint and the deletion of the oldest."""
    keep = experiment.run.keep_checkpoints
    for step in range(200, 200 + 100 * keep, 100):
        shutil.copytree(run / "checkpoints" / "100", run / "checkpoints" / str(step))
    (run / "checkpoints" / ".50.tmp").mkdir()
    seen, save = [], ToyLearner.save
    monkeypatch.setattr(
        ToyLearner, "save", lambda self, folder: seen.append(len(list(folder.parent.iterdir()))) or save(self, folder)
    )
    _save(run, experiment, 100 + 100 * keep + 100)
    assert seen == [keep + 1]
    assert len(list((run / "checkpoints").iterdir())) == keep


def test_a_byte_in_a_folder_of_the_training_state_is_noticed(run: Path, experiment: Experiment, capsys, monkeypatch):
    """MuZero keeps folders of files, most of which evaluation does not read; each byte of them counts."""

    def save(self: ToyLearner, folder: Path) -> None:
        file = folder / "training" / "state" / "d" / "0a"
        file.parent.mkdir(parents=True)
        file.write_bytes(bytes(range(100)))

    monkeypatch.setattr(ToyLearner, "save", save)
    newest = _save(run, experiment, 200)
    assert find_checkpoint(run) == newest
    file = newest / "training" / "state" / "d" / "0a"
    whole = file.read_bytes()
    for place in (0, 50, 99):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        file.write_bytes(flipped)
        assert find_checkpoint(run).name == "100"
        line = f"warning: {file} was changed after saving: the checkpoint is damaged, use another one"
        assert f"{line}; trying the one before it" in capsys.readouterr().err


def test_saving_the_same_step_again_replaces_the_checkpoint(run: Path, experiment: Experiment):
    _cut(run / "checkpoints" / "100")
    _save(run, experiment, 100, wall_hours=2.0)
    assert read_checkpoint(find_checkpoint(run))[1].wall_hours == 2.0


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (_cut, r"toy\.json has \d+ bytes instead of \d+: the checkpoint is damaged"),
        (lambda folder: (folder / "toy.json").unlink(), r"toy\.json is missing: the checkpoint is damaged"),
        (lambda folder: (folder / "manifest.json").unlink(), r"manifest\.json cannot be read"),
        (lambda folder: (folder / "manifest.json").write_text('{"toy.js'), r"manifest\.json cannot be read"),
        (lambda folder: (folder / "manifest.json").write_text("null"), r"manifest\.json does not name state\.json"),
        (lambda folder: (folder / "manifest.json").write_text("[1]"), r"manifest\.json does not name state\.json"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), r"manifest\.json does not name state\.json"),
        (
            lambda folder: (folder / "manifest.json").write_text('{"state.json": {}, "config.yaml": {}}'),
            r"manifest\.json has no size and SHA-256 of state\.json",
        ),
        (
            lambda folder: (folder / "toy.json").write_bytes((folder / "toy.json").read_bytes().replace(b"1", b"2")),
            r"toy\.json was changed after saving",
        ),
    ],
)
def test_damage_is_refused_by_name_and_the_one_before_is_used(run: Path, damage, line: str, capsys):
    checkpoint = run / "checkpoints" / "100"
    verify(checkpoint)  # whose digests are kept until a file changes
    damage(checkpoint)
    with pytest.raises(UserError, match=line):
        verify(checkpoint)
    with pytest.raises(UserError, match=line):
        find_checkpoint(checkpoint)
    assert find_checkpoint(run).name == "10"
    warning = capsys.readouterr().err
    assert warning.startswith(f"warning: {checkpoint}")
    assert warning.endswith("; trying the one before it\n")


def test_nothing_good_is_an_error(run: Path, tmp_path: Path, capsys):
    with pytest.raises(UserError, match=r"holds no checkpoint"):
        find_checkpoint(tmp_path)
    with pytest.raises(UserError, match=r"there is no .*nowhere"):
        find_checkpoint(tmp_path / "nowhere")
    for checkpoint in (run / "checkpoints").iterdir():
        _cut(checkpoint)
    with pytest.raises(UserError, match=r"every checkpoint of .* is damaged"):
        find_checkpoint(run, set_aside=True)
    warnings = capsys.readouterr().err.splitlines()
    assert [line.rpartition("; ")[2] for line in warnings] == [
        *2 * ["trying the one before it"],
        "there is none before it",
    ]
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["10", "100", "9"]


@pytest.mark.parametrize("text", ["{", "null", '{"learner": "toy"}', "[1]"])
def test_a_state_that_cannot_be_read_is_named(run: Path, text: str):
    checkpoint = run / "checkpoints" / "100"
    (checkpoint / "state.json").write_text(text)
    with pytest.raises(UserError, match=r"100/state\.json cannot be read"):
        read_checkpoint(checkpoint)


def test_evaluation_changes_nothing_and_resuming_sets_the_damaged_ones_aside(run: Path, capsys):
    _cut(run / "checkpoints" / "100")
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert find_checkpoint(run).name == "10"
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == names
    assert find_checkpoint(run, set_aside=True).name == "10"
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["10", "100.damaged", "9"]
    assert capsys.readouterr().err.endswith("checkpoints/100 is now " + str(run / "checkpoints" / "100.damaged") + "\n")


def test_the_checkpoint_just_written_is_never_deleted(run: Path, toy_yaml: Path):
    written = _save(run, load_experiment(toy_yaml, ["run.keep_checkpoints=1"]), 9)
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["9"]
    verify(written)
