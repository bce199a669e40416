"""The leaderboard has the numbers of the evaluation files, and refuses files that cannot be compared."""

import json
import shutil
from pathlib import Path

import pytest

from launch.cli import main
from launch.errors import UserError
from launch.report.published import leaderboard
from launch.report.published.leaderboard import refusals
from launch.report.published.papers import PaperResult
from launch.report.published.programs import Program, read_programs
from tests.launch.report.made_runs import RESULT

ROOT = Path(__file__).parents[4]
SMALL = {"board": "2x3", "score_mean": 120.4, "score_high": 131.0, "reach": dict.fromkeys(RESULT["reach"], 0.0)}
PAPERS = [
    PaperResult("A 2023", "table 7", "8x6", "3 plies", "4x4", "5 games", 475126.0, 6407.0, None,
                {"16384": 0.9688}, None),
    PaperResult("Other 2020", "table 1", "2x3", "1 ply", "2x3", "1 game", 99.6, None, 100, {}, 2.5),
]  # fmt: skip
PROGRAMS = [Program("a/b, README", "cheat", "alone", 7, 999_999, invalid="no tile is a 4")]
HEAD = "| source | player | search | games | mean score | checked |"
LAST = "| moves/s | training | version | machine | command |"
END = "| 6.26M | 150M moves, 45 s | 0.1.0 | 2 cores | `muzero2048 evaluate a\\|b` |"
TABLES = f"""
## 4x4

{HEAD} 2048 | 4096 | 8192 | 16384 {LAST}
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| paper: A 2023, table 7 | 8x6 | 3 plies | - | 475,126 ± 6,407 | quoted | - | - | - | 96.9% | - | 5 games | - | - | - |
| this project | best (ntuple) | 1ply | 1,000 | 90,000 ± 2,000 | judged | 95.1% | 81.5% | 30.9% | 0.0% {END}
| this project | one (ntuple) | 1ply | 1,000 | 87,419 ± 2,540 | - | 95.1% | 81.5% | 30.9% | 0.0% {END}
| program: a/b, README | cheat | alone | 7 | 999,999 | invalid: no tile is a 4 | - | - | - | - | - | - | - | - | - |

## 2x3

{HEAD[:-1]}{LAST}
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| this project | one (ntuple) | 1ply | 1,000 | 120 ± 11 | - {END}
| paper: Other 2020, table 1 | 2x3 | 1 ply | 100 | 100 | quoted | 2.5 | 1 game | - | - | - |
"""


def _write(file: Path, **changes: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(RESULT | changes))
    return file


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write three evaluations and the results of papers; return the folder of the evaluations."""
    folder = tmp_path / "docs/evaluations"
    _write(folder / "a.json")
    _write(folder / "b.json", **SMALL)
    _write(folder / "c.json", run="best", score_mean=90_000, score_high=92_000.0, judged={})
    monkeypatch.setattr(leaderboard, "read_papers", lambda: PAPERS)
    monkeypatch.setattr(leaderboard, "read_programs", lambda: PROGRAMS)
    return folder


def test_each_board_has_a_table_with_the_best_score_first(published: Path, capsys):
    page = Path("docs/leaderboard.md")
    assert main(["leaderboard", "--check"]) == 2
    assert not page.exists()
    assert main(["leaderboard"]) == 0
    assert page.read_text() == leaderboard.INTRODUCTION + TABLES
    assert capsys.readouterr().out == "docs/leaderboard.md: written\n"
    assert main(["leaderboard", "--check"]) == 0
    assert capsys.readouterr().out == "docs/leaderboard.md: up to date\n"
    page.write_text(page.read_text().replace("475,126", "475,127"))
    assert main(["leaderboard", "--check"]) == 2
    assert "475,127" in page.read_text()


def test_a_refused_evaluation_has_a_line_and_the_others_are_written(published: Path, capsys, monkeypatch):
    monkeypatch.setattr(leaderboard, "project_version", lambda: "0.1.0")
    changes = {"games": 99, "version": "0.2.0", "training_start": "states"}
    _write(published / "b1.json", run="refused", score_mean=1e6, score_high=1e6, **changes)
    assert main(["leaderboard"]) == 0
    assert capsys.readouterr().out == (
        "docs/evaluations/b1.json is left out: it has 99 games; evaluate with --games 100 or more;"
        ' its version "0.2.0" is unknown to version 0.1.0; evaluate again;'
        " it was trained with start.kind=states; train with start.kind=normal\ndocs/leaderboard.md: written\n"
    )
    assert Path("docs/leaderboard.md").read_text() == leaderboard.INTRODUCTION + TABLES


@pytest.mark.parametrize(
    ("changes", "own", "reasons"),
    [
        ({}, "0.1.0", []),
        ({"version": None}, "0.1.0", ["version"]),
        ({"training_start": ...}, "0.1.0", []),  # a learner without a rule of starts has normal ones
        ({"version": "0.9.0"}, "0.10.0", []),  # versions up to that of the program are known
        ({"version": "0.10.0"}, "0.9.9", ["version"]),
        ({"version": "1.0.0"}, "1.0.1.dev3", []),
        ({"version": "0.1.0+x"}, "0.1.0", ["version"]),
        ({"version": "1e3"}, "0.1.0", ["version"]),
    ],
)
def test_which_versions_and_starts_are_refused(changes: dict, own: str, reasons: list[str]):
    result = {key: value for key, value in (RESULT | changes).items() if value is not ...}
    assert [reason.split()[1] for reason in refusals(result, own)] == reasons


def test_a_run_stands_for_its_final_evaluations(published: Path, capsys):
    folder = Path("runs/one/evaluations")
    _write(folder / "1.json", env_steps=10, games=5000, score_mean=1.0)  # before the end
    _write(folder / "2.json", env_steps=20, games=100, score_mean=2.0)  # fewer games
    _write(folder / "3.json", env_steps=20, games=200, score_mean=3.0)
    _write(folder / "4.json", env_steps=10, games=200, score_mean=4.0, search="mcts-n140")
    assert main(["leaderboard", "runs/one", "docs/evaluations/a.json", "--out", "page.md"]) == 0
    rows = [line.split(" | ") for line in Path("page.md").read_text().splitlines() if "this project |" in line]
    assert [(row[2], row[3], row[4].split()[0]) for row in rows] == [
        ("1ply", "1,000", "87,419"), ("mcts-n140", "200", "4"), ("1ply", "200", "3"),
    ]  # fmt: skip


def test_the_result_of_a_training_is_taken_as_it_is(toy_yaml: Path, capsys, published: Path):
    """Evaluations that this program writes have all that a row needs."""
    main(["train", "toy.yaml", "run.final_games=100"])
    result = json.loads(next(Path("runs/one/evaluations").glob("*.json")).read_text())
    assert main(["leaderboard", "runs/one", "--out", "page.md"]) == 0
    (row,) = (line for line in Path("page.md").read_text().splitlines() if "this project |" in line)
    assert row.startswith(f"| this project | one (toy) | 1ply | 100 | {result['score_mean']:,.0f} ± ")


@pytest.mark.usefixtures("published")
def test_paths_that_cannot_be_used(mistake):
    Path("runs/two").mkdir(parents=True)
    assert mistake("leaderboard nowhere") == "there is no nowhere; give an evaluation file or a run folder"
    assert mistake("leaderboard runs/two").startswith(
        "runs/two has no evaluations; play one: muzero2048 evaluate runs/"
    )
    assert mistake("leaderboard --out none/page.md").startswith("cannot use none/page.md: ")
    shutil.rmtree("docs")
    assert mistake("leaderboard").startswith("there is no folder docs/evaluations; run the command in a checkout")


def test_programs_are_quoted_and_mistakes_in_them_are_named(tmp_path: Path):
    """Figures typed again from the pages of their authors."""
    rows = {(row.source.split(",")[0], row.search): row for row in read_programs()}
    best = rows["game-difficulty/2048EndgameTablebase", "expectimax, 1 to 9 plies"]
    assert (best.score_mean, best.games, best.reach["32768"], best.invalid) == (772_353, 1200, 0.861, "")
    deep = rows["macroxue/2048-ai", "expectimax, depth 8"]
    assert (deep.score_mean, deep.games, deep.reach["65536"], deep.moves_per_second) == (711_769, 1000, 0.035, 15)
    assert "491 and 492" in rows["PufferAI/PufferLib", "policy alone"].invalid
    file = tmp_path / "programs.yaml"
    file.write_text("programs: [{source: a, player: b, search: c, games: 3, score: 2}]")
    with pytest.raises(UserError, match=r"programs.yaml: there is no key 'programs\[0\].score'"):
        read_programs(file)


def test_the_published_page_is_that_of_its_inputs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    assert main(["leaderboard", "--check"]) == 0, "run: muzero2048 leaderboard"
