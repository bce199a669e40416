"""Plain values of configs: dict, list, str, numbers, bool and None, in YAML files and in words KEY=VALUE."""

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml

from launch.errors import UserError
from ntuple.core.settings import from_plain

T = TypeVar("T")
MISTAKES = (yaml.YAMLError, ValueError, OSError)  # exceptions that a mistake in a config raises
DATE = "tag:yaml.org,2002:timestamp"
# YAML 1.1 wants a point and a sign in 1.0e+3; here 1e3 is a number too.
EXPONENT = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$")


class _Loader(yaml.CSafeLoader):
    """Refuses a key that stands twice in one mapping, where YAML would take the last one; a date is a text."""

    yaml_implicit_resolvers: ClassVar[Any] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != DATE]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [str(key.value) for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        if len(set(keys)) < len(keys):
            twice = next(key for number, key in enumerate(keys) if key in keys[:number])
            raise ValueError(f"line {node.start_mark.line + 1}: the key '{twice}' stands twice in one mapping")
        return super().construct_mapping(node, deep)


class _Dumper(yaml.CSafeDumper):
    """Puts quotes around texts that are numbers, here or in YAML 1.2, such as 012348."""


for _kind in (_Loader, _Dumper):
    _kind.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+.0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"\d+$"), list("0123456789"))


def load_plain(text: str) -> Any:
    """Return the plain values of a YAML text.

    Raises:
        ValueError: a key stands twice in one mapping.
        yaml.YAMLError: it is not YAML.
    """
    return yaml.load(text, _Loader)


def dump_plain(value: Any) -> str:
    """Return plain values as YAML, the inverse of `load_plain`."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def mistake_text(error: Exception) -> str:
    """Return one line for an exception of MISTAKES."""
    text = " ".join(str(error).split())
    return f"not YAML: {text}" if isinstance(error, yaml.YAMLError) else text


def read_settings(kind: type[T], file: Path) -> T:
    """Return the instance of a `Settings` class that a YAML file describes; UserError names the file and a mistake."""
    try:
        return from_plain(kind, load_plain(file.read_text(encoding="utf-8")))
    except MISTAKES as error:
        raise UserError(f"{file}: {mistake_text(error)}") from error


def merged(below: Any, above: Any) -> Any:
    """Return `below` with the values of `above` in place of its own; mappings are joined key by key."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: merged(below[key], value) if key in below else value for key, value in above.items()}


def parse_overrides(overrides: Sequence[str]) -> dict[str, Any]:
    """Return words "key=value" with dotted keys as nested values; a value is YAML, such as [a, b] or {steps: 3}."""
    values: dict[str, Any] = {}
    for override in overrides:
        key, _, text = override.partition("=")
        nested = functools.reduce(lambda value, name: {name: value}, reversed(key.split(".")), load_plain(text))
        values = merged(values, nested)
    return values


def flat(values: Any, prefix: str = "") -> dict[str, Any]:
    """Return the leaves of nested mappings by dotted key."""
    if not isinstance(values, dict):
        return {prefix: values}
    return {
        key: leaf
        for name, part in values.items()
        for key, leaf in flat(part, f"{prefix}.{name}" if prefix else str(name)).items()
    }


def value_text(value: Any) -> str:
    """Return a value as the command line takes it: 5x6, 0.1, true, null, [a,b]; a list of one value as that value."""
    if isinstance(value, list):
        text = ",".join(map(value_text, value))
        return text if len(value) == 1 and not isinstance(value[0], list) else f"[{text}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_value(text: str) -> Any:
    """Return the value of a word VALUE, read as the overrides KEY=VALUE are: 1e-1 is a number, null is None.

    Raises:
        UserError: the text is no value.
    """
    try:
        return load_plain(text)
    except MISTAKES as error:
        raise UserError(f"{text!r} is no value of a config; quote it if it is a text") from error


def has_value(value: Any, wanted: Any) -> bool:
    """Return whether a value of a config is the wanted one. A list of one element is also that element.

    Numbers are compared as numbers, so 1 is 1.0; true and false are no numbers.
    """
    if isinstance(value, list) and not isinstance(wanted, list):
        return len(value) == 1 and has_value(value[0], wanted)
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)
