"""`muzero2048 wandb report`: groups of runs compared in a report, with the numbers of their evaluations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.evaluation.result_columns import GAMES, INTERVAL, rates, shown_tiles
from launch.experiment.machine_info import project_version
from launch.report.differences import COLUMNS, Difference, differences
from launch.report.finals import Group, final_evaluations, make_groups
from launch.report.runs import Run, read_runs
from launch.report.selection import GROUP, select
from launch.report.wandb import client
from launch.report.wandb.workspace import comparison_sections, diagnostic_sections, line_plots
from launch.tables import entry, render

LONGEST_TITLE = 128  # of wandb
MOST_TESTED = 8  # of the groups with the highest scores, of which each pair is in the table of differences


def save_report(groups: Sequence[str], runs_folder: Path, entity: str | None, project: str) -> None:
    """Save a report, and print its address: final evaluations, tests of their differences, curves, diagnostics.

    The tables are computed here, from the result files; the curves come from the runs in wandb, which
    `muzero2048 wandb sync` uploads. `entity` is a user or team; None: that of the key.
    """
    runs = read_runs(select(groups, [], None, runs_folder))
    names = sorted({str(run.config[GROUP]) for run in runs})
    client.check_key("`muzero2048 compare` writes the same as a page, without wandb")
    with client.errors_as_lines("save the report"):
        report = make_report(names, runs, entity or client.default_entity(), project)
        report.save()
    print(f"the report is at {report.url}")


def make_report(names: Sequence[str], runs: Sequence[Run], entity: str, project: str) -> Any:
    """Return the wandb_workspaces.reports.v2.Report of the groups `names`, which have these runs."""
    import wandb_workspaces.reports.v2 as wr
    from wandb_workspaces import expr

    runsets = [
        wr.Runset(
            entity=entity,
            project=project,
            name=name,
            filters=expr.And(expr.Metric("Group") == name),
            groupby=["config.learner", "group"],
        )
        for name in names
    ]

    def grid(sections: Sequence[Any]) -> list[Any]:
        return [
            part
            for section in sections
            for part in (wr.H2(text=section.name), wr.PanelGrid(runsets=runsets, panels=line_plots(section)))
        ]

    title = f"Comparison of {', '.join(names)}"
    if len(title) > LONGEST_TITLE:
        title = f"Comparison of {len(names)} groups"
    groups = make_groups(final_evaluations(runs), [GROUP])
    metrics = {name for run in runs for name in run.columns}
    return wr.Report(
        entity=entity,
        project=project,
        title=title,
        description=f"{len(runs)} runs; muzero2048 {project_version()}",
        width="fluid",
        blocks=[
            wr.H2(text="Final evaluations"),
            wr.MarkdownBlock(text=_evaluations(groups)),
            wr.H2(text="Differences"),
            wr.MarkdownBlock(text=differences_table(differences(groups[:MOST_TESTED]))),
            *grid(comparison_sections()),
            *grid([part for part in diagnostic_sections() if metrics & {panel.metric for panel in part.panels}]),
        ],
    )


def _evaluations(groups: Sequence[Group]) -> str:
    """Return the table of final evaluations in Markdown."""
    if not groups:
        return "No run of these groups has been evaluated after its training."
    seeds = [result for group in groups for result in group.results]
    columns = [
        *map(entry, ("group", "learner", "search")),
        entry("moves", "env_steps", ","),
        entry("mean score", "score_mean", ",.0f"),
        INTERVAL,
        entry("of", "scope"),
        GAMES,
        *rates(shown_tiles(seeds), "reach "),
    ]
    return render([group.as_result() for group in groups], columns, "markdown")


def differences_table(tests: Sequence[Difference]) -> str:
    """Return the table of differences of mean scores in Markdown."""
    return render(tests, COLUMNS, "markdown") if tests else "There are no two groups on one board."
