"""Settings: the default, range and meaning of each configuration key, and one check for all of them.

    @dataclass(frozen=True)
    class TargetConfig(Settings, prefix="target"):
        method: Literal["td", "n_step"] = setting("td", "Rule that computes the target.")
        steps: int = setting(1, "n of n_step.", at_least=1, at_most=1000, only_if="target.method=n_step")

A float must be finite and in its range, an int in its range, a Literal one of its values. Comparisons such as `x < 0`
are false for NaN, so no range is checked by hand. This module needs the standard library alone.
"""

import dataclasses
import functools
import math
import numbers
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, TypeVar, cast, get_args, get_origin, get_type_hints

from ntuple.lists import as_tuple, is_list, list_holds, list_text, list_words

T = TypeVar("T")

LARGEST = 10**15  # of any int without a bound of its own: sums and products of a few of them still fit 64 bits
_METADATA = "setting"
_HINTS: dict[type[Any], dict[str, Any]] = {}  # of the classes so far: finding them takes longer than all checks


@dataclass(frozen=True)
class Range:
    """The numbers that a key accepts; None: no bound on that side."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def holds(self, value: float) -> bool:
        """Whether a value is in the range; NaN never is."""
        return (
            math.isfinite(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def text(self, kind: type) -> str:
        """The range in words, such as "1 to 1000" or "a number in (0, 2]"."""
        if kind is int:
            low, high = self.at_least, self.at_most
            return f"{low} or more" if high == LARGEST else f"{low} to {high}"
        low_text = f"({self.above:g}" if self.above is not None else _end("[", self.at_least, "(-inf")
        high_text = f"{self.below:g})" if self.below is not None else _end("", self.at_most, "inf)", "]")
        return f"a number in {low_text}, {high_text}"


def _end(left: str, bound: float | None, unbounded: str, right: str = "") -> str:
    """One end of an interval that holds its bound."""
    return unbounded if bound is None else f"{left}{bound:g}{right}"


class Setting(NamedTuple):
    """What is known of a key besides its type and default."""

    meaning: str = ""
    range: Range = Range()
    only_if: str = ""  # condition under which the key has an effect, see `applies`


class Key(NamedTuple):
    """One configuration key, for people."""

    name: str  # dotted
    type: str
    default: Any  # dataclasses.MISSING: there is none
    accepts: str  # the values, in words
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
    """A field of a `Settings` class.

    Args:
        default: the value of the key if nobody sets it.
        meaning: one or two sentences for people, with the unit and the source.
        at_least: smallest value.
        above: bound that the value must exceed.
        at_most: largest value; for an int LARGEST if it is left out.
        below: bound that the value must stay below.
        only_if: condition under which the key has an effect, see `applies`; "": always.

    Returns:
        A dataclass field, typed as its value.
    """
    details = Setting(meaning, Range(at_least, above, at_most, below), only_if)
    field: Any = dataclasses.field(default=default, metadata={_METADATA: details})
    return field


def required(meaning: str, *, at_least: float | None = None) -> Any:
    """A field of a `Settings` class without a default."""
    return dataclasses.field(metadata={_METADATA: Setting(meaning, Range(at_least=at_least))})


def group(kind: type[T], only_if: str = "") -> T:
    """A field that holds another `Settings` class with its defaults; `only_if` is a condition for all of its keys."""
    field: Any = dataclasses.field(default_factory=kind, metadata={_METADATA: Setting(only_if=only_if)})
    return field


class Settings:
    """Base of configuration dataclasses: checks every field on construction."""

    _prefix: ClassVar[str] = ""

    # Former name of a key -> its present one, dotted where it went into a group; files of earlier versions are read so.
    former_keys: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, prefix: str | None = None, **rest: Any) -> None:
        """`prefix` is the name under which the class is nested, for messages; by default that of the base class."""
        super().__init_subclass__(**rest)
        if prefix is not None:
            cls._prefix = f"{prefix}."

    def __post_init__(self) -> None:
        """Check all fields.

        Raises:
            ValueError: a value is out of its range or of another type; the line names the key.
        """
        for field in dataclasses.fields(self):  # type: ignore[arg-type] # subclasses are dataclasses
            value, kind = getattr(self, field.name), _types(type(self))[field.name]
            accepted = _range(field, kind)
            if is_list(kind):
                value = self._set_list(field.name, kind, value)
            if not _is_accepted(value, kind, accepted):
                self.refuse(field.name, _accepts(kind, accepted, value))

    def _set_list(self, name: str, kind: Any, value: Any) -> Any:
        """Store a list as nested tuples, whatever form it was given in."""
        try:
            value = as_tuple(kind, value)
        except ValueError:
            self.refuse(name, list_words(kind))
        object.__setattr__(self, name, value)  # the dataclass is frozen
        return value

    def refuse(self, name: str, give: str) -> NoReturn:
        """Raise ValueError for the value of a field; `give` says what it should be."""
        value = getattr(self, name)
        raise ValueError(f"{self._prefix}{name} is {value!r}; give {give}")


def keys_of(kind: type[Any], prefix: str = "", only_if: str = "") -> list[Key]:
    """All keys of a dataclass and of the dataclasses nested in it, in their order.

    Args:
        kind: the dataclass.
        prefix: of the names, such as "ntuple.".
        only_if: condition for all of them.
    """
    found: list[Key] = []
    for field in dataclasses.fields(kind):
        type_: Any
        type_, details = _types(kind)[field.name], setting_of(field)
        condition = details.only_if or only_if
        if dataclasses.is_dataclass(type_):
            found += keys_of(cast(type[Any], type_), f"{prefix}{field.name}.", condition)
            continue
        accepts = _accepts(type_, _range(field, type_))
        found.append(Key(prefix + field.name, _type_name(type_), field.default, accepts, details.meaning, condition))
    return found


def applies(condition: str, settings: Any) -> bool:
    """Whether a condition holds.

    Args:
        condition: alternatives with " or " between them, each a dotted key of `settings`, `=` or `!=`, and values with
            `|` between them: "target.method=trace|delayed or average.env_steps!=0". "" always holds.
        settings: the dataclass that the keys begin from.
    """
    return not condition or any(_clause_holds(clause, settings) for clause in condition.split(" or "))


def full_condition(condition: str, prefix: str) -> str:
    """A condition whose keys begin with `prefix`."""
    return " or ".join(prefix + clause for clause in condition.split(" or "))


def without_effect(settings: Any, prefix: str = "") -> dict[str, str]:
    """The keys that differ from their defaults but have no effect.

    Args:
        settings: a dataclass instance; conditions begin from it.
        prefix: its own name, such as "ntuple.".

    Returns:
        For each such key, with the prefix, a line that says what it needs.
    """
    found = {}
    for key in keys_of(type(settings)):
        value = functools.reduce(getattr, key.name.split("."), settings)
        if key.default is not dataclasses.MISSING and value != key.default and not applies(key.only_if, settings):
            needed = full_condition(key.only_if, prefix)
            found[prefix + key.name] = f"{prefix}{key.name} = {value} has no effect: it needs {needed}"
    return found


def setting_of(field: "dataclasses.Field[Any]") -> Setting:
    """What `setting` was told of a field; nothing of a plain one."""
    return field.metadata.get(_METADATA, Setting())


def _clause_holds(clause: str, settings: Any) -> bool:
    path, values = clause.split("=")
    value = str(list_text(functools.reduce(getattr, path.removesuffix("!").split("."), settings)))
    return (value in values.split("|")) != path.endswith("!")


def _types(kind: type[Any]) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def _range(field: "dataclasses.Field[Any]", kind: Any) -> Range:
    """The range of a field; an int always has two bounds."""
    found = setting_of(field).range
    if kind is not int:
        return found
    low, high = found.at_least, found.at_most
    return Range(at_least=-LARGEST if low is None else low, at_most=LARGEST if high is None else high)


def _is_accepted(value: Any, kind: Any, accepted: Range) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if is_list(kind):
        return list_holds(kind, value)
    if kind is bool:
        return isinstance(value, bool)
    if kind in (int, float):
        number = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, number) and not isinstance(value, bool) and accepted.holds(cast(float, value))
    return isinstance(value, kind)


def _accepts(kind: Any, accepted: Range, value: Any = None) -> str:
    if get_origin(kind) is Literal:
        return f"one of: {', '.join(map(str, get_args(kind)))}"
    if is_list(kind):
        return list_words(kind)
    if kind is bool:
        return "true or false"
    if kind is int and isinstance(value, int) and value > LARGEST:
        return f"{accepted.at_least} to {accepted.at_most}"
    if kind in (int, float):
        return accepted.text(kind)
    return "text" if kind is str else f"a {kind.__name__}"


def _type_name(kind: Any) -> str:
    if is_list(kind):
        return "list"
    return "choice" if get_origin(kind) is Literal else str(kind.__name__)
