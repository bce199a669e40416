"""List-valued settings: their types, the check of their elements, and their former form as one text.

    type of the setting                example    value                  former text
    tuple[int, ...]                    tiles      [512, 1024]            512 1024
    tuple[str, ...]                    names      [lines, squares]       lines squares   or   0123,4567
    tuple[int | str, ...]              stages     [16384, 16384+8192]    16384,16384+8192
    tuple[tuple[float, float], ...]    pairs      [[0.5, 0.01]]          0.5:0.01

This module imports the standard library only.
"""

import math
import re
from typing import Any, cast, get_args, get_origin

ELEMENTS = {int: "integers", float: "numbers", str: "names", int | str: "integers or names"}


def is_list(kind: Any) -> bool:
    """Return whether the type of a setting is a list."""
    return get_origin(kind) is tuple


def as_tuple(kind: Any, value: Any) -> Any:
    """Return the value of a list-valued setting as nested tuples, which can be hashed.

    Args:
        kind: the type of the setting, such as tuple[int, ...].
        value: a list, a tuple or the former text. Any other value is returned unchanged; `list_holds` refuses it.

    Raises:
        ValueError: the text does not have the former form.
    """
    if isinstance(value, str):
        return _from_text(kind, value)
    if not isinstance(value, list | tuple):
        return value
    pairs = get_origin(_element(kind)) is tuple
    return tuple(_as_pair(_element(kind), one) if pairs else one for one in value)


def list_holds(kind: Any, value: Any) -> bool:
    """Return whether all elements have the type of the setting; `value` comes from `as_tuple`."""
    element = _element(kind)
    if not isinstance(value, tuple):
        return False
    if get_origin(element) is not tuple:
        return all(_is_of(element, one) for one in value)
    parts = get_args(element)
    return all(
        isinstance(pair, tuple)
        and len(pair) == len(parts)
        and all(_is_of(part, one) for part, one in zip(parts, pair, strict=True))
        for pair in value
    )


def list_words(kind: Any) -> str:
    """Return the type in words, such as "a list of integers"."""
    element = _element(kind)
    if get_origin(element) is tuple:
        return f"a list of pairs of {ELEMENTS[get_args(element)[0]]}"
    return f"a list of {ELEMENTS[element]}"


def list_text(value: Any) -> Any:
    """Return a list as one text with commas, the same for a list and a tuple; other values are returned unchanged."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def _element(kind: Any) -> Any:
    return get_args(kind)[0]


def _is_of(kind: Any, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, kind)


def _as_pair(kind: Any, value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != len(get_args(kind)):
        return value
    parts = zip(get_args(kind), value, strict=True)
    return tuple(float(one) if part is float and _is_of(float, one) else one for part, one in parts)


def _from_text(kind: Any, text: str) -> tuple[Any, ...]:
    element = _element(kind)
    words = [word for word in re.split(r"[\s,+]+" if element is int else r"[\s,]+", text) if word]
    if get_origin(element) is tuple:
        pairs = [word.split(":") for word in words]
        return tuple(tuple(part(one) for part, one in zip(get_args(element), pair, strict=True)) for pair in pairs)
    if element is int:
        return tuple(int(word) for word in words)
    return tuple(int(word) if element == int | str and word.isdecimal() else word for word in cast(list[str], words))
