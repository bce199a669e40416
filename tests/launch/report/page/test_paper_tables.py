"""Tables of papers on the page and in papers.csv have the numbers of the files that `reproduce` writes."""

import csv
import json
from pathlib import Path

from launch.cli import main
from launch.report.page.tables import paper_tables
from launch.report.papers.comparison import read_table_file, tables_of_runs
from tests.launch.report.made_runs import write_evaluation, write_run
from tests.launch.report.made_tables import TABLE, cells_of, write_table


def test_the_paper_and_we_stand_one_above_the_other():
    html = paper_tables([TABLE])
    assert cells_of(html, "guei-table-5-b0.001") == [
        ["4x6", "paper", "100M games", "239,075 ± 14,781 5 x 100,000 games", "5.30 5 x 100,000 games",
         "3.00 5 x 100,000 games"],
        ["", "here", "1G moves", "20,123 19,000 to 21,246 1ply, 1,000 games", "0.25 no interval 1ply, 1,000 games",
         "- no evaluation computes it"],
        ["8x6", "paper", "40G moves", "239,075 ± 14,781 5 x 100,000 games", "", ""],
        ["", "here", "40M moves", "-", "", ""],
        ["dcnn", "paper", "100M games", "1.00 ± 14,781 5 x 100,000 games", "", ""],
        ["", "here", "not here: not described"],
    ]  # fmt: skip
    assert "<li>First caveat.</li><li>Budget: 0.001 of &lt;all&gt; moves.</li>" in html
    for part in ("OTD &amp; OTC", "of &lt;6&gt; tuples.", "reproduce guei-table-5 --budget 0.001, version 0.1"):
        assert part in html
    assert paper_tables([]) == ""


def test_the_page_and_its_csv_have_the_tables_of_the_selected_runs(capsys):
    runs = Path("runs")
    for name in ("a0", "b0"):
        write_evaluation(write_run(runs / name, [(10, 50.0)], group=name), 50.0, 3.0)
    file = write_table(runs)
    write_table(runs, table="other", rows=[TABLE.rows[1]])  # of runs that are not selected
    Path(runs / "mine-b1.json").write_text("{}")
    Path(runs / "x-b2.json").write_text("[")
    Path(runs / "my-bench.json").write_text("[")
    assert main(["compare", "a0", "--out", "out"]) == 0
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert (
        "runs/mine-b1.json is not a table of `muzero2048 reproduce`: table is missing and has no default; set it"
        in errors[0]
    )
    assert "warning: left out: " in errors[1]
    assert "runs/x-b2.json is not a table" in errors[1]
    page = Path("out/index.html").read_text()
    assert paper_tables([read_table_file(file)]) in page
    assert page.count('<section class="papers">') == 1
    with Path("out/papers.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    cells = [(row, name, cell) for row in json.loads(file.read_text())["rows"] for name, cell in row["cells"].items()]
    assert len(rows) == len(cells) == 5
    for line, (row, name, cell) in zip(rows, cells, strict=True):
        assert (line["row"], line["column"], line["table"]) == (row["name"], name, "guei-table-5")
        assert line["here"] == ("" if cell["here"] is None else str(cell["here"]))
        assert (float(line["paper"]), int(line["moves"])) == (cell["paper"], row["moves"])
    assert main(["compare", "b0", "--out", "without"]) == 0
    assert '<section class="papers">' not in Path("without/index.html").read_text()
    assert not Path("without/papers.csv").exists()


def test_a_file_is_read_as_it_was_written():
    file = write_table(Path())
    assert read_table_file(file) == TABLE
    assert tables_of_runs([Path("b1")]) == [TABLE]
    assert tables_of_runs([Path("b2")]) == tables_of_runs([]) == []
