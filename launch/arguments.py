"""Arguments of calls from Python: their types are checked where the call enters, and errors name the arguments."""

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from launch.errors import OptionError
from ntuple.core.games.definition import State as GameState

P = ParamSpec("P")
T = TypeVar("T")
TYPE_NAMES = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    np.ndarray: "an array",
    Sequence: "a list",
    Mapping: "a dict",
    GameState: "a State",
    types.NoneType: "None",
}
LONGEST = 40  # characters of a value in a message


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a public function: its arguments must have the annotated types, and its errors use Python's words.

    Scalars and arrays of numpy, JAX and the like become numbers and arrays of numpy first. Parameters are annotated
    with types or unions of them, not with texts. A wrong type raises TypeError of one line; an OptionError becomes a
    UserError.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            bound.arguments[name] = _accepted(name, value, signature.parameters[name].annotation)
        try:
            return function(*bound.args, **bound.kwargs)
        except OptionError as error:
            raise error.in_python() from None

    return call


def _plain(value: Any) -> Any:
    """Return the number of a scalar of numpy, JAX and the like, and the numpy array of an array; else the value."""
    if not hasattr(value, "__array__"):
        return value
    array = np.asarray(value)
    return array if array.ndim else array.item()


def shown(value: Any) -> str:
    """Return a value for a message of one line: as Python writes it, or its type if that is long."""
    text = repr(value)
    return text if len(text) <= LONGEST and "\n" not in text else f"of type {type(value).__name__}"


def _accepted(name: str, value: Any, annotation: Any) -> Any:
    """Return the plain value if it has a type of the annotation; self has none."""
    value = _plain(value)
    is_union = get_origin(annotation) in (Union, types.UnionType)
    kinds = [_class_of(kind) for kind in (get_args(annotation) if is_union else (annotation,))]
    if annotation is inspect.Parameter.empty or any(_is_of(value, kind) for kind in kinds):
        return float(value) if float in kinds and isinstance(value, int) else value
    raise TypeError(
        f"{name} is {shown(value)}; give {' or '.join(TYPE_NAMES.get(kind, kind.__name__) for kind in kinds)}"
    )


def _class_of(annotation: Any) -> Any:
    """Return the class that an annotation names, perhaps by an alias, such as NDArray from numpy 2.5 on."""
    origin = get_origin(annotation) or annotation
    return _class_of(origin.__value__) if hasattr(origin, "__value__") else origin


def _is_of(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float)
    if kind is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return isinstance(value, kind)
