"""Settings: configuration classes whose keys have a default, a range and a meaning.

    class TargetConfig(Settings, prefix="target"):
        method: Literal["td", "n_step"] = setting("td", "Rule that computes the target.")
        steps: int = setting(1, "n of n_step.", at_least=1, at_most=1000, only_if="target.method=n_step")

A subclass of Settings is a frozen dataclass, without a decorator. pydantic checks types and ranges: when it is
constructed, and when it is read from the plain values of a YAML or JSON file (`from_plain`). Values are not converted,
but a list may be given as one value, and in a file text as a number and an integer as 1e6. NaN and infinity are
refused. This module adds what pydantic does not have: conditions of keys, descriptions of ranges, and one line for a
mistake.
"""

import dataclasses
import difflib
import operator
import re
import types
from collections.abc import Collection, Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NoReturn,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import ArgsKwargs, PydanticUndefined, to_json

T = TypeVar("T")

LARGEST = 10**15  # upper bound of an int for which none is given: sums of thousands of them fit in 64 bits
LONGEST = 60  # characters of a value in a message
UNKNOWN = "unexpected_keyword_argument"  # pydantic's type of the mistake
PLURALS = {int: "integers", float: "numbers", str: "names", int | str: "integers or names"}
WORDS = {int: "an integer", float: "a number", str: "text", bool: "true or false",
         int | str: "an integer or a name", list: "a list", dict: "a mapping"}  # fmt: skip

Share = Annotated[float, Field(gt=0, lt=1)]  # of a training, in schedules


class Key(NamedTuple):
    """Description of one configuration key, as `muzero2048 config` prints it."""

    name: str  # dotted
    type: str
    default: Any  # dataclasses.MISSING: no default
    accepts: str  # the accepted values, in words
    meaning: str
    only_if: str


def setting(
    default: T,
    meaning: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    only_if: str = "",
) -> T:
    """Return a field of a `Settings` class.

    Args:
        meaning: one or two sentences for the user, with the unit and the source.
        above: lower bound, not included.
        at_most: largest value; for an int the default is LARGEST.
        below: upper bound, not included.
        only_if: condition under which the key has an effect, see `applies`; "": always.
    """
    if type(default) is int:
        at_least, at_most = (-LARGEST if at_least is None else at_least), (LARGEST if at_most is None else at_most)
    bounds: dict[str, Any] = {"ge": at_least, "gt": above, "le": at_most, "lt": below}
    field: Any = Field(default, description=meaning, json_schema_extra={"only_if": only_if}, **bounds)
    return field


def required(meaning: str, *, at_least: int | None = None) -> Any:
    """Return a field of a `Settings` class without a default: text, or an int with a smallest value."""
    bounds: dict[str, Any] = {} if at_least is None else {"ge": at_least, "le": LARGEST}
    return Field(description=meaning, **bounds)


def group(kind: type[T], only_if: str = "", conditions: dict[str, str] | None = None) -> T:
    """Return a field that holds another `Settings` class with its defaults.

    Args:
        only_if: condition of all its keys that have none of their own.
        conditions: conditions in place of those that fields of the class have.
    """
    extra: Any = {"only_if": only_if, "conditions": conditions}
    field: Any = Field(default_factory=kind, json_schema_extra=extra)
    return field


@dataclass_transform(frozen_default=True)
class Settings:
    """Base class of configurations."""

    __pydantic_config__ = ConfigDict(allow_inf_nan=False, extra="forbid")
    _prefix: ClassVar[str] = ""
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
        __pydantic_fields__: ClassVar[dict[str, FieldInfo]]
        __pydantic_validator__: ClassVar[Any]

    def __init_subclass__(cls, prefix: str | None = None, **rest: Any) -> None:
        """Make the subclass a dataclass.

        Args:
            prefix: name under which the class is nested, in messages; None: that of the base class.
            rest: arguments of other base classes.
        """
        super().__init_subclass__(**rest)
        if prefix is not None:
            cls._prefix = prefix
        dataclass(cls, frozen=True)
        setattr(cls, "__init__", _checked_init)  # noqa: B010 (mypy refuses another signature)

    @field_validator("*", mode="before")
    @classmethod
    def _as_field(cls, value: Any, info: ValidationInfo) -> Any:
        """Return a number of numpy as Python's, one value as a list where a list is wanted, and lists as tuples."""
        kind = cls.__pydantic_fields__[cast(str, info.field_name)].annotation
        if getattr(value, "shape", None) == ():
            value = value.item()
        if info.mode == "json" and kind is str and type(value) in (int, float):
            return str(value)  # run.group=3
        if info.mode == "json" and kind is int and type(value) is float and value.is_integer():
            return int(value)  # env_steps=1e6
        if dataclasses.is_dataclass(kind) and not hasattr(kind, "__pydantic_fields__") and isinstance(value, dict):
            return {name: _as_tuple(part) for name, part in value.items()}  # of a dataclass without this method
        if get_origin(kind) is not tuple:
            return value
        return _as_tuple([value] if type(value) in (int, float, str) else value)

    def refuse(self, name: str, give: str) -> NoReturn:
        """Raise ValueError for the value of a field; `give` says what it should be."""
        raise ValueError(_refusal(_joined(self._prefix, name), getattr(self, name), give))

    def check_ascending(self, name: str) -> None:
        """Check that the shares of a schedule of pairs [share of the training, value from then on] ascend."""
        shares = [share for share, _ in getattr(self, name)]
        if shares != sorted(set(shares)):
            self.refuse(name, "ascending shares between 0 and 1")


dataclass(Settings, frozen=True)  # so that subclasses inherit the validator


def _checked_init(self: Settings, *args: Any, **values: Any) -> None:
    """Construct an instance; ValueError of one line, which names the key, for a value that it does not accept."""
    try:
        self.__pydantic_validator__.validate_python(ArgsKwargs(args, values), self_instance=self, strict=True)
    except ValidationError as error:
        raise ValueError(_line(type(self), error, self._prefix)) from None


def from_plain(kind: type[T], values: Any, place: str = "") -> T:
    """Return the instance of a `Settings` class that plain values describe.

    Args:
        values: a mapping of a YAML or JSON file. Keys that it lacks have their defaults.
        place: name of the values, for messages.

    Raises:
        ValueError: a key is unknown or missing, or a value is not accepted; the line names the key.
    """
    try:  # strict JSON is right for plain values: a list may be a tuple and a mapping a class, but '3' is no number
        validator: Any = kind.__pydantic_validator__  # type: ignore[attr-defined]
        return cast(T, validator.validate_json(to_json(values, inf_nan_mode="constants"), strict=True))
    except ValidationError as error:
        raise ValueError(_line(kind, error, place)) from None


def _line(kind: Any, error: ValidationError, place: str) -> str:
    """Return one line for the first mistake, with the key and what it accepts; an unknown key comes first."""
    mistakes = error.errors(include_url=False)
    mistake = next((one for one in mistakes if one["type"] == UNKNOWN), mistakes[0])
    if mistake["type"] == "value_error":  # of a __post_init__
        return str(mistake["ctx"]["error"])
    key, owner = place, kind
    bounds: Sequence[Any] = ()
    for part in mistake["loc"]:
        if keys := _fields(kind):
            name = list(keys)[part] if isinstance(part, int) else part
            key, owner = _joined(key, name), kind
            kind, bounds = (keys[name].annotation, keys[name].metadata) if name in keys else (None, ())
        elif get_origin(kind) in (list, tuple):
            parts = get_args(kind)
            is_pair = get_origin(kind) is tuple and Ellipsis not in parts
            key, kind = f"{key}[{part}]", parts[cast(int, part) if is_pair else 0]
        elif get_origin(kind) is dict:
            key, kind = _joined(key, str(part)), get_args(kind)[1]  # else `part` names the member of a union
        kind = _without_none(kind)
    if mistake["type"] == UNKNOWN:
        name = str(mistake["loc"][-1])
        near = [known.name for known in keys_of(owner) if known.name.endswith(f".{name}")]
        near += difflib.get_close_matches(name, _fields(owner), n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"its keys are {', '.join(_fields(owner))}"
        return f"there is no key '{key}'; {hint}"
    if mistake["type"] == "missing":
        return f"{key} is missing and has no default; set it"
    if mistake["type"] == "less_than_equal" and mistake["ctx"]["le"] == LARGEST:
        return _refusal(key, mistake["input"], f"at most {LARGEST}")
    give = "text in quotes" if kind is str else _accepts(kind, bounds)
    is_other = kind is int and bounds and type(mistake["input"]) is not int  # such as 1e3
    return _refusal(key, mistake["input"], f"an integer, {give}" if is_other else give)


def _refusal(key: str, value: Any, give: str) -> str:
    text = repr(value)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return f"{key} is {text}; give {give}" if key else f"{text} stands here; give {give}"


def keys_of(
    kind: type[Any], prefix: str = "", only_if: str = "", conditions: dict[str, str] | None = None
) -> list[Key]:
    """Return all keys of a class and of the classes nested in it, in order of definition.

    Args:
        prefix: prefix of the names, such as "ntuple.".
        only_if, conditions: as those of a group.
    """
    keys: list[Key] = []
    for name, field in _fields(kind).items():
        type_: Any = _without_none(field.annotation)
        extra: Any = field.json_schema_extra or {}
        condition = (conditions or {}).get(name) or extra.get("only_if") or only_if
        if _fields(type_):
            keys += keys_of(type_, f"{prefix}{name}.", condition, extra.get("conditions"))
            continue
        default = dataclasses.MISSING if field.default is PydanticUndefined else field.default
        accepts, meaning = _accepts(type_, field.metadata), field.description or ""
        keys.append(Key(prefix + name, _type_name(type_), default, accepts, meaning, condition))
    return keys


def applies(condition: str, settings: Any, idle: Collection[str] = ()) -> bool:
    """Return whether a condition holds.

    Args:
        condition: clauses joined by " and ", which binds more tightly, and " or ". A clause is a dotted key of
            `settings`, then `=` or `!=`, then values separated by `|`: "target.method=trace|delayed or
            average.env_steps!=0". "" always holds.
        settings: the instance to which the keys refer.
        idle: keys without effect; an alternative about one of them does not hold.
    """
    alternatives = (part.split(" and ") for part in condition.split(" or "))
    return not condition or any(all(_clause_holds(clause, settings, idle) for clause in part) for part in alternatives)


def full_condition(condition: str, prefix: str) -> str:
    """Return a condition with `prefix` before each key; an empty list is []."""
    parts = re.split("( or | and )", condition)  # clauses, and what joins them
    parts[::2] = [prefix + clause + ("[]" if clause.endswith("=") else "") for clause in parts[::2]]
    return "".join(parts)


def without_effect(settings: Any, prefix: str = "") -> dict[str, str]:
    """Find the keys that differ from their defaults but have no effect.

    Args:
        settings: an instance; the keys of conditions refer to it.
        prefix: prefix of its keys, such as "ntuple.".

    Returns:
        Name of each such key, with the prefix -> a message with the condition that the key needs.
    """
    idle: dict[str, str] = {}
    for key in keys_of(type(settings)):
        value = operator.attrgetter(key.name)(settings)
        if key.default is not dataclasses.MISSING and value != key.default and not applies(key.only_if, settings, idle):
            needed = full_condition(key.only_if, prefix)
            idle[key.name] = f"{prefix}{key.name} = {value} has no effect: it needs {needed}"
    return {prefix + name: message for name, message in idle.items()}


def list_text(value: Any) -> Any:
    """Return a list as one text with commas, the same for a list and a tuple; other values are returned unchanged."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def _clause_holds(clause: str, settings: Any, idle: Collection[str]) -> bool:
    path, values = clause.split("=")
    name = path.removesuffix("!")
    value = str(list_text(operator.attrgetter(name)(settings)))
    return name not in idle and (value in values.split("|")) != path.endswith("!")


def _fields(kind: Any) -> dict[str, FieldInfo]:
    """Return the fields of a Settings class, or of a plain dataclass inside one; of another type none."""
    if dataclasses.is_dataclass(kind) and not hasattr(kind, "__pydantic_fields__"):
        return {name: FieldInfo.from_annotation(hint) for name, hint in get_type_hints(kind).items()}
    return getattr(kind, "__pydantic_fields__", {})


def _joined(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value


def _without_none(kind: Any) -> Any:
    """Return X of `X | None`."""
    if get_origin(kind) in (Union, types.UnionType) and types.NoneType in get_args(kind):
        return next(part for part in get_args(kind) if part is not types.NoneType)
    return kind


def _accepts(kind: Any, bounds: Sequence[Any] = ()) -> str:
    """Return what a key of a type accepts, in words."""
    kind = _without_none(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _accepts(parts[0], parts[1].metadata)
    if origin is Literal:
        return f"one of: {', '.join(map(str, parts))}"
    if origin is tuple:
        return f"a list of {_plural(parts[0])}" if Ellipsis in parts else f"a pair of {_plural(parts[0])}"
    if _fields(kind):
        return f"a mapping with the keys {', '.join(_fields(kind))}"
    if kind in (int, float) and bounds:
        limits: dict[str, Any] = {}
        for bound in bounds:
            limits |= {name: getattr(bound, name) for name in ("ge", "gt", "le", "lt") if hasattr(bound, name)}
        return _range_text(kind, **limits)
    return WORDS.get(kind) or WORDS[origin]


def _plural(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        return _plural(get_args(kind)[0])
    return f"pairs of {_plural(get_args(kind)[0])}" if get_origin(kind) is tuple else PLURALS[kind]


def _range_text(kind: type, ge: Any = None, gt: Any = None, le: Any = None, lt: Any = None) -> str:
    """Return a range in words, such as "1 to 1000" or "a number in (0, 2]"."""
    if kind is int:
        return f"{ge} or more" if le == LARGEST else f"{ge} to {le}"
    low = f"({gt:g}" if gt is not None else "(-inf" if ge is None else f"[{ge:g}"
    high = f"{lt:g})" if lt is not None else "inf)" if le is None else f"{le:g}]"
    return f"a number in {low}, {high}"


def _type_name(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return "list"
    return "choice" if get_origin(kind) is Literal else str(kind.__name__)
