"""The config keys in which compared runs differ."""

from collections.abc import Sequence

from launch.experiment.value_text import value_text
from launch.report.curves import Curve
from launch.report.runs import Run

OWN = ("run.name", "run.group", "run.seed", "run.runs_folder")  # keys that name a run
MISSING = "-"


def differing_keys(curves: Sequence[Curve]) -> dict[str, list[str]]:
    """Return the values of each key that has several, one for each curve.

    Args:
        curves: the compared curves.

    Returns:
        Texts by key, as the command line takes them. Values that differ among the seeds of a curve are separated by
        " | "; "-" stands for a config without the key.
    """
    keys = sorted({key for curve in curves for run in curve.runs for key in run.config} - set(OWN))
    table = {key: [_text(key, curve.runs) for curve in curves] for key in keys}
    return {key: texts for key, texts in table.items() if len({*texts}) > 1 or " | " in texts[0]}


def _text(key: str, runs: Sequence[Run]) -> str:
    return " | ".join(dict.fromkeys(value_text(run.config[key]) if key in run.config else MISSING for run in runs))
