"""`muzero2048 wandb workspace`: a workspace as code, so that the comparison is there without hand work."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from launch.errors import UserError
from launch.experiment.metrics import REGISTRY, TILES
from launch.files import write_json
from launch.report.wandb import client
from launch.report.wandb.folder import SCORE

NAME = "muzero2048"
MOST_RUNS = 100  # drawn at once in a panel; wandb's own default is 10
ANY_ENTITY = "entity"  # in a file for which no entity is given
AXES = {"env_steps": "moves", "games": "games", "wall_hours": "hours"}  # by metric, as titles name them
COLUMNS = (
    "last/score_mean",
    "best/score_mean",
    "last/env_steps",
    "last/wall_hours",
)  # of the summary, in the runs table

FAMILIES = {  # sections of the diagnostics, each with the beginnings of its metrics' names
    "Games in training": ("train/",),
    "TD learning (ntuple, deep_td)": ("td/",),
    "Losses (muzero, deep_td)": ("loss/",),
    "Learned model (muzero)": ("model/", "swap/", "probe/"),
    "Learned model by depth (muzero)": ("depth1/", "depth5/"),
    "Search, values and replay (muzero, deep_td)": ("search/", "value/", "eval/value_", "replay/"),
    "Optimizer (muzero, deep_td)": ("optimizer/",),
}


REACH = "/reach_"


class Panel(NamedTuple):
    """Lines of one metric: the mean over the runs of a group, in a band from the lowest to the highest run."""

    title: str
    metric: str
    x: str = "env_steps"


class Section(NamedTuple):
    """Panels under one heading."""

    name: str
    panels: tuple[Panel, ...]


def comparison_sections() -> list[Section]:
    """Return the sections that compare all learners: scores, reach rates, speed."""
    scores = [Panel(f"mean score by {word}", SCORE, x) for x, word in AXES.items()]
    others = [_panel(f"eval/{name}") for name in ("score_median", "score_max", "score_low", "score_high", "moves_mean")]
    rates = [Panel(f"share of games with {tile}", f"eval/reach_{tile}") for tile in TILES]
    speeds = [name for name in REGISTRY if name.startswith("perf/")] + ["eval/moves_per_second", "eval/games"]
    return [
        Section("Score", (*scores, *others)),
        Section("Reach rates", tuple(rates)),
        Section("Speed", tuple(map(_panel, speeds))),
    ]


def diagnostic_sections() -> list[Section]:
    """Return the sections with the diagnostics of the learners."""
    of_others = [name for name in REGISTRY if REACH in name and int(name.partition(REACH)[2]) not in TILES]
    sections = {
        name: [metric for metric in REGISTRY if metric.startswith(families) and metric not in of_others]
        for name, families in FAMILIES.items()
    }
    sections["Reach rates of other games"] = of_others
    return [Section(name, tuple(map(_panel, metrics))) for name, metrics in sections.items()]


def _panel(metric: str) -> Panel:
    """Return the panel of a metric, with its name and unit as the title."""
    return Panel(f"{metric} ({REGISTRY[metric].unit})", metric)


def save_workspace(entity: str | None, project: str, url: str | None, file: Path | None) -> None:
    """Save the workspace, and print its address.

    Runs are grouped by learner and `run.group`. A line is the mean over the runs of a group, its band the range of the
    runs. The open sections are those of `compare`: scores by moves, games and hours; reach rates; speed.

    Args:
        entity: user or team; None: that of the key.
        project: the wandb project.
        url: of a saved workspace that is replaced; None: a new one.
        file: where to write the workspace as JSON in place of sending it; None: it is sent.
    """
    if file is not None:
        if url is not None:
            raise UserError("--json writes a file, and --url is of a workspace on the server; leave out one")
        _write(make_workspace(entity or ANY_ENTITY, project), file)
        return
    client.check_key("`--json FILE` writes what would be sent")
    with client.errors_as_lines("save the workspace"):
        workspace = make_workspace(entity or client.default_entity(), project)
        if url is not None:
            workspace = _in_place_of(url, workspace)
        workspace.save()
    print(f"the workspace is at {workspace.url}; `--url` with this address replaces it")


def make_workspace(entity: str, project: str) -> Any:
    """Return the wandb_workspaces.workspaces.Workspace."""
    import wandb_workspaces.workspaces as ws
    from wandb_workspaces import expr

    opened, closed = comparison_sections(), diagnostic_sections()
    return ws.Workspace(
        name=NAME,
        entity=entity,
        project=project,
        sections=[
            ws.Section(name=section.name, panels=line_plots(section), is_open=section in opened)
            for section in (*opened, *closed)
        ],
        settings=ws.WorkspaceSettings(x_axis="env_steps", max_runs=MOST_RUNS, smoothing_type="none"),
        runset_settings=ws.RunsetSettings(
            groupby=[expr.Config("learner"), expr.Metric("Group")],
            pinned_columns=["run:displayName", *(f"summary:{name}" for name in COLUMNS)],
        ),
    )


def line_plots(section: Section) -> list[Any]:
    """Return the wandb_workspaces.reports.v2.LinePlot of each panel."""
    import wandb_workspaces.reports.v2 as wr

    return [
        wr.LinePlot(
            title=panel.title,
            x=panel.x,
            y=[panel.metric],
            title_x=panel.x,
            groupby_aggfunc="mean",
            groupby_rangefunc="minmax",
            smoothing_type="none",
            max_runs_to_show=MOST_RUNS,
        )
        for panel in section.panels
    ]


def _write(workspace: Any, file: Path) -> None:
    """Write a workspace as the JSON that is sent."""
    content = json.loads(workspace._to_model().model_dump_json(by_alias=True, exclude_none=True))
    try:
        write_json(file, content)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}; give another --json") from error
    print(f"wrote {file}; nothing is sent")


def _in_place_of(url: str, new: Any) -> Any:
    """Return the saved workspace of an address with the content of the new one."""
    import wandb_workspaces.workspaces as ws

    saved = ws.Workspace.from_url(url)
    for part in ("name", "sections", "settings", "runset_settings"):
        setattr(saved, part, getattr(new, part))
    return saved
