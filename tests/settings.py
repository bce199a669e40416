"""Configs for tests, built from flat key names."""

import dataclasses
from typing import Any

from ntuple.core.plain_values import in_present_form


def configured(base: Any, **changes: Any) -> Any:
    """Return a config with some keys changed.

    Args:
        base: a Settings class, which gives its defaults, or an instance.
        changes: values by the present or a former name of a key; `considered_actions` is `gumbel.considered_actions`.

    Returns:
        The config.
    """
    start = base() if isinstance(base, type) else base
    return _changed(start, in_present_form(type(start), changes))


def _changed(settings: Any, values: dict[str, Any]) -> Any:
    nested = {name: _changed(getattr(settings, name), value) if isinstance(value, dict) else value
              for name, value in values.items()}  # fmt: skip
    return dataclasses.replace(settings, **nested)
