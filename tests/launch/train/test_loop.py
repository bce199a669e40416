import json
import math
import os
import platform
import signal
import threading
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from small_runs import rows_without_times
from toy import ToyLearner, ToyPlayer

from launch.cli import main
from launch.evaluation.seeds import final_evaluation_seed
from launch.experiment.checkpoints import find_checkpoint, read_checkpoint
from launch.experiment.experiment import load_experiment
from launch.experiment.metrics_file import MetricsFile, read_metrics
from launch.train.run_process import read_process
from launch.train.training_run import TrainingRun

RUN = Path("runs/one")


def _train(yaml: Path, *words: str) -> int:
    return main(["train", str(yaml), *words])


def test_a_run_leaves_rows_evaluations_and_checkpoints(toy_yaml: Path, capsys):
    assert _train(toy_yaml) == 0
    rows = read_metrics(RUN)
    assert [row["env_steps"] for row in rows if "train/score_mean" in row] == list(range(10, 101, 10))
    assert [row["env_steps"] for row in rows if "eval/score_mean" in row] == [30, 60, 90, 100]
    assert [row["eval/games"] for row in rows if "eval/games" in row] == [3, 3, 3, 4]
    assert all({"env_steps", "games", "updates", "wall_hours"} <= row.keys() for row in rows)
    assert sorted(path.name for path in (RUN / "checkpoints").iterdir()) == ["100", "90"]
    assert [path.name for path in (RUN / "evaluations").iterdir()] == [
        f"100-1ply-4games-seed{final_evaluation_seed(0)}.json"
    ]
    assert {path.name for path in RUN.iterdir()} >= {"config.yaml", "environment.json", "metrics.jsonl"}
    assert "summary 500ms" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "code", "env_steps"), [(None, 0, 100), (signal.SIGINT, 75, 30)])
def test_a_training_goes_on_and_saves_when_nobody_reads_its_output(
    toy_yaml: Path, monkeypatch, unread, number: int | None, code: int, env_steps: int
):
    """Ctrl-C at `train ... | tee log` ends tee first."""
    advance = ToyLearner.advance

    def struck(self, tick):
        if number and self.env_steps == env_steps - 10:
            signal.raise_signal(number)
        return advance(self, lambda moves: tick(moves) and self.env_steps == env_steps)

    monkeypatch.setattr(ToyLearner, "advance", struck)
    with unread():
        assert _train(toy_yaml) == code
    process = read_process(RUN)
    assert process is not None
    assert (process.exit_code, process.line) == (code, "")
    assert find_checkpoint(RUN).name == str(env_steps)


def test_wall_hours_leave_out_evaluation_and_saving(toy_yaml: Path, monkeypatch):
    def slowly(function):
        return lambda *arguments: (time.sleep(0.1), function(*arguments))[1]

    monkeypatch.setattr(ToyPlayer, "play", slowly(ToyPlayer.play))
    monkeypatch.setattr(ToyLearner, "save", slowly(ToyLearner.save))
    _train(toy_yaml)
    assert read_metrics(RUN)[-1]["wall_hours"] * 3600 < 0.5  # evaluation and saving sleep 1.4 s


def test_an_evaluation_of_values_that_are_no_numbers_is_one_line(toy_yaml: Path, capsys, monkeypatch):
    def refuse(self, num_games: int, seed: int, watch: object) -> None:
        raise ValueError("the values are no numbers")

    monkeypatch.setattr("toy.ToyPlayer.play", refuse)
    assert main(["train", "toy.yaml"]) == 1
    assert "error: evaluation stopped at env_steps 30: the values are no numbers\n" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[{", "3", "\x00"])
def test_a_damaged_list_of_starts_stops_no_training(toy_yaml: Path, capsys, text: str):
    main(["train", "toy.yaml", "toy.env_steps=50"])
    (RUN / "environment.json").write_text(text)
    assert main(["train", "toy.yaml", "--resume"]) == 0
    assert "environment.json is damaged: the entries of earlier starts are lost" in capsys.readouterr().err
    assert len(json.loads((RUN / "environment.json").read_text())) == 1


def test_a_longer_budget_goes_on_where_the_run_ended(toy_yaml: Path, capsys):
    assert _train(toy_yaml, "toy.env_steps=50") == 0
    assert _train(toy_yaml, "--resume", "toy.env_steps=100") == 0
    assert "resuming with toy.env_steps: 50 -> 100" in capsys.readouterr().out
    extended = [row for row in rows_without_times(RUN) if "train/score_mean" in row]
    assert _train(toy_yaml, "run.name=whole") == 0
    assert extended == [row for row in rows_without_times(Path("runs/whole")) if "train/score_mean" in row]
    hours = [row["wall_hours"] for row in read_metrics(RUN)]
    assert hours == sorted(hours)
    assert hours[0] > 0
    assert read_checkpoint(find_checkpoint(RUN))[1].wall_hours == hours[-1]
    entries = json.loads((RUN / "environment.json").read_text())  # one for each start
    assert len(entries) == 2
    assert entries[0]["python"] == platform.python_version()
    assert entries[0]["packages"]["numpy"] == np.__version__
    assert entries[0]["version"] == version("muzero2048")


@pytest.mark.parametrize(
    ("every", "evaluated"),
    [(0, {50: 4, 100: 4}), (30, {30: 3, 50: 4, 60: 3, 90: 3, 100: 4}), (50, {50: 3, 100: 4})],
)
def test_a_longer_budget_keeps_the_final_evaluation_unless_one_in_training_is_due(
    toy_yaml: Path, every: int, evaluated: dict[int, int]
):
    """A final evaluation has 4 games, one in training 3."""
    for words in (["toy.env_steps=50"], ["--resume"]):
        assert _train(toy_yaml, f"run.evaluate_env_steps={every}", *words) == 0
    rows = [row for row in read_metrics(RUN) if "eval/games" in row]
    assert [(row["env_steps"], row["eval/games"]) for row in rows] == list(evaluated.items())


def test_a_finished_run_says_so(toy_yaml: Path, capsys):
    _train(toy_yaml)
    before = (RUN / "metrics.jsonl").read_bytes()
    capsys.readouterr()
    assert _train(toy_yaml, "--resume") == 0
    assert capsys.readouterr().out == "runs/one is finished; to train on, give a larger toy.env_steps\n"
    assert (RUN / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("number", "every", "struck_at", "rows_before"),
    [
        # At the last move of a report: the resumed run must make the evaluation at 30.
        (signal.SIGTERM, 10, 30, [10, 20, 30]),
        (signal.SIGINT, 10, 30, [10, 20, 30]),
        # Within a report, after which an evaluation is due: the resumed run has one more row, all else is the same.
        (signal.SIGTERM, 20, 35, [20, 35]),
    ],
)
def test_a_signal_saves_and_exits_75_and_the_resumed_run_is_the_same(
    toy_yaml: Path, monkeypatch, capsys, number: int, every: int, struck_at: int, rows_before: list[int]
):
    words = f"toy.report_env_steps={every}"
    _train(toy_yaml, "run.name=whole", words)
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    advance = ToyLearner.advance

    def struck(self, tick):
        return advance(
            self, lambda moves: (self.env_steps == struck_at and signal.raise_signal(number), tick(moves))[1]
        )

    with monkeypatch.context() as context:
        context.setattr(ToyLearner, "advance", struck)
        assert _train(toy_yaml, words) == 75
    process = read_process(RUN)
    assert process is not None
    assert (process.exit_code, process.is_stopped) == (75, True)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == handlers
    assert capsys.readouterr().out.endswith(f"stopped at {struck_at} moves; the same command with --resume goes on\n")
    assert [row["env_steps"] for row in rows_without_times(RUN)] == rows_before
    assert find_checkpoint(RUN).name == str(struck_at)
    assert _train(toy_yaml, words, "--resume") == 0
    whole = rows_without_times(Path("runs/whole"))
    evaluated = [row["env_steps"] for row in whole if "eval/score_mean" in row]
    assert evaluated == ([30, 60, 90, 100] if every == 10 else [40, 60, 100])
    is_whole = struck_at % every == 0
    assert [row for row in rows_without_times(RUN) if is_whole or row["env_steps"] != struck_at] == whole


def test_a_second_interrupt_names_the_last_checkpoint(toy_yaml: Path, monkeypatch, capfd):
    ended = threading.Event()

    monkeypatch.setattr(os, "_exit", lambda code: ended.set())
    advance = ToyLearner.advance

    def struck(self, tick):
        if self.env_steps == 30:
            for _ in range(2):
                signal.raise_signal(signal.SIGINT)
            assert ended.wait(30)
        return advance(self, tick)

    monkeypatch.setattr(ToyLearner, "advance", struck)
    _train(toy_yaml)
    assert capfd.readouterr().err.splitlines()[-1] == (
        "second Ctrl-C: ended at once; the training after runs/one/checkpoints/30 is lost;"
        " the same command with --resume goes on from there"
    )


def test_nan_stops_the_run_and_keeps_the_checkpoints_from_before(toy_yaml: Path, capsys):
    assert _train(toy_yaml, "toy.nan_at=40") == 1
    error = capsys.readouterr().err
    assert error == (
        "error: training stopped: td/error_abs_mean is nan at env_steps 40;"
        " the last good checkpoint is runs/one/checkpoints/30\n"
    )
    assert find_checkpoint(RUN).name == "30"
    assert all(math.isfinite(value) for row in read_metrics(RUN) for value in row.values())


def test_a_damaged_newest_checkpoint_falls_back_and_ends_the_same(toy_yaml: Path, capsys):
    _train(toy_yaml, "run.name=whole")
    _train(toy_yaml, "toy.env_steps=50")
    (RUN / "checkpoints" / "50" / "toy.json").write_text("{")
    assert _train(toy_yaml, "--resume") == 0
    assert "warning: runs/one/checkpoints/50/toy.json has 1 bytes" in capsys.readouterr().err
    assert rows_without_times(RUN) == rows_without_times(Path("runs/whole"))
    assert find_checkpoint(RUN).name == "100"


def test_resume_without_a_checkpoint_starts(toy_yaml: Path):
    assert _train(toy_yaml, "--resume") == 0
    assert [row["env_steps"] for row in rows_without_times(RUN)][-1] == 100


def test_save_minutes_zero_saves_at_the_end_alone(toy_yaml: Path):
    _train(toy_yaml, "run.save_minutes=0", "run.keep_checkpoints=9")
    assert [path.name for path in (RUN / "checkpoints").iterdir()] == ["100"]


@pytest.mark.parametrize("words", [["--resume", "toy.env_steps=120"], ["--resume", "toy.env_steps=120", "run.seed=0"]])
def test_a_run_folder_that_was_moved_goes_on_where_it_is(toy_yaml: Path, words: list[str]):
    _train(toy_yaml)
    moved = RUN.rename("2048")
    assert main(["train", "2048", *words]) == 0
    assert find_checkpoint(moved).name == "120"
    assert not list(Path("runs").iterdir())
    assert load_experiment(moved).run.folder == moved


def test_another_name_makes_another_run_beside_a_run_folder(toy_yaml: Path):
    _train(toy_yaml)
    assert main(["train", str(RUN), "run.name=two"]) == 0
    assert rows_without_times(Path("runs/two")) == rows_without_times(RUN)


def test_a_signal_splits_no_evaluation_from_the_note_of_it(toy_yaml: Path, monkeypatch):
    _train(toy_yaml, "run.name=whole")
    append = MetricsFile.append

    def struck(self, row) -> None:
        append(self, row)
        if "eval/score_mean" in row:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as context:
        context.setattr(MetricsFile, "append", struck)
        assert _train(toy_yaml) == 75
    assert read_checkpoint(find_checkpoint(RUN))[1].evaluated_env_steps == 30
    assert _train(toy_yaml, "--resume") == 0
    assert rows_without_times(RUN) == rows_without_times(Path("runs/whole"))


@pytest.mark.parametrize(
    "place", ["launch.train.training_run.TrainingRun._record", "launch.train.training_run.write_json"]
)
def test_a_kill_within_the_last_evaluation_loses_no_row_and_doubles_none(toy_yaml: Path, monkeypatch, place: str):
    def killed(*arguments) -> None:
        if place == "launch.train.training_run.write_json" or "eval/score_mean" in arguments[-1]:
            raise KeyboardInterrupt

    _train(toy_yaml, "run.name=whole", "run.evaluate_env_steps=0")
    _train(toy_yaml, "run.evaluate_env_steps=0", "toy.env_steps=90")
    record = TrainingRun._record
    with monkeypatch.context() as context:
        if place == "launch.train.training_run.write_json":
            context.setattr(place, killed)
        else:
            context.setattr(place, lambda self, values: killed(values) or record(self, values))
        assert _train(toy_yaml, "--resume", "run.evaluate_env_steps=0") == 130
    assert _train(toy_yaml, "--resume", "run.evaluate_env_steps=0") == 0
    rows = [row for row in rows_without_times(RUN) if row["env_steps"] == 100]
    assert rows == [row for row in rows_without_times(Path("runs/whole")) if row["env_steps"] == 100]


def test_an_evaluation_that_is_made_up_twice_has_one_row(toy_yaml: Path, monkeypatch: pytest.MonkeyPatch):
    """The evaluation was cut off, so it is not in the checkpoint. A resumed run makes it, but ends before it saves.

    The next resumed run makes it again.
    """
    with monkeypatch.context() as context:
        context.setattr(TrainingRun, "evaluate_if_due", lambda *_: None)
        advance = TrainingRun.advance
        context.setattr(
            TrainingRun, "advance", lambda run, stop: killed() if run.env_steps == 30 else advance(run, stop)
        )

        def killed() -> None:
            raise KeyboardInterrupt

        assert _train(toy_yaml) == 130
    with monkeypatch.context() as context:
        context.setattr(TrainingRun, "advance", lambda run, stop: killed())
        assert _train(toy_yaml, "--resume") == 130
    assert [row["env_steps"] for row in rows_without_times(RUN) if "eval/score_mean" in row] == [30]
    assert _train(toy_yaml, "--resume") == 0
    assert [row["env_steps"] for row in rows_without_times(RUN) if "eval/score_mean" in row] == [30, 60, 90, 100]


def test_a_damaged_checkpoint_does_not_count_among_those_kept(toy_yaml: Path):
    _train(toy_yaml, "toy.env_steps=50", "run.keep_checkpoints=3")
    (RUN / "checkpoints" / "50" / "toy.json").write_text("{")
    assert _train(toy_yaml, "--resume", "toy.env_steps=50", "run.save_minutes=0", "run.keep_checkpoints=2") == 0
    assert sorted(path.name for path in (RUN / "checkpoints").iterdir()) == ["40", "50", "50.damaged"]


def test_the_swap_test_is_played_at_every_evaluation(toy_yaml: Path):
    """The toy's probe scores 40 points more with the same seed, and each further game adds 50 to the mean."""
    _train(toy_yaml, "run.probe_games=2")
    _train(toy_yaml, "run.name=alone")
    evaluations = [row for row in read_metrics(RUN) if "eval/score_mean" in row]
    assert len(evaluations) == 4
    for row, games in zip(evaluations, [3, 3, 3, 4], strict=True):
        gap = 40 + 50 - 50 * (games - 1)
        assert row["probe/swap_gap"] == pytest.approx(gap)
        assert row["probe/swap_score_mean"] == pytest.approx(row["eval/score_mean"] + gap)
        margin = 12.7062 * 50  # t(0.975, 1) s / sqrt(2), where s belongs to two scores that differ by 100
        assert row["probe/swap_score_low"] == pytest.approx(row["probe/swap_score_mean"] - margin, rel=1e-4)
        assert row["probe/swap_score_high"] == pytest.approx(row["probe/swap_score_mean"] + margin, rel=1e-4)
    without = [{name: row[name] for name in row if not name.startswith("probe/")} for row in rows_without_times(RUN)]
    assert without == rows_without_times(Path("runs/alone"))


@pytest.mark.parametrize("env_steps", [30, 100])  # during training, and at its end
def test_a_signal_ends_a_probe_and_the_evaluation_with_it(toy_yaml: Path, monkeypatch, env_steps: int):
    _train(toy_yaml, "run.name=whole", "run.probe_games=2")

    class SlowPlayer:
        def play(self, num_games: int, seed: int) -> None:
            signal.raise_signal(signal.SIGTERM)
            pytest.fail("the probe went on")

    probes = ToyLearner.probes
    with monkeypatch.context() as context:
        context.setattr(
            ToyLearner, "probes", lambda self: {"swap": SlowPlayer()} if self.env_steps == env_steps else probes(self)
        )
        assert _train(toy_yaml, "run.probe_games=2") == 75
    assert find_checkpoint(RUN).name == str(env_steps)
    assert "eval/score_mean" not in read_metrics(RUN)[-1]
    assert _train(toy_yaml, "run.probe_games=2", "--resume") == 0
    assert rows_without_times(RUN) == rows_without_times(Path("runs/whole"))
