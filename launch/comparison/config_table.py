"""The config keys in which compared runs differ."""

from collections.abc import Sequence
from typing import Any

from launch.comparison.curves import Curve

OWN = ("run.name", "run.group", "run.seed", "run.runs_folder")  # keys that name a run
NONE = "-"


def differing_keys(curves: Sequence[Curve]) -> dict[str, list[str]]:
    """Return the values of each key that has several, one for each curve.

    Args:
        curves: the compared curves.

    Returns:
        Texts by key. Values that differ among the seeds of a curve are separated by " | "; "-" stands for a config
        without the key.
    """
    keys = sorted({key for curve in curves for run in curve.runs for key in run.config} - set(OWN))
    table = {key: [_text([run.config.get(key) for run in curve.runs]) for curve in curves] for key in keys}
    return {key: texts for key, texts in table.items() if len({*texts}) > 1 or " | " in texts[0]}


def _text(values: Sequence[Any]) -> str:
    return " | ".join(dict.fromkeys(NONE if value is None else str(value) for value in values))
