"""Settings: the default, range and meaning of each configuration key, and one check for all of them.

    @dataclass(frozen=True)
    class TargetConfig(Settings, prefix="target"):
        method: Literal["td", "n_step"] = setting("td", "Rule that computes the target.")
        steps: int = setting(1, "n of n_step.", at_least=1, at_most=1000, only_if="target.method=n_step")

A float must be finite and in its range, an int must be in its range, a Literal must be one of its values. No range is
checked by hand, because a comparison such as `x < 0` is false for NaN. This module imports the standard library only.
"""

import dataclasses
import functools
import math
import numbers
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, TypeVar, cast, get_args, get_origin, get_type_hints

from ntuple.core.lists import as_tuple, is_list, list_holds, list_text, list_words

T = TypeVar("T")

LARGEST = 10**15  # upper bound of an int for which none is given: sums of thousands of them fit in 64 bits
_METADATA = "setting"
_HINTS: dict[type[Any], dict[str, Any]] = {}  # of `types_of`


@dataclass(frozen=True)
class Range:
    """The numbers that a key accepts; None: no bound on that side."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def holds(self, value: float) -> bool:
        """Return whether a value is in the range; NaN and infinity never are."""
        return (
            math.isfinite(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def text(self, kind: type) -> str:
        """Return the range in words, such as "1 to 1000" or "a number in (0, 2]"."""
        if kind is int:
            low, high = self.at_least, self.at_most
            return f"{low} or more" if high == LARGEST else f"{low} to {high}"
        low_text = f"({self.above:g}" if self.above is not None else _end("[", self.at_least, "(-inf")
        high_text = f"{self.below:g})" if self.below is not None else _end("", self.at_most, "inf)", "]")
        return f"a number in {low_text}, {high_text}"


def _end(left: str, bound: float | None, unbounded: str, right: str = "") -> str:
    """Return the text of one end of an interval that includes its bound."""
    return unbounded if bound is None else f"{left}{bound:g}{right}"


class Setting(NamedTuple):
    """Properties of a key other than its type and default."""

    meaning: str = ""
    range: Range = Range()
    only_if: str = ""  # condition under which the key has an effect, see `applies`


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
        default: value of the key if it is not set.
        meaning: one or two sentences for the user, with the unit and the source.
        at_least: smallest value.
        above: lower bound, not included.
        at_most: largest value; for an int the default is LARGEST.
        below: upper bound, not included.
        only_if: condition under which the key has an effect, see `applies`; "": always.

    Returns:
        A dataclass field, typed as its value.
    """
    details = Setting(meaning, Range(at_least, above, at_most, below), only_if)
    field: Any = dataclasses.field(default=default, metadata={_METADATA: details})
    return field


def required(meaning: str, *, at_least: float | None = None) -> Any:
    """Return a field of a `Settings` class without a default."""
    return dataclasses.field(metadata={_METADATA: Setting(meaning, Range(at_least=at_least))})


def group(kind: type[T], only_if: str = "") -> T:
    """Return a field that holds another `Settings` class with its defaults; `only_if` applies to all its keys."""
    field: Any = dataclasses.field(default_factory=kind, metadata={_METADATA: Setting(only_if=only_if)})
    return field


class Settings:
    """Base class of configuration dataclasses: checks every field on construction."""

    _prefix: ClassVar[str] = ""

    # Former name of a key -> present name, dotted if the key moved into a group. Files of earlier versions can be read.
    former_keys: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, prefix: str | None = None, **rest: Any) -> None:
        """Set the prefix of key names in messages.

        Args:
            prefix: name under which the class is nested; None: the prefix of the base class.
            rest: arguments of other base classes.
        """
        super().__init_subclass__(**rest)
        if prefix is not None:
            cls._prefix = f"{prefix}."

    def __post_init__(self) -> None:
        """Check all fields.

        Raises:
            ValueError: a value is out of its range or has another type; the message names the key.
        """
        for field in dataclasses.fields(self):  # type: ignore[arg-type] # subclasses are dataclasses
            value, kind = getattr(self, field.name), types_of(type(self))[field.name]
            accepted = _range(field, kind)
            if is_list(kind):
                value = self._set_list(field.name, kind, value)
            if not _is_accepted(value, kind, accepted):
                self.refuse(field.name, _accepts(kind, accepted, value))

    def _set_list(self, name: str, kind: Any, value: Any) -> Any:
        """Store a list, given in any form, as nested tuples, and return them."""
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

    def check_steps(self, name: str, values: str, **bounds: float) -> None:
        """Check a schedule of pairs [share of the training, value from then on].

        Args:
            name: the field.
            values: what the values are, such as "rates".
            bounds: range of the values, as in `setting`.

        Raises:
            ValueError: the shares do not ascend between 0 and 1, or a value is out of its range.
        """
        steps, accepted = getattr(self, name), Range(**bounds)
        shares = [share for share, _ in steps]
        if shares != sorted(set(shares)) or not all(0 < share < 1 for share in shares):
            self.refuse(name, "ascending shares between 0 and 1")
        if not all(accepted.holds(value) for _, value in steps):
            self.refuse(name, f"{values}, each {accepted.text(float)}")


def keys_of(kind: type[Any], prefix: str = "", only_if: str = "") -> list[Key]:
    """Return all keys of a dataclass and of the dataclasses nested in it, in order of definition.

    Args:
        kind: the dataclass.
        prefix: prefix of the names, such as "ntuple.".
        only_if: condition of keys that have no condition of their own.

    Returns:
        The keys, with dotted names.
    """
    found: list[Key] = []
    for field in dataclasses.fields(kind):
        type_: Any
        type_, details = types_of(kind)[field.name], setting_of(field)
        condition = details.only_if or only_if
        if dataclasses.is_dataclass(type_):
            found += keys_of(cast(type[Any], type_), f"{prefix}{field.name}.", condition)
            continue
        accepts = _accepts(type_, _range(field, type_))
        found.append(Key(prefix + field.name, _type_name(type_), field.default, accepts, details.meaning, condition))
    return found


def applies(condition: str, settings: Any) -> bool:
    """Return whether a condition holds.

    Args:
        condition: alternatives separated by " or ". Each is a dotted key of `settings`, then `=` or `!=`, then values
            separated by `|`: "target.method=trace|delayed or average.env_steps!=0". "" always holds.
        settings: the dataclass instance to which the keys refer.
    """
    return not condition or any(_clause_holds(clause, settings) for clause in condition.split(" or "))


def full_condition(condition: str, prefix: str) -> str:
    """Return a condition with `prefix` before each key."""
    return " or ".join(prefix + clause for clause in condition.split(" or "))


def without_effect(settings: Any, prefix: str = "") -> dict[str, str]:
    """Find the keys that differ from their defaults but have no effect.

    Args:
        settings: a dataclass instance; the keys of conditions refer to it.
        prefix: prefix of its keys, such as "ntuple.".

    Returns:
        Name of each such key, with the prefix -> a message with the condition that the key needs.
    """
    found = {}
    for key in keys_of(type(settings)):
        value = functools.reduce(getattr, key.name.split("."), settings)
        if key.default is not dataclasses.MISSING and value != key.default and not applies(key.only_if, settings):
            needed = full_condition(key.only_if, prefix)
            found[prefix + key.name] = f"{prefix}{key.name} = {value} has no effect: it needs {needed}"
    return found


def setting_of(field: "dataclasses.Field[Any]") -> Setting:
    """Return what `setting` stored in a field; an empty `Setting` for a plain field."""
    return field.metadata.get(_METADATA, Setting())


def _clause_holds(clause: str, settings: Any) -> bool:
    path, values = clause.split("=")
    value = str(list_text(functools.reduce(getattr, path.removesuffix("!").split("."), settings)))
    return (value in values.split("|")) != path.endswith("!")


def types_of(kind: type[Any]) -> dict[str, Any]:
    """Return the types of a dataclass's fields; they are found once, because that takes longer than all checks."""
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def _range(field: "dataclasses.Field[Any]", kind: Any) -> Range:
    """Return the range of a field; an int always has two bounds."""
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
