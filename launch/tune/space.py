"""Which values the trials of a search try: the words of a `muzero2048 tune`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from launch.errors import UserError
from launch.experiment.plain_values import flat
from launch.jobs.plan import axes_of

LOG = ":log"
DIGITS = 4  # significant digits of a value that is tried
_EXACT = ".15g"  # 1.0 is written 1
_NUMBER = r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})({LOG})?")

Value = str | int | float


class Range(NamedTuple):
    """Numbers from `low` to `high`, both included: integers if both are."""

    low: int | float
    high: int | float
    is_log: bool  # equal factors are equally likely

    @property
    def is_integer(self) -> bool:
        """Whether its numbers are integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def text(self, value: Value) -> str:
        """Return a value as a config has it, not outside the range by rounding."""
        if self.is_integer:
            return str(value)
        return repr(min(max(float(f"{value:.{DIGITS}g}"), float(self.low)), float(self.high)))

    def sweep(self) -> dict[str, Any]:
        """Return it as a parameter of a sweep of wandb."""
        kind = "uniform"
        if self.is_log:
            kind = "q_log_uniform_values" if self.is_integer else "log_uniform_values"
        elif self.is_integer:
            kind = "int_uniform"
        return {"distribution": kind, "min": self.low, "max": self.high}

    def __str__(self) -> str:
        """Return it as the command line has it."""
        return f"{self.low:{_EXACT}}..{self.high:{_EXACT}}{LOG if self.is_log else ''}"


class ValueList(NamedTuple):
    """A few values, in no order."""

    values: tuple[str, ...]

    def text(self, value: Value) -> str:
        """Return a value as a config has it."""
        return str(value)

    def sweep(self) -> dict[str, Any]:
        """Return it as a parameter of a sweep of wandb."""
        return {"values": list(self.values)}

    def __str__(self) -> str:
        """Return it as the command line has it."""
        return ",".join(self.values)


class Space(NamedTuple):
    """The words of a search."""

    fixed: tuple[str, ...]  # key=value of all trials
    axes: dict[str, Range | ValueList]  # by key

    def typed(self, experiment: dict[str, Any]) -> "Space":
        """Return the space with 0..1 as a range of real numbers for keys whose value in an experiment is one."""
        values = flat(experiment)
        axes = {
            key: Range(float(axis.low), float(axis.high), axis.is_log)
            if isinstance(axis, Range) and isinstance(values.get(key), float)
            else axis
            for key, axis in self.axes.items()
        }
        return Space(self.fixed, axes)

    def words(self, values: Mapping[str, Value]) -> tuple[str, ...]:
        """Return the overrides of the trial with these values of all axes."""
        return (*self.fixed, *(f"{key}={axis.text(values[key])}" for key, axis in self.axes.items()))

    def corners(self) -> list[dict[str, Value]]:
        """Return trials that together have the ends of each range, and each value of each list."""
        ends: dict[str, tuple[Value, ...]] = {
            key: (axis.low, axis.high) if isinstance(axis, Range) else axis.values for key, axis in self.axes.items()
        }
        first = {key: values[0] for key, values in ends.items()}
        return [first, *({**first, key: value} for key, values in ends.items() for value in values[1:])]

    def __str__(self) -> str:
        """Return the words."""
        return " ".join([*self.fixed, *(f"{key}={axis}" for key, axis in self.axes.items())])


def parse_space(words: Sequence[str]) -> Space:
    """Read the words of a command; UserError if one cannot be read, or if no key has several values."""
    fixed: list[str] = []
    axes: dict[str, Range | ValueList] = {}
    for key, values in axes_of(words).items():
        word = f"{key}={','.join(values)}"
        if len(values) > 1:
            axes[key] = ValueList(tuple(values))
        elif limits := _range(word, values[0]):
            axes[key] = limits
        else:
            fixed.append(word)
    if not axes:
        raise UserError("nothing to search: give a key with several values, such as ntuple.target.decay=0..0.9")
    return Space(tuple(fixed), axes)


def _range(word: str, text: str) -> Range | None:
    """Return the range of a value; None if it is none."""
    if match := _RANGE.fullmatch(text):
        low, high, is_log = _number(match[1]), _number(match[2]), bool(match[3])
        if low >= high:
            raise UserError(f"{word}: the range is empty; give its lower end first")
        if is_log and low <= 0:
            raise UserError(f"{word}: a logarithmic range begins above 0; leave out {LOG}, or raise {match[1]}")
        return Range(low, high, is_log)
    if ".." in text and not re.search(r"[\[{'\"/]", text):
        raise UserError(f"{word}: cannot read the range; give LOW..HIGH, or LOW..HIGH{LOG}, such as 0.001..1{LOG}")
    return None


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?[\d_]+", text) else float(text)
