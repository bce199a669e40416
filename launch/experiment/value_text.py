"""Values of configs as text, and whether a text stands for a value. Both as the words KEY=VALUE of the command line."""

from typing import Any

from launch.errors import UserError
from launch.experiment.experiment import MISTAKES, plain_overrides


def value_text(value: Any) -> str:
    """Return a value of a config as a word of the command line: 5x6, 0.1, true, null; a list as a,b; pairs as a:b."""
    if isinstance(value, list) and value:
        return ",".join(":".join(map(value_text, one)) if isinstance(one, list) else value_text(one) for one in value)
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_value(text: str) -> Any:
    """Return the value of a word VALUE, read as the overrides KEY=VALUE are: 1e-1 is a number, null is None.

    Raises:
        UserError: the text is no value.
    """
    try:
        return plain_overrides([f"value={text}"])["value"]
    except MISTAKES as error:
        raise UserError(f"{text!r} is no value of a config; quote it if it is a text") from error


def has_value(value: Any, wanted: Any) -> bool:
    """Return whether a value of a config is the wanted one. A list of one element is also that element.

    Numbers are compared as numbers, so 1 is 1.0; true and false are no numbers.
    """
    if isinstance(value, list) and not isinstance(wanted, list):
        return len(value) == 1 and has_value(value[0], wanted)
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)
