"""Conversion of plain values, as YAML and JSON files contain them, to the form of a Settings class.

Files and checkpoints of earlier versions have former names of keys (`Settings.former_keys`) and texts instead of lists
(ntuple/core/lists.py). Two mistakes are found here, because a later check cannot see them:

- a number instead of true or false,
- a number in a list of names, because YAML reads 0123 as an octal number.
"""

import dataclasses
from typing import Any, get_args

from ntuple.core.lists import as_tuple, is_list, list_words
from ntuple.core.settings import types_of


def in_present_form(kind: type[Any], values: Any, prefix: str = "") -> Any:
    """Convert plain values: present names of keys, and tuples where the settings are lists.

    Args:
        kind: the dataclass of the values.
        values: plain values from a file. Values that do not fit the dataclass are returned unchanged.
        prefix: prefix of the names in messages.

    Returns:
        The converted values; `values` itself if it is no dict.

    Raises:
        ValueError: a flag is a number, a name in a list is a number, a text is no list, or a key is given with
            different values under its former and its present name.
    """
    if not isinstance(values, dict):
        return values
    found = _renamed(kind, values, prefix)
    types = types_of(kind)
    for name, value in found.items():
        wanted = types.get(name)
        if dataclasses.is_dataclass(wanted):
            found[name] = in_present_form(wanted, value, f"{prefix}{name}.")  # type: ignore[arg-type]
        elif wanted is bool and not isinstance(value, bool | str):
            raise ValueError(f"{prefix}{name} is {value}; give true or false")
        elif is_list(wanted):
            found[name] = _as_list(wanted, value, prefix + name)
    return found


def _renamed(kind: type[Any], values: dict[str, Any], prefix: str) -> dict[str, Any]:
    former: dict[str, str] = getattr(kind, "former_keys", {})
    found = dict(values)
    for name, present in former.items():
        if name not in found or isinstance(found[name], dict):
            continue
        value = found.pop(name)
        *groups, last = present.split(".")
        place = found
        for group in groups:
            place[group] = dict(place.get(group) or {})
            place = place[group]
        if last in place and place[last] != value:
            raise ValueError(f"{prefix}{name} and {prefix}{present} are one key and differ; leave out {prefix}{name}")
        place[last] = value
    return found


def _as_list(kind: Any, value: Any, name: str) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = [value]
    if get_args(kind)[0] is str and isinstance(value, list):
        for one in value:
            if isinstance(one, int | float):
                raise ValueError(f"{name} has the number {one}; put names in quotes, such as ['0123']")
    try:
        return as_tuple(kind, value)
    except ValueError as error:
        raise ValueError(f"{name} is {value!r}; give {list_words(kind)}") from error
