"""The workspace and the report in wandb.

The golden file is what wandb_workspaces 0.4.13 sends; no test here has seen wandb's own server. It is `_shortened` of
what `muzero2048 wandb workspace --json` writes.
"""

import json
import re
from pathlib import Path

import pytest
import wandb

from launch.cli import main
from launch.evaluation.intervals import Interval
from launch.experiment.metrics import AXES, REGISTRY
from launch.report.differences import COLUMNS, Difference
from launch.report.wandb.report import differences_table
from launch.report.wandb.workspace import comparison_sections, diagnostic_sections

GOLDEN = Path(__file__).parent / "workspace.json"
OF_A_PANEL = ("chartTitle", "xAxis", "xAxisTitle", "metrics")  # all else is the same for all panels


def _without_random_names(value):
    """Return JSON without the identifiers that wandb_workspaces draws."""
    if isinstance(value, dict):
        return {key: _without_random_names(part) for key, part in value.items() if key not in ("__id__", "id", "ref")}
    return [_without_random_names(part) for part in value] if isinstance(value, list) else value


def _shortened(workspace):
    """Return a workspace with a line for each panel, and what sections and panels share once, without random names."""
    workspace = _without_random_names(workspace)
    bank, shared, lines = workspace["spec"]["section"]["panelBankConfig"], [], {}
    for section in bank["sections"]:
        panels, name = section.pop("panels"), f"{section.pop('name')}, isOpen: {section.pop('isOpen')}"
        lines[name] = [" | ".join(str(panel["config"].pop(key)) for key in OF_A_PANEL) for panel in panels]
        shared += [{**section, "panel": panel} for panel in panels]
    bank["sections"] = [part for place, part in enumerate(shared) if part not in shared[:place]]
    bank["lines"] = lines
    return workspace


def test_a_file_takes_the_place_of_no_workspace(mistake):
    line = "--json writes a file, and --url is of a workspace on the server; leave out one"
    assert mistake("wandb workspace --json made.json --url https://wandb.ai/me/muzero2048?nw=a") == line
    assert not Path("made.json").exists()


def test_the_workspace_is_the_golden_one(capsys):
    assert main(["wandb", "workspace", "--json", "made.json"]) == 0
    assert capsys.readouterr().out == "wrote made.json; nothing is sent\n"
    assert _shortened(json.loads(Path("made.json").read_text())) == json.loads(GOLDEN.read_text())


def test_every_metric_has_a_panel():
    shown = [panel.metric for section in (*comparison_sections(), *diagnostic_sections()) for panel in section.panels]
    assert set(shown) == set(REGISTRY) - {axis.name for axis in AXES}
    assert sorted(shown) == sorted([*set(shown), "eval/score_mean", "eval/score_mean"])  # against three axes


def test_a_workspace_is_saved_and_replaced(wandb_server, capsys):
    assert main(["wandb", "workspace"]) == 0
    (view,) = wandb_server.views
    assert (view["entityName"], view["projectName"], view["displayName"]) == ("me", "muzero2048", "muzero2048")
    url = re.search(r"the workspace is at (\S+);", capsys.readouterr().out)[1]
    changed = json.loads(view["spec"])
    changed["section"]["panelBankConfig"]["sections"] = changed["section"]["panelBankConfig"]["sections"][:1]
    view["spec"] = json.dumps(changed)
    assert main(["wandb", "workspace", "--url", url]) == 0
    (view,) = wandb_server.views  # the same one
    names = [part["name"] for part in json.loads(view["spec"])["section"]["panelBankConfig"]["sections"]]
    assert names[:3] == ["Score", "Reach rates", "Speed"]


@pytest.fixture
def two_groups(toy_yaml: Path) -> dict[str, dict]:
    """Return the result file of the only run of each of two groups."""
    for group in ("slow", "fast"):
        words = [f"run.name={group}", f"run.group={group}", f"run.seed={len(group)}", f"run.final_games={len(group)}"]
        assert main(["train", str(toy_yaml), *words]) == 0
    files = {group: next(Path("runs", group, "evaluations").glob("*.json")) for group in ("slow", "fast")}
    return {group: json.loads(file.read_text()) for group, file in files.items()}


def test_a_report_has_the_numbers_of_the_result_files(two_groups, wandb_server, capsys):
    assert main(["wandb", "report", "slow", "fast", "--entity", "team"]) == 0
    assert "the report is at http" in capsys.readouterr().out
    (view,) = wandb_server.views
    assert (view["entityName"], view["type"], view["displayName"]) == ("team", "runs", "Comparison of fast, slow")
    blocks = json.loads(view["spec"])["blocks"]
    tables = [block["content"] for block in blocks if block["type"] == "markdown-block"]
    for group, result in two_groups.items():
        row = next(line for line in tables[0].splitlines() if line.startswith(f"| {group} |"))
        assert f"| {result['score_mean']:,.0f} | {result['score_low']:,.0f} to {result['score_high']:,.0f} |" in row
        assert f"{result['reach']['2048']:.1%}" in row
    head, _, line = tables[1].splitlines()
    assert head == f"| {' | '.join(column.name for column in COLUMNS)} |"
    scores = [two_groups[name.split()[0]]["score_mean"] for name in line.strip("| ").split(" minus ")]
    assert f" | {scores[0] - scores[1]:+,.0f} (" in line
    runsets = next(block for block in blocks if block["type"] == "panel-grid")["metadata"]["runSets"]
    for runset in runsets:  # as in the workspace: learners of one group are curves of their own
        assert runset["grouping"] == json.loads(GOLDEN.read_text())["spec"]["section"]["runSets"][0]["grouping"]
    filters = [
        leaf["value"]
        for runset in runsets
        for group in runset["filters"]["filters"]
        for leaf in group.get("filters", [group])
    ]
    assert sorted(filters) == ["fast", "slow"]


def test_the_tests_of_a_report_are_those_of_the_page():
    pair = Difference("a", "b", Interval(5, 3, 7), 1.24e-6, Interval(1.0, 0.75, 1.0), "over 3 and 4 seeds")
    (line,) = differences_table([pair]).splitlines()[2:]
    assert line == "| a minus b | +5 (+3 to +7) | 1.2e-06 | 100% (75% to 100%) | over 3 and 4 seeds |"


@pytest.mark.parametrize("words", [["workspace"], ["report", "slow"], ["sync"]])
def test_a_server_that_cannot_be_reached_is_one_line(toy_yaml: Path, monkeypatch, mistake, words: list[str]):
    assert main(["train", str(toy_yaml), "run.group=slow"]) == 0
    monkeypatch.delenv("WANDB_MODE")

    def login(**options: object) -> bool:
        assert options["verify"]  # else each later call waits for the server
        raise wandb.errors.AuthenticationError("Failed to authenticate:\nconnection refused")

    monkeypatch.setattr(wandb, "login", login)
    said = "wandb cannot use its key (Failed to authenticate: connection refused);"
    assert mistake("wandb", *words) == f"{said} check network, key, entity and project"
