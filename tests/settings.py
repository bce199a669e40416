"""Configs for tests, with some keys changed."""

import dataclasses
from typing import Any

from launch.experiment.plain_values import merged
from ntuple.core.settings import keys_of


def configured(base: Any, **changes: Any) -> Any:
    """Return a config with some keys changed.

    Args:
        base: a Settings class, which gives its defaults, or an instance.
        changes: values by key. A key of a group has its last name alone, if no other group has this name:
            `considered_actions` is `gumbel.considered_actions`; else the value of the group is a dict.
    """
    start = base() if isinstance(base, type) else base
    values: dict[str, Any] = {}
    for name, value in changes.items():
        if not hasattr(start, name):
            [name] = [key.name for key in keys_of(type(start)) if key.name.endswith(f".{name}")]
        for part in reversed(name.split(".")):
            value = {part: value}
        values = merged(values, value)
    changed = {
        name: configured(getattr(start, name), **value) if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return dataclasses.replace(start, **changed)
