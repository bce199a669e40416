"""`muzero2048 reproduce` with a table of the toy learner, against numbers by hand."""

import csv
import json
from pathlib import Path

import pytest

from launch.cli import main
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.seeds import final_evaluation_seed
from launch.experiment.experiment import load_experiment
from launch.report.papers import estimate as estimates
from launch.report.papers.comparison import interval_of, read_table_file
from launch.report.papers.lines import number_text
from launch.report.papers.plan import Scale, Trained, overrides_of
from launch.report.papers.table import PaperColumn, PaperRow, PaperTable, load_table

TABLE = """\
title: A table
source: Nobody, table 1
conditions: none
caveat: It is a toy.
base: toy.yaml
overrides: [toy.columns=2]
env_steps: 100
training_games: 10
seeds: 5
games: 4
moves_per_second: 100
columns:
  - {name: score, statistic: score_mean, unit: 10}
  - {name: "2048 [%]", statistic: reach_2048, unit: 0.01}
  - {name: weights, statistic: "", why: not computed}
rows:
  - {name: a, paper: {score: [7.5, 0.5], "2048 [%]": [80]}, overrides: [toy.rate=0.1]}
  - {name: b, paper: {score: [9], weights: [3]}, env_steps: 60, games: 3}
  - {name: again, paper: {score: [7.6]}, of: a, games: 5}
  - {name: lost, paper: {score: [1]}, why: nobody knows}
"""


@pytest.fixture
def table_yaml(toy_yaml: Path) -> str:
    Path("table.yaml").write_text(TABLE)
    return "table.yaml"


def _weight(run: str) -> float:
    (file,) = Path("runs", run, "checkpoints").glob("*/toy.json")
    return json.loads(file.read_text())["weight"]


def test_rows_are_trained_evaluated_and_printed_beside_the_paper(table_yaml: str, capsys):
    assert main(["reproduce", table_yaml, "--budget", "0.5", "--seeds", "1-2"]) == 0
    out = capsys.readouterr().out
    assert sorted(path.name for path in Path("runs").glob("*-seed*")) == [
        "table-a-b0.5-seed1", "table-a-b0.5-seed2", "table-b-b0.5-seed1", "table-b-b0.5-seed2",
    ]  # fmt: skip
    page = json.loads(Path("runs/table-b0.5.json").read_text())
    rows = {row["name"]: row for row in page["rows"]}
    assert [(row["paper_moves"], row["moves"]) for row in page["rows"]] == [(100, 50), (60, 30), (100, 50), (100, 50)]
    assert [row["paper_training_games"] for row in page["rows"]] == [10, 0, 10, 10]
    means = [
        final_evaluation_seed(seed) % 1000 + 150 + round(_weight(f"table-a-b0.5-seed{seed}")) for seed in (1, 2)
    ]  # scores of the toy: 0, 100, 200 and 300 above its first
    assert [row["runs"] for row in page["rows"]] == [
        ["table-a-b0.5-seed1", "table-a-b0.5-seed2"], ["table-b-b0.5-seed1", "table-b-b0.5-seed2"],
        ["table-a-b0.5-seed1", "table-a-b0.5-seed2"], [],
    ]  # fmt: skip
    assert read_table_file(Path("runs/table-b0.5.json")).caveats == page["caveats"]
    cell = rows["a"]["cells"]["score"]
    assert cell["here"] == pytest.approx(sum(means) / 2 / 10)
    half = 12.7062047 * abs(means[0] - means[1]) / 2  # t(0.975, 1) s / sqrt(2), s = |difference| / sqrt(2)
    assert cell["here_high"] - cell["here"] == pytest.approx(half / 10)
    assert (cell["paper"], cell["paper_margin"], cell["seeds"], cell["games"]) == (7.5, 0.5, 2, 4)
    assert rows["a"]["cells"]["2048 [%]"]["here"] == pytest.approx(75)
    assert rows["again"]["cells"]["score"]["games"] == 5
    assert rows["again"]["cells"]["score"]["here"] == pytest.approx(cell["here"] + 5)  # 400 above: the mean is 50 more
    assert (rows["b"]["cells"]["weights"]["here"], rows["lost"]["why"]) == (None, "nobody knows")
    assert page["caveats"] == [
        "It is a toy.",
        "Budget: 0.5 of the paper's moves of training; scores rise with the budget.",
        "Seeds: 2 trained networks a row here, 5 in the paper.",
        "± here is half of the 95% interval over trained networks.",
    ]
    for line in ("Caveat: It is a toy.", "not here: nobody knows", "Conditions: none", "10 games", "50 moves"):
        assert line in out
    with Path("runs/table-b0.5.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == 6
    first = lines[0]
    assert (first["row"], first["paper"], float(first["here"]), first["paper_moves"], first["moves"]) == (
        "a", "7.5", cell["here"], "100", "50",
    )  # fmt: skip


def test_finished_rows_are_reused_and_others_left_open(table_yaml: str, capsys):
    assert main(["reproduce", table_yaml, "--rows", "again"]) == 0
    assert [path.name for path in Path("runs").glob("*-seed*")] == ["table-a-b1-seed1"]
    files = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*.json") if path.parent.name != "runs"}
    capsys.readouterr()
    assert main(["reproduce", table_yaml, "--rows", "again", "--csv", "mine.csv"]) == 0
    assert "moves/s" not in capsys.readouterr().out  # nothing was trained or played
    assert {path: path.stat().st_mtime_ns for path in files} == files
    cells = {row["name"]: row["cells"] for row in json.loads(Path("runs/table-b1.json").read_text())["rows"]}
    assert cells["again"]["score"]["here"] is not None
    assert cells["b"]["score"]["here"] is None
    assert Path("mine.csv").read_text().startswith("table,row,column,paper,")


def test_only_the_columns_that_are_named_are_evaluated(table_yaml: str, capsys):
    text = TABLE.replace("  - {name: weights", "  - {name: long, games: 6}\n  - {name: weights")
    Path(table_yaml).write_text(text.replace("score: [7.5, 0.5]", "score: [7.5, 0.5], long: [7]"))
    assert main(["reproduce", table_yaml, "--rows", "a", "--columns", "long, weights"]) == 0
    (a, *_) = json.loads(Path("runs/table-b1.json").read_text())["rows"]
    assert {name: cell["games"] for name, cell in a["cells"].items()} == {"score": 0, "2048 [%]": 0, "long": 6}
    assert a["cells"]["score"]["here"] is None
    assert main(["reproduce", table_yaml, "--rows", "a", "--columns", "2048 [%]"]) == 0
    (a, *_) = json.loads(Path("runs/table-b1.json").read_text())["rows"]
    assert [cell["games"] for cell in a["cells"].values()] == [4, 4, 6]  # what was played before stays


def test_a_table_on_this_machine_by_a_cluster_file(table_yaml: str, monkeypatch, capfd):
    from launch.jobs import local

    started = []

    def do_all(tasks, cluster):
        started.extend(task.name for task in tasks)
        for task in tasks:
            if not task.is_running():
                task.prepare()
            assert main([word for word in task.arguments if word != "--keep"]) == 0  # the toy plays whole games
        return local.TaskOutcomes(finished=list(tasks))

    monkeypatch.setattr(local, "do_all", do_all)
    assert main(["reproduce", table_yaml, "--rows", "a", "--on", "local"]) == 0
    assert started == ["table-a-b1-seed1", "table-a-b1-seed1, result"]
    cells = json.loads(Path("runs/table-b1.json").read_text())["rows"][0]["cells"]
    assert cells["score"]["games"] == 4


def test_on_slurm_what_can_begin_is_submitted(table_yaml: str, monkeypatch, capsys):
    """First the trainings; when one is finished, its evaluation and the run that begins from it."""
    from launch.jobs import slurm

    Path(table_yaml).write_text(TABLE + "  - {name: next, paper: {score: [1]}, begin_from: a}\n")
    submitted = []

    def submit_tasks(tasks, cluster, name, runs_folder, dry_run, after=()):
        submitted.append([task.name for task in tasks])
        for task in tasks:
            task.prepare()
        return "7"

    monkeypatch.setattr(slurm, "read_queue", lambda is_needed=False: {})
    monkeypatch.setattr(slurm, "submit_tasks", submit_tasks)
    words = ["reproduce", table_yaml, "--rows", "a,b,next", "--on", "slurm"]
    assert main(words) == 0
    assert submitted == [["table-a-b1-seed1", "table-b-b1-seed1"]]
    assert main(["train", "runs/table-a-b1-seed1", "--resume"]) == 0
    submitted.clear()
    assert main(words) == 0
    assert submitted == [["table-b-b1-seed1", "table-next-b1-seed1"], ["table-a-b1-seed1, result"]]
    assert "submits what could not begin yet" in capsys.readouterr().out


def test_the_budget_scales_moves_and_games_are_cut():
    table = PaperTable(name="t", folder="configs", base="ntuple/8x6-otc.yaml", env_steps=10**12, games=100_000)
    row = PaperRow(name="r", paper={"x": [1.0]}, scaled={"ntuple.average.env_steps": 10**10})
    root = Path(__file__).parents[4]
    table = PaperTable(**{**vars(table), "folder": str(root / "configs")})
    words = dict(word.split("=", 1) for word in overrides_of(Trained(table, row), Scale(0.001), 1))
    assert words["ntuple.env_steps"] == "1000000000"
    assert words["ntuple.report_env_steps"] == "10000000"
    assert words["ntuple.average.env_steps"] == "10000000"
    assert words["run.group"] == "t/r-b0.001"
    assert words["run.keep_checkpoints"] == "1"
    assert [Scale(most_games=most).games(100_000) for most in (None, 100, 10**6)] == [100_000, 100, 100_000]


def test_a_column_adds_to_the_play_of_its_row():
    row = SearchOptions("mcts", simulations=10, overrides=("search.c=0.1",))
    assert SearchOptions(simulations=50).over(row) == SearchOptions("mcts", simulations=50, overrides=("search.c=0.1",))
    assert SearchOptions("expectimax", plies=2, overrides=("a=b",)).over(SearchOptions()).arguments() == [
        "--search", "expectimax", "--plies", "2", "a=b",
    ]  # fmt: skip


def test_intervals_of_one_network_and_of_several():
    scores = {"score_mean": 10.0, "score_low": 8.0, "score_high": 12.0, "score_max": 30}
    one = {"games": 100, "reach": {"2048": 0.5}, **scores}
    assert interval_of([one], "score_mean") == (10.0, 8.0, 12.0)
    assert interval_of([one], "score_max") == (30.0, None, None)
    rate, low, high = interval_of([one], "reach_2048")
    assert (rate, round(low, 4), round(high, 4)) == (0.5, 0.4038, 0.5962)  # Wilson, n = 100
    mean, low, high = interval_of([one, {**one, "score_max": 50}], "score_max")
    assert (mean, round(high - mean, 2), round(mean - low, 2)) == (40.0, 127.06, 127.06)  # t(0.975, 1) * 10


@pytest.mark.parametrize(
    ("value", "margin", "text"),
    [
        (251033.4, 3483.0, "251,033 ± 3,483"),
        (999.994, None, "999.99"),
        (0.0, 3.571, "0.00 ± 3.57"),
        (0.005, None, "0.01"),
        (0.000083, None, "8.3e-05"),
        (-74.3, 7.1, "-74.30 ± 7.10"),
        (0.9, 0.0001, "0.90 ± 1.0e-04"),
        (99435.4, 852.256, "99,435 ± 852"),
    ],
)
def test_numbers_as_texts(value: float, margin: float | None, text: str):
    assert number_text(value, margin) == text


def test_hours_by_hand(table_yaml: str):
    table = load_table(table_yaml)
    columns = [PaperColumn("1"), PaperColumn("3", play=SearchOptions("expectimax", plies=3))]
    rows = [
        PaperRow("a", {"1": [1.0], "3": [1.0]}),
        PaperRow("b", {"1": [1.0]}, of="a"),
        PaperRow("c", {"1": [1.0]}, why="lost"),
    ]
    table = PaperTable(**{**vars(table), "columns": columns, "rows": rows, "env_steps": 720_000})
    found = estimates.estimate(table, rows, Scale(0.5, (1, 2)), {})
    assert found.training == pytest.approx(2 * 360_000 / 100 / 3600)
    games_seconds = 4 * 10_000 / 100
    assert found.playing == pytest.approx(2 * games_seconds * (1 + 4383.83 / 4.56 + 1) / 3600)
    assert not found.is_measured
    known = {estimates.network_of(load_experiment(Path("toy.yaml"), ["toy.columns=2"])): 1000.0}
    assert estimates.estimate(table, rows[:1], Scale(), known).training == pytest.approx(720 / 3600)


def test_all_tables_are_listed_with_their_hours(monkeypatch, capsys):
    assert main(["reproduce", "--budget", "0.001", "--games", "1000"]) == 0
    out = capsys.readouterr().out
    assert "guei-table-5" in out
    assert "Hours are for 0.001 of the paper's moves and 1 of its training seeds" in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nowhere"], "there is no table nowhere"),
        (["table.yaml", "--rows", "z"], "table has no row z; its rows are a, b, again, lost"),
        (["table.yaml", "--columns", "2048"], "table has no column 2048; its columns are score, 2048 [%], weights"),
        (["table.yaml", "--budget", "2"], "--budget is 2; give a share of the paper's moves in (0, 1], such as 0.001"),
        (["table.yaml", "--budget", "nan"], "--budget is nan"),
        (["table.yaml", "--games", "1"], "--games is 1; give 2 or more"),
        (["table.yaml", "--on", "mars"], "--on mars: there is no"),
        (["table.yaml", "--csv", "no/such.csv"], "--csv no/such.csv: there is no folder"),
        (["table.yaml", "--csv", "/proc/a.csv"], "--csv /proc/a.csv: cannot write to /proc: "),
        (["--rows", "a"], "--rows needs a TABLE"),
        (["--columns", "a"], "--columns needs a TABLE"),
    ],
)
def test_mistakes_are_one_line(table_yaml: str, mistake, words: list[str], line: str):
    assert line in mistake("reproduce", *words)
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("title: A table\n", "", "table.yaml: title is missing"),
        ("score_mean", "score_meen", "no statistic score_meen"),
        ("weights: [3]", "wait: [3]", "b has a number of no column: wait"),
        ("score: [9]", "score: []", "b needs numbers of the paper"),
        ("name: b", "name: a", "rows: give one or more, each name once"),
        ("of: a", "of: again", "again takes the network of again: name that row"),
        ("of: a", "of: other/a", "there is no table"),
        ("of: a", "of: a, env_steps: 3", "again takes the network of a: leave out its own training"),
        ("name: b", 'name: "b b"', "the name 'b b' needs letters"),
        ("score: [9]", "score: [nine]", "rows[1].paper.score[0] is 'nine'; give a number"),
        ("score: [9]", "score: [9], score: [8]", "the key 'score' stands twice in one mapping"),
        ("toy.rate=0.1]", "toy.rate=0.1", "not YAML"),
        ("games: 4", "gamez: 4", "table.yaml: there is no key 'gamez'; did you mean 'games'?"),
        ("toy.rate=0.1", "toy.rats=0.1", "there is no key 'toy.rats'; did you mean 'rate'?"),
    ],
)
def test_a_wrong_table(table_yaml: str, mistake, old: str, new: str, line: str):
    Path(table_yaml).write_text(TABLE.replace(old, new, 1))
    assert line in mistake("reproduce", table_yaml)
    assert not Path("runs").exists()


def test_a_run_of_a_changed_table_is_refused(table_yaml: str, mistake):
    assert main(["reproduce", table_yaml, "--rows", "a"]) == 0
    Path(table_yaml).write_text(TABLE.replace("toy.rate=0.1", "toy.rate=0.2"))
    assert "runs/table-a-b1-seed1 exists with another config (toy.rate: 0.1 -> 0.2)" in mistake(
        "reproduce", table_yaml, "--rows", "a"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "row", "budget", "runs"),
    [
        ("guei-table-5", "4x6-otd-tc", "1e-8", 1),  # optimistic TD, then TC
        ("guei-table-8", "4x6-v0-1-ply", "1e-8", 2),  # a second stage on a trained first one; expectimax
        ("guei-table-12", "otc-ensemble", "1e-6", 1),  # a mean of networks
        ("guei-table-16", "20-0.000", "1e-6", 1),  # a search as the target; Monte Carlo tree search in play
        ("guei-table-41", "relu-tc", "1e-7", 1),
        ("guei-table-42", "epsilon-0.01", "1e-8", 1),
        ("jaskowski-table-1", "autostep-0.1", "1e-6", 1),
        ("jaskowski-table-2", "delayed-td-0.5", "1e-6", 1),
        ("matsuzaki-table-1", "1-pr-in", "1e-6", 1),
        ("otd-table-2", "0", "1e-8", 1),
    ],
)
def test_a_row_of_each_family_runs_at_a_tiny_budget(table: str, row: str, budget: str, runs: int):
    assert main(["reproduce", table, "--rows", row, "--budget", budget, "--games", "4"]) == 0
    page = json.loads(Path(f"runs/{table}-b{float(budget):g}.json").read_text())
    cells = next(one for one in page["rows"] if one["name"] == row)["cells"]
    for column in page["columns"]:
        if column["statistic"]:
            here = cells[column["name"]]
            assert here["here"] is not None
            assert (here["games"], here["seeds"]) == (4, 1)
            if column["statistic"] == "score_mean":
                assert 100 < here["here"] * column["unit"] < 100_000  # four games; a random player scores 1,100
                assert here["here_low"] < here["here"] < here["here_high"]
    assert len(list(Path("runs").glob("*-seed1"))) == runs
