import base64
import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from launch.cli import main
from launch.experiment import registry
from launch.report.runs import read_config, read_run
from tests.launch.conftest import TOY_YAML
from tests.launch.report.made_runs import read, write_evaluation, write_run
from tests.launch.report.made_tables import cells_of

FILES = ["budgets.csv", "config.csv", "costs.csv", "curves.csv", "differences.csv", "distributions.csv",
         "evaluations.csv", "groups.csv", "index.html", "reach_4096.png", "reach_4096.svg", "references.csv",
         "score.png", "score.svg", "scores.png", "scores.svg", "searches.csv", "tiles.png", "tiles.svg"]  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train two seeds of one experiment, and a run of another learner with 100 times the moves; return the folder."""
    folder = tmp_path_factory.mktemp("compare")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("WANDB_MODE", "disabled")
        for learner in ("toy", "other"):
            patch.setitem(registry.LEARNERS, learner, "toy")
        Path("toy.yaml").write_text(TOY_YAML)
        main(["train", "toy.yaml", "run.name=a", "run.seed=1"])
        main(["train", "toy.yaml", "run.name=b", "run.seed=2", "toy.report_env_steps=9"])
        other = TOY_YAML.replace("toy:", "other:").replace("learner: toy", "learner: other")
        Path("other.yaml").write_text(other)
        steps = ["other.env_steps=10_000", "other.report_env_steps=1000", "run.evaluate_env_steps=2000"]
        main(["train", "other.yaml", "run.name=c_x", *steps])
    return folder


@pytest.fixture
def runs(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the folders of the runs, in a copy that the test may change."""
    monkeypatch.setitem(registry.LEARNERS, "other", "toy")
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return ["runs/a", "runs/b", "runs/c_x"]


def compare(*words: str) -> str:
    """Return the page that the command writes."""
    assert main(["compare", *words, "--out", "out"]) == 0
    return Path("out/index.html").read_text()


def _rows(name: str) -> list[dict[str, str]]:
    with Path("out", name).open() as file:
        return list(csv.DictReader(file))


def _data(page: str):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    data = json.loads(text)
    data["arrays"] = [np.frombuffer(base64.b64decode(part), "<f4") for part in data["arrays"]]
    return data


@pytest.mark.usefixtures("figures")
def test_one_page_holds_curves_and_tables_and_asks_nobody_for_anything(runs: list[str], capsys):
    page = compare(*runs, "--x", "games", "--tile", "4096")
    assert sorted(path.name for path in Path("out").iterdir()) == FILES
    links = re.findall(r"<(?!script>)[^>]*(?:src|href|srcset)=\"([^\"]+)\"", page.split("<script")[0])
    assert sorted(links) == ["../runs/a/config.yaml", "../runs/b/config.yaml", "../runs/c_x/config.yaml", "data:,"]
    assert all(Path("out", link).is_file() for link in links if link.startswith(".."))
    assert "default-src 'none'" in page
    assert Path("out/score.png").read_bytes().startswith(PNG)
    assert "<svg" in Path("out/score.svg").read_text()
    assert "wrote out/index.html" in capsys.readouterr().out


def test_the_numbers_of_the_page_are_those_of_the_result_files(runs: list[str]):
    page = compare(*runs)
    rows = cells_of(page, "groups")
    assert len(rows) == 5  # two groups, the second with two seeds, and the rows of the three seeds
    seeds = {row[0].split()[0]: row for row in rows if "seed " in row[0]}
    for folder in runs:
        result = json.loads(next(Path(folder, "evaluations").glob("*.json")).read_text())
        row = seeds[result["run"]]
        assert row[1].split(" ± ")[0] == f"{result['score_mean']:,.0f}"
        assert row[2] == result["learner"]
        assert "75.0%" in row


def test_the_curves_of_the_page_are_those_of_the_csv(runs: list[str]):
    data = _data(compare(*runs))
    rows = _rows("curves.csv")
    assert {row["curve"] for row in rows} == {curve["label"] for curve in data["curves"]}
    number = 0
    for curve in data["curves"]:
        for metric, series in curve["series"].items():
            arrays = [None if part is None else data["arrays"][part] for part in [*series["x"], *series["mean"]]]
            for place in range(len(arrays[3])):
                row = rows[number]
                number += 1
                assert (row["curve"], row["metric"]) == (curve["label"], metric)
                names = ("env_steps", "games", "wall_hours", "value", "low", "high")
                for name, values in zip(names, arrays, strict=True):
                    assert row[name] == "" if values is None else np.float32(row[name]) == values[place]
    assert number == len(rows)


def test_the_games_of_all_seeds_are_counted():
    for seed, tiles in enumerate(({"512": 60, "1024": 40}, {"1024": 100})):
        run = write_run(Path(f"runs/a{seed}"), [(1, 1.0)], seed=seed)
        write_evaluation(run, 5.0, 1.0, seed=seed, max_tiles=tiles, score_bins={"80": 25, "82": 75})
    (found,) = _data(compare())["distributions"]
    assert found["tiles"] == {"512": 0.3, "1024": 0.7}
    np.testing.assert_allclose(found["scores"], [1024, 2**10.125, 2**10.25, 2**10.375])
    assert found["shares"] == [0.25, 0, 0.75]


def test_an_experiment_has_one_colour_and_few_seeds_have_lines_in_place_of_a_band():
    for group, seeds in (("three", 3), ("two", 2)):
        for seed in range(seeds):
            score = 10.0 * seeds + seed
            run = write_run(Path(f"runs/{group}{seed}"), [(1, score - 1), (2, score)], seed=seed, group=group)
            write_evaluation(run, score, 1.0, seed=seed)
    run = write_run(Path("runs/lucky"), [(1, 1.0), (2, 1.0)], group="lucky")
    write_evaluation(run, 90.0, 1.0, games=20)
    page = compare()
    data, rows = _data(page), cells_of(page, "groups")
    colours = {curve["label"].split()[0]: curve["colour"] for curve in data["curves"]}
    assert len(set(colours.values())) == 3
    assert {games["label"].split()[0]: games["colour"] for games in data["distributions"]} == colours
    few = {curve["label"].split()[0]: curve["series"]["eval/score_mean"]["seeds"] for curve in data["curves"]}
    lines = {name: seeds and [data["arrays"][seed].tolist() for seed in seeds] for name, seeds in few.items()}
    assert lines == {"three": None, "two": [[19, 20], [20, 21]], "lucky": [[1, 1]]}
    assert rows[0][0].split()[0] == "three"  # lucky has 20 games alone
    assert "On 4x4, three (toy), 1ply has the highest mean score: 31 ± 2 over 300 games of 3 seeds; next is two" in page


def test_games_against_an_adversary_are_not_ranked():
    run = write_run(Path("runs/a"), [(1, 1.0), (2, 2.0)])
    write_evaluation(run, 5.0, 1.0)
    write_evaluation(run, 9.0, 1.0, search="1ply-against-helper", against={"opponent": "helper"})
    page = compare()
    assert "On 4x4, g (toy), 1ply has the highest mean score: 5 ± 1 over 100 games of 1 seed.<" in page
    assert len(cells_of(page, "groups")) == 4  # two groups, each with its seed
    assert _rows("differences.csv") == []


def test_the_page_names_the_games_and_a_tile_without_a_rate_causes_a_warning(capsys):
    write_run(Path("runs/a"), [(1, 1.0), (2, 2.0)], rows=4, columns=4, game="threes")
    assert "<h1>threes: learning curves</h1>" in compare("--tile", "2048")
    assert capsys.readouterr().err == ""
    write_run(Path("runs/b"), [(1, 1.0), (2, 2.0)], rows=4, columns=4)
    assert "<title>2048 and threes: learning curves</title>" in compare("--tile", "4096")
    line = "no run has the rate of the tile 4096, so its figure is left out; give a --tile of 2048\n"
    assert capsys.readouterr().err == f"warning: {line}"


def test_a_link_to_a_config_is_quoted():
    write_evaluation(write_run(Path("runs/50%#1"), [(1, 1.0)]), 5.0, 1.0)
    assert '<a href="../runs/50%25%231/config.yaml">' in compare()


def test_a_run_as_it_was_written_is_read(runs: list[str]):
    folder = Path(runs[0])
    run = read_run(folder, read_config(folder))
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for name, column in run.columns.items():
        np.testing.assert_array_equal(column, [row.get(name, np.nan) for row in rows])
    assert set(run.columns) == {name for row in rows for name in row}
    assert run.config["run.seed"] == 1


def test_final_evaluations_of_seeds_come_together(runs: list[str], capsys):
    main(["train", "toy.yaml", "run.name=d", "run.seed=3"])
    capsys.readouterr()
    page = compare(*runs, "runs/d")
    captured = capsys.readouterr()
    results = [result for run in read(*map(Path, [*runs, "runs/d"])) for result in run.evaluations]
    toys = [result["score_mean"] for result in results if result["learner"] == "toy"]
    margin = 4.302653 * np.std(toys, ddof=1) / 3**0.5  # t(0.975, 2)
    mean = np.mean(toys)
    assert f"({mean - margin:,.0f} to {mean + margin:,.0f}), interval over 3 seeds, 12 games, 1ply" in captured.out
    (other,) = (result for result in results if result["learner"] == "other")
    interval = f"({other['score_low']:,.0f} to {other['score_high']:,.0f})"
    assert f"{interval}, 4 games, 1ply" in captured.out  # of the run
    assert f"{interval}, 1 seed, interval of its games alone, 4 games, 1ply" in captured.out
    assert captured.err == ""
    assert f"<b>{mean:,.0f}</b> ± {margin:,.0f}<small>over 3 seeds</small>" in page
    assert "<small>of its games alone</small>" in page
    (group,) = (row for row in _rows("groups.csv") if row["learner"] == "toy")
    assert float(group["score_mean"]) == pytest.approx(mean)


def test_all_runs_of_the_runs_folder_are_compared_by_any_key(runs: list[str], capsys, mistake):
    data = _data(compare("--by", "run.group,toy.report_env_steps", "--where", "learner=toy"))
    assert capsys.readouterr().err == ""
    assert data["keys"] == ["run.group", "toy.report_env_steps"]
    assert {tuple(curve["words"]) for curve in data["curves"]} == {
        ("toys", "report_env_steps=10"),
        ("toys", "report_env_steps=9"),
    }
    labels = {curve["label"] for curve in data["curves"]}
    assert labels == {"toys, report_env_steps=10 (toy), 1 seed", "toys, report_env_steps=9 (toy), 1 seed"}
    assert "--by report_env_steps: no run has this key; the keys are such as" in mistake(
        "compare --by report_env_steps"
    )
    assert mistake("compare --by run.group,").startswith("--by has an empty key; give keys such as run.group,run.seed")


def test_damaged_runs_are_named_and_left_out(runs: list[str], capsys, mistake):
    metrics = Path("runs/b/metrics.jsonl")
    metrics.write_text(metrics.read_text() + '{"env_steps": 5')  # a killed run: the last line is left out
    compare(*runs)
    assert capsys.readouterr().err == ""
    metrics.write_text("{\n")
    compare(*runs)
    assert "warning: runs/b is left out: runs/b/metrics.jsonl, line 1: not JSON" in capsys.readouterr().err
    Path("runs/a/evaluations/x.json").write_text("{}")
    compare("runs/a", "runs/c_x")
    assert "warning: runs/a is left out: runs/a/evaluations/x.json, line 1" in capsys.readouterr().err
    assert mistake("compare runs/a").startswith("runs/a/evaluations/x.json, line 1")
    assert mistake("compare runs/a runs/b") == "no selected run can be read"


def test_a_run_in_its_first_minutes_is_left_out_with_a_warning(runs: list[str], capsys, mistake):
    Path("runs/b/metrics.jsonl").write_text("")
    compare("runs/a", "runs/b")
    assert "warning: b has not been evaluated yet" in capsys.readouterr().err
    for file in Path("runs/b/evaluations").iterdir():
        file.unlink()
    assert mistake("compare runs/b").startswith("none of these runs has been evaluated yet")


@pytest.mark.usefixtures("figures")
def test_names_with_markup_are_shown_as_they_are():
    run = write_run(Path("runs/a"), [(1, 1.0), (2, 2.0)], group="'</script><b>x'")
    write_evaluation(run, 5.0, 1.0, command="<img src=x>")
    page = compare()
    assert "</script><b>x" not in page
    assert "&lt;/script&gt;&lt;b&gt;x" in page
    assert "<img" not in page.split("<script")[0]
    assert _data(page)["curves"][0]["label"] == "</script><b>x (toy), 1 seed"


def test_many_rows_are_thinned_on_the_page():
    points = [(i, 10.0 if i == 7777 else 1.0 + i % 3) for i in range(1, 10_001)]
    write_run(Path("runs/a"), points)
    data = _data(compare())
    x, y = (data["arrays"][part] for part in (data["curves"][0]["series"]["eval/score_mean"]["x"][0],
                                              data["curves"][0]["series"]["eval/score_mean"]["mean"][0]))  # fmt: skip
    assert len(y) < 2000
    assert x[y.argmax()] == 7777
    assert (x[0], x[-1]) == (1, 10_000)


@pytest.mark.usefixtures("figures")
def test_the_page_shows_searches_of_three_efforts(runs: list[str]):
    result = next(Path(runs[0], "evaluations").glob("*.json"))
    for n in (4, 16, 50):
        other = json.loads(result.read_text()) | {"search": f"mcts-n{n}", "moves_per_second": 1e5 / n}
        result.with_name(f"{n}.json").write_text(json.dumps(other))
    page = compare(*runs)
    assert Path("out/searches.png").read_bytes().startswith(PNG)
    assert "mean score against the time of a move" in page
    (line,) = _data(page)["searches"]
    assert line["label"] == "a, mcts"
