"""The loop of a search with an engine that trains in no time, and whole searches by the command line."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import optuna
import pytest

from launch.cli import main
from launch.experiment.metrics import EVALUATED
from launch.experiment.metrics_file import METRICS_FILE, read_metrics
from launch.jobs.plan import PlannedRun
from launch.jobs.run_states import find_runs, read_state
from launch.tune import tune
from launch.tune.engines import Outcome
from launch.tune.request import Sampling, TuneRequest
from launch.tune.study import POINTS, SCORE, read_points

ROOT = Path(__file__).parents[3]
TOY = [sys.executable, str(ROOT / "tests" / "launch" / "toy_main.py")]
RUNS = Path("runs")
FILE = RUNS / ".tune" / "tune.journal"


class Quick:
    """An engine: each look is a report of each run, whose score is known: 100 - (100 rate - 70)^2, higher at 0.7."""

    def __init__(self, stop_at: int = 10**9, failing: float = -1.0) -> None:
        self.is_interrupted = False
        self.started: list[str] = []
        self.cancelled: list[str] = []
        self._runs: dict[str, tuple[PlannedRun, int]] = {}
        self._looks, self._stop_at, self._failing = 0, stop_at, failing
        self.most_at_once = 0

    @staticmethod
    def score(run: PlannedRun) -> float:
        return 100.0 - (100 * run.experiment.settings.rate - 70) ** 2  # type: ignore[attr-defined]

    def is_wanted(self, run: PlannedRun) -> bool:
        return True

    def start(self, run: PlannedRun) -> None:
        run.prepare()
        self.started.append(run.name)
        self._runs[run.name] = (run, 0)

    def cancel(self, run: PlannedRun) -> None:
        self.cancelled.append(run.name)

    def look(self) -> None:
        self._looks += 1
        self.is_interrupted = self._looks >= self._stop_at
        self.most_at_once = max(self.most_at_once, len(self._runs))
        for name, (run, part) in self._runs.items():
            self._runs[name] = (run, part + 1)
            row: dict[str, Any] = {
                "env_steps": 5 * (part + 1), "games": 1, "updates": 1, "wall_hours": 0.1,
                "train/score_mean": self.score(run),
            }  # fmt: skip
            if part + 1 == POINTS:
                row |= dict.fromkeys(EVALUATED, self.score(run))
            with (run.folder / METRICS_FILE).open("a") as file:
                file.write(json.dumps(row) + "\n")

    def outcome(self, run: PlannedRun) -> Outcome | None:
        _, part = self._runs[run.name]
        is_failing = run.experiment.settings.rate == self._failing  # type: ignore[attr-defined]
        outcome: Outcome | None = "finished" if part == POINTS else "failed" if is_failing and part == 2 else None
        if run.name in self.cancelled:
            outcome = "stopped"
        if outcome:
            del self._runs[run.name]
        return outcome


@pytest.fixture(autouse=True)
def _quick_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "READ_SECONDS", 0.0)


def _search(
    engine: Quick, words: tuple[str, ...] = ("toy.rate=0..1",), trials: int = 20, at_once: int = 2, **sampling: Any
) -> tuple[bool, list[optuna.trial.FrozenTrial]]:
    request = TuneRequest(Path("toy.yaml"), words, "tune", trials, Sampling(**sampling))
    search = tune.Tuning(request)
    study = search.open()
    return search.do(study, engine, at_once), study.trials()


def _states(trials: list[optuna.trial.FrozenTrial]) -> list[str]:
    return [tune.STATES[trial.state] for trial in trials]


@pytest.mark.usefixtures("toy_yaml")
class TestLoop:
    def test_trials_have_the_scores_of_their_runs_and_no_more_are_at_work_than_asked(self):
        engine = Quick()
        is_over, trials = _search(engine, is_pruning=False)
        assert is_over
        assert _states(trials) == ["finished"] * 20
        assert len(set(engine.started)) == len(engine.started) == 20
        assert engine.most_at_once == 2
        for trial in trials:
            rate = trial.params["toy.rate"]
            assert trial.value == pytest.approx(100 - (100 * rate - 70) ** 2, abs=0.5)  # rates have four digits
            assert len(trial.intermediate_values) == POINTS
        best = max(trials, key=lambda trial: trial.value or -1e9)
        assert abs(best.params["toy.rate"] - 0.7) < 0.02  # 20 random values are as near with probability 0.56
        assert abs(trials[-1].params["toy.rate"] - 0.7) < 0.2  # the model has learned

    def test_bad_trials_are_pruned_and_good_ones_are_not(self):
        engine = Quick()
        _, trials = _search(engine, at_once=1, sampler="random")
        whole = [trial for trial in trials if trial.state is optuna.trial.TrialState.COMPLETE]
        pruned = [trial for trial in trials if trial.state is optuna.trial.TrialState.PRUNED]
        assert len(engine.cancelled) == len(pruned) > 4
        assert trials[:5] == whole[:5]
        for trial in pruned:
            assert trial.last_step is not None
            assert POINTS // 5 <= trial.last_step < POINTS
        for trial in trials[5:]:  # against the median of the whole ones before it
            before = sorted(other.value or 0 for other in whole if other.number < trial.number)
            middle = (before[(len(before) - 1) // 2] + before[len(before) // 2]) / 2
            score = 100 - (100 * trial.params["toy.rate"] - 70) ** 2
            assert (trial in pruned) == (score < middle)

    def test_a_stopped_search_goes_on_with_its_trials(self):
        is_over, trials = _search(first := Quick(stop_at=30), trials=6, is_pruning=False)
        assert not is_over
        assert _states(trials) == ["finished"] * 2 + ["not over"] * 2
        is_over, after = _search(second := Quick(), trials=6, is_pruning=False)
        assert is_over
        assert _states(after) == ["finished"] * 6
        assert second.started[:2] == first.started[2:]
        assert [trial.params for trial in after[:4]] == [trial.params for trial in trials]
        assert len({trial.params["toy.rate"] for trial in after}) == 6  # no number is drawn again

    def test_values_that_come_twice_are_trained_once(self):
        engine = Quick()
        _, trials = _search(engine, ("toy.rate=0.1,0.2",), trials=6, sampler="random", is_pruning=False)
        assert len(trials) == 6
        assert _states(trials) == ["finished"] * 6
        assert sorted(engine.started) == ["tune-one-rate=0.1", "tune-one-rate=0.2"]
        assert {trial.params["toy.rate"]: trial.value for trial in trials} == {"0.1": -3500, "0.2": -2400}

    @pytest.mark.parametrize(
        ("words", "seeds"),
        [((), "1-3"), (("run.seed=7",), "8-10"), (("run.seed=3..9",), "10-12"), (("run.seed=12,4",), "13-15")],
    )
    def test_the_best_trial_is_trained_again_with_seeds_that_no_trial_had(self, words: tuple[str, ...], seeds, capsys):
        search = tune.Tuning(TuneRequest(Path("toy.yaml"), ("toy.rate=0..1", *words), "tune", 1, Sampling()))
        search.do(study := search.open(), Quick(), 1)
        search.print_result(study.trials(), as_json=False)
        assert capsys.readouterr().out.splitlines()[-1].endswith(f" --seeds {seeds}")

    @pytest.mark.parametrize("damage", ["", "{damaged", "5"])
    def test_a_trial_whose_run_failed_or_whose_metrics_are_damaged_has_failed(self, damage: str):
        class Damaging(Quick):
            def outcome(self, run: PlannedRun) -> Outcome | None:
                outcome = super().outcome(run)
                if outcome and damage and "rate=0.2" in run.name:
                    (run.folder / METRICS_FILE).write_text(f"{damage}\n")
                return outcome

        engine = Damaging(failing=-1.0 if damage else 0.2)
        is_over, trials = _search(engine, ("toy.rate=0.1,0.2",), trials=6, sampler="random", at_once=1)
        assert is_over
        assert {trial.params["toy.rate"]: tune.STATES[trial.state] for trial in trials} == {
            "0.1": "finished", "0.2": "failed"
        }  # fmt: skip

    def test_a_trial_without_all_values_has_failed(self):
        """The process was killed while the sampler chose."""
        request = TuneRequest(Path("toy.yaml"), ("toy.rate=0..1",), "tune", 2, Sampling())
        search = tune.Tuning(request)
        study = search.open()
        study._study.ask()
        assert search.do(study, Quick(), 1)
        assert _states(study.trials()) == ["failed", "finished"]
        search.print_result(study.trials(), as_json=False)

    def test_no_trial_begins_after_the_user_stopped_one(self):
        class Stopping(Quick):
            def is_wanted(self, run: PlannedRun) -> bool:
                return self._looks < 10

            def outcome(self, run: PlannedRun) -> Outcome | None:
                return super().outcome(run) or ("stopped" if self._looks > 12 and self._runs.pop(run.name) else None)

        is_over, trials = _search(engine := Stopping(), trials=6, is_pruning=False)
        assert not is_over
        assert len(engine.started) == 2
        assert _states(trials) == ["not over"] * 2

    def test_a_study_of_other_words_or_another_config_is_refused(self, toy_yaml: Path, mistake):
        _search(Quick(), trials=1)
        line = mistake("tune toy.yaml toy.rate=0..0.5")
        assert line == (
            f"the study {FILE} was made for other settings (toy.rate=0..1, here toy.rate=0..0.5); give another --group"
        )
        toy_yaml.write_text(toy_yaml.read_text().replace("group: toys", "group: others"))
        assert "other settings (run.group: toys -> others)" in mistake("tune toy.yaml toy.rate=0..1")


def test_points_are_means_over_complete_parts(tmp_path: Path):
    rows = [(10, 1.0), (12, 3.0), (20, None), (26, 8.0), (31, 5.0)]
    lines = [
        {"env_steps": moves, "games": 1, "updates": 1, "wall_hours": 1.0}
        | ({} if score is None else {"train/score_mean": score})
        for moves, score in rows
    ]
    (tmp_path / METRICS_FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_points(tmp_path, 100) == {2: 1.0, 3: 3.0, 6: 8.0}  # 31 is in part 7, which ends at 35
    assert read_points(tmp_path / "none", 100) == {}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("toy.yaml toy.rate=0..1 --trials 0", "--trials 0: give 1 or more"),
        ("toy.yaml toy.rate=0..1 --group a/b", "--group a/b: give letters, digits and any of _ . + = - only"),
        ("toy.yaml toy.rat=0..1", "override toy.rat=0: "),
        ("toy.yaml toy.env_steps=0..5", "override toy.env_steps=0: "),
        ("toy.yaml toy.env_steps=50,100", "toy.env_steps=50,100: trials are compared at equal parts of one budget; "),
        ("toy.yaml", "nothing to search"),
        ("none.yaml toy.rate=0..1", "there is no config none.yaml"),
        ("toy.yaml toy.rate=0..1 --on all.yaml", "--on all.yaml: at_once is 0"),
        ("toy.yaml toy.rate=0..1 --on many.yaml", "1 runs at once with 99999 cores each need 99999 cores"),
        (
            "toy.yaml toy.rate=0..1 --json --dry-run",
            "--json prints the trials of a search, and with --dry-run",
        ),
        ("toy.yaml toy.rate=0..1 --wandb-sweep new.yaml --dry-run", "--wandb-sweep writes a file and trains nothing; "),
        ("toy.yaml toy.rate=0..1 --wandb-sweep new.yaml --on nowhere", "--wandb-sweep writes a file and trains no"),
        ("toy.yaml toy.rate=0..1 --wandb-sweep new.yaml --detach", "--wandb-sweep writes a file and trains nothing; "),
        ("toy.yaml toy.rate=0..1 --wandb-sweep all.yaml", "all.yaml is there already: name another --wandb-sweep"),
    ],
)
@pytest.mark.usefixtures("toy_yaml")
def test_mistakes_are_one_line_and_nothing_starts(words: str, line: str, mistake):
    Path("all.yaml").write_text("{engine: slurm, at_once: 0}")
    Path("many.yaml").write_text("{cores: 99999}")
    assert mistake(f"tune {words}").startswith(line)
    assert not RUNS.exists()
    assert not Path("new.yaml").exists()


def test_a_dry_run(toy_yaml: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["tune", "toy.yaml", "toy.rate=0..1", "toy.columns=3,4", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [["toy.rate", "0..1"], ["toy.columns", "3,4"]]
    assert lines[3].startswith("20 trials of 100 moves, 0 of them known; 1 at once")
    assert not RUNS.exists()


class TestProcesses:
    """Searches as users start them: the runs are processes of their own."""

    @pytest.fixture(autouse=True)
    def _cluster(self, toy_yaml: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        text = toy_yaml.read_text().replace("evaluate_env_steps: 30", "evaluate_env_steps: 0")
        toy_yaml.write_text(f"{text}  hold: hold\n")
        Path("hold").touch()
        Path("two.yaml").write_text(f"{{at_once: 2, cores: 1, prefix: '{' '.join(TOY)}'}}\n")

    @staticmethod
    def _tune(*words: str) -> "subprocess.Popen[str]":
        command = [*TOY, "muzero2048", "tune", "toy.yaml", "toy.rate=0..1", "--trials", "3", "--on", "two.yaml"]
        return subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True)

    @staticmethod
    def _wait_until_held() -> None:
        until = time.monotonic() + 60
        while sum(1 for _ in RUNS.glob("*/checkpoints/40")) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)

    def test_a_killed_search_finds_its_runs_again(self):
        search = self._tune()
        self._wait_until_held()
        search.send_signal(signal.SIGKILL)
        search.communicate()
        search = self._tune("--json")
        time.sleep(1)
        Path("hold").unlink()
        trials = json.loads(search.communicate(timeout=90)[0])
        assert search.returncode == 0
        assert [trial["state"] for trial in trials] == ["finished"] * 3
        assert trials == sorted(trials, key=lambda trial: -trial["score"])
        for trial in trials:
            run = RUNS / trial["run"]
            assert trial["score"] == read_metrics(run)[-1][SCORE]
            assert f"rate: {trial['values']['toy.rate']}\n" in (run / "config.yaml").read_text()
            assert len(json.loads((run / "environment.json").read_text())) == 1  # it was started once

    @pytest.mark.slow
    def test_stop_ends_a_detached_search_and_the_same_command_goes_on(self):
        said = self._tune("--detach").communicate(timeout=90)[0]
        assert "`muzero2048 stop tune` ends them all after they saved" in said
        self._wait_until_held()
        assert "another process searches" in subprocess.run(
            [*TOY, "muzero2048", "tune", "toy.yaml", "toy.rate=0..1"], capture_output=True, text=True
        ).stderr  # fmt: skip
        subprocess.run([*TOY, "muzero2048", "stop", "tune"], check=True, capture_output=True)
        until = time.monotonic() + 30
        while "not over" not in Path("runs/.local/tune.log").read_text():
            assert time.monotonic() < until
            time.sleep(0.05)
        assert [read_state(folder).state for folder in find_runs(["tune"], RUNS)] == ["stopped"] * 2
        Path("hold").unlink()
        search = self._tune()
        text = search.communicate(timeout=90)[0]
        assert search.returncode == 0
        assert text.count("finished") >= 3
        assert "the best of 3 trials" in text
        assert [read_state(folder).state for folder in find_runs(["tune"], RUNS)] == ["finished"] * 3
