"""Every file of configs/papers/ can be run: each row is an experiment, each number an evaluation that it can serve."""

import re
from pathlib import Path

import pytest

from launch.evaluation.searches import resolve
from launch.experiment.experiment import load_experiment, warn_without_effect
from launch.report.papers.estimate import network_of, network_of_row
from launch.report.papers.plan import Scale, base_of, first_row, overrides_of, run_name, trained_row, why_not
from launch.report.papers.table import load_table, papers_folder, table_names

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("name", table_names())
def test_every_row_is_an_experiment_that_serves_its_evaluations(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys and values are accepted, no key is without effect, and each search suits the network.

    A search depends on the learner and on its settings of a search, so equal ones are resolved once.
    """
    table = load_table(name)
    experiments = {}
    plays = set()
    for row in table.rows:
        if why_not(table, row):
            continue
        trained = trained_row(table, row)
        run = run_name(trained, Scale(), 3)
        if run not in experiments:
            base = base_of(trained)
            experiments[run] = experiment = load_experiment(base, overrides_of(trained, Scale(), 3))
            warn_without_effect(experiment)
            assert network_of_row(trained) == network_of(experiment)
            assert experiment.run.name == run
            assert experiment.run.seed == 3
            assert experiment.settings.env_steps == trained.table.moves_of(trained.row)
            if len(experiments) == 1:
                tiny = load_experiment(base, overrides_of(trained, Scale(1e-8), 3)).settings
                assert tiny.env_steps == tiny.report_env_steps == experiment.settings.env_steps // 10**8
            if first := first_row(trained):
                assert experiment.run.begin_from == f"runs/{run_name(first, Scale(), 3)}"
                assert not why_not(*first)
        for column in table.columns:
            if column.statistic and column.name in row.paper:
                play = column.play.over(row.play)
                served = experiments[run].learner, getattr(experiments[run].settings, "search", None), play
                if served not in plays:
                    plays.add(served)
                    resolve(experiments[run], play, Path(row.name))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", table_names())
def test_a_header_names_the_table_and_its_command(name: str) -> None:
    text = (papers_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    header = text.partition("\ntitle:")[0]
    paper, number = re.fullmatch(r"(\w+)-table-(\w+)", name).groups()
    assert re.search(rf"{paper}.*table {number}\b", " ".join(header.split()).replace("# ", ""), re.IGNORECASE)
    assert f"# Command:  muzero2048 reproduce {name} --budget" in header
    assert f"table {number}," in load_table(name).source.casefold()


def test_numbers_of_tables_as_printed() -> None:
    """Samples from the papers, read by eye."""
    five = load_table("guei-table-5")
    assert five.row("7x6-otc").paper == {"average score": [335042, 23023], "32768 [%]": [16.56, 6.61]}
    assert (five.seeds, five.games, five.training_games) == (5, 100_000, 100_000_000)
    assert load_table("guei-table-4").row("640k").paper["16384 [%]"] == [75.88, 6.10]
    assert load_table("guei-table-16").row("800-1.500").paper["3-ply"] == [6.36]
    assert load_table("jaskowski-table-3").row("8-stages-wp").paper["3-ply"] == [363379, 25276]
    both = load_table("matsuzaki-table-3").row("max8-pr-both").paper
    assert (both["greedy average"], both["3-ply maximum"]) == ([225078, 10506], [817252, 2861])
    assert load_table("matsuzaki-table-1").env_steps == 10**10
    assert load_table("otd-table-10").row("8x6-6-ply").paper["16384 [%]"] == [98.80, 0.89]


def test_the_article_and_the_dissertation_show_the_same_runs() -> None:
    for number in (1, 2, 3, 4, 5, 6, 7, 8):
        article, dissertation = load_table(f"otd-table-{number}"), load_table(f"guei-table-{number}")
        for row, other in zip(article.rows, dissertation.rows, strict=True):
            assert (row.name, row.paper, row.play) == (other.name, other.paper, other.play)
            assert trained_row(article, row) == trained_row(dissertation, other)
            assert article.games_of(row, article.columns[0]) == dissertation.games_of(other, dissertation.columns[0])


def test_a_row_of_another_table_shares_its_run() -> None:
    five, four = load_table("guei-table-5"), load_table("guei-table-4")
    assert trained_row(five, five.row("8x6-otc")) == (four, four.row("320k"))
    assert trained_row(five, five.row("8x6-otd-tc")) == (five, five.row("8x6-otd-tc"))
    (word,) = (word for word in overrides_of(trained_row(five, five.row("8x6-otc")), Scale(0.5), 2) if "name" in word)
    assert word == "run.name=guei-table-4-320k-b0.5-seed2"
