"""examples/library.ipynb runs from its first cell to its last, and prints what it shows."""

import json
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "library.ipynb"


@pytest.fixture(autouse=True)
def _workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _shown(cell: dict[str, Any]) -> str:
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")


@pytest.mark.slow
def test_the_notebook_prints_what_it_shows(capsys: pytest.CaptureFixture[str]):
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)  # as Jupyter does
        printed, shown = capsys.readouterr().out, _shown(cell)
        if "learner" in names:  # several threads learn in no fixed order
            assert re.fullmatch(r"after 2,000,000 moves: \d\d,\d\d\d points\n", printed)
        else:
            speed = r"[\d,]+ moves/s"
            assert re.sub(speed, "", printed) == re.sub(speed, "", shown)
    assert plt.get_fignums() == [1]  # the cell that shows pictures drew them
    assert names["pictures"][-1][0] > 10_000
    plt.close("all")


def test_no_output_is_an_error():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    kinds = [output["output_type"] for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert set(kinds) == {"stream", "display_data"}
