"""Dataclasses from plain values of a YAML or JSON file, with all keys and types checked.

It serves files with hundreds of rows, which OmegaConf would take seconds to check: configs/papers/ and the JSON files
of tables. Types of a field are str, int, float, bool, a dataclass, an optional one of these, and list, tuple[..., ...]
and dict[str, ...] of these.
"""

import dataclasses
import math
import types
from typing import Any, TypeVar, Union, cast, get_args, get_origin

import yaml

from ntuple.core.settings import types_of

T = TypeVar("T")

LARGEST = 10**300  # integers below it are taken as floats where a float is wanted
WORDS = {str: "text", int: "a whole number", float: "a finite number", bool: "true or false"}


class _Loader(yaml.CSafeLoader):
    """Refuses a key that stands twice in one mapping, where YAML would take the last one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [str(key.value) for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        if len(set(keys)) < len(keys):
            twice = next(key for number, key in enumerate(keys) if key in keys[:number])
            raise ValueError(f"line {node.start_mark.line + 1}: the key '{twice}' stands twice in one mapping")
        return super().construct_mapping(node, deep)


def load_plain(text: str) -> Any:
    """Return the plain values of a YAML text.

    Raises:
        ValueError: a key stands twice in one mapping.
        yaml.YAMLError: it is not YAML.
    """
    return yaml.load(text, _Loader)


def typed(kind: type[T], value: Any, place: str = "") -> T:
    """Return a plain value as an instance of a type.

    Args:
        kind: the type, see above.
        value: plain values: dict, list, str, numbers, bool, None.
        place: where the value stands, for messages.

    Returns:
        The instance. Fields that `value` lacks have their defaults.

    Raises:
        ValueError: a key is unknown or missing, or a value has another type; the message names the place.
    """
    return cast(T, _typed(kind, value, place))


def _typed(kind: Any, value: Any, place: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, place)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _typed(next(one for one in arguments if one is not type(None)), value, place)
    if origin in (list, tuple):
        _check(isinstance(value, list), value, "a list", place)
        return origin(_typed(arguments[0], one, f"{place}[{number}]") for number, one in enumerate(value))
    if origin is dict:
        _check(isinstance(value, dict) and all(isinstance(key, str) for key in value), value, "a mapping", place)
        return {key: _typed(arguments[1], one, f"{place}.{key}") for key, one in value.items()}
    if kind is float and type(value) is int and abs(value) < LARGEST:
        return float(value)
    is_right = type(value) is kind and (kind is not float or math.isfinite(value))
    _check(is_right, value, WORDS[kind], place)
    return value


def _dataclass(kind: Any, value: Any, place: str) -> Any:
    _check(isinstance(value, dict), value, f"a mapping with the keys of {kind.__name__}", place)
    wanted = types_of(kind)
    if unknown := [key for key in value if key not in wanted]:
        raise ValueError(f"{_before(place)}there is no key '{unknown[0]}'; its keys are {', '.join(wanted)}")
    for field in dataclasses.fields(kind):
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and field.name not in value:
            raise ValueError(f"{_before(place)}{field.name} is missing; set it")
    inside = f"{place}." if place else ""
    return kind(**{key: _typed(wanted[key], one, inside + key) for key, one in value.items()})


def _check(is_right: bool, value: Any, wanted: str, place: str) -> None:
    if not is_right:
        raise ValueError(f"{_before(place)}{_shortened(repr(value))} stands here; give {wanted}")


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _before(place: str) -> str:
    return f"{place}: " if place else ""
