"""Checks of settings: every numeric key of every config rejects values outside its range."""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from launch.experiment.experiment import RunConfig
from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.muzero.config import MuZeroConfig
from ntuple import ExpectimaxConfig, NTupleConfig
from ntuple.core.settings import Settings, applies, group, keys_of, setting, without_effect

CONFIGS: dict[str, Any] = {
    "run": functools.partial(RunConfig, "name", "group"),
    "ntuple": NTupleConfig,
    "muzero": functools.partial(MuZeroConfig, 1, 1),
    "deep_td": functools.partial(DeepTDConfig, 1, 1),
    "expectimax": ExpectimaxConfig,
}


def _kind(make: Any) -> Any:
    return make.func if isinstance(make, functools.partial) else make


def _changed(settings: Any, path: list[str], value: Any) -> Any:
    """Return the settings with one key changed, which may be nested."""
    name, *rest = path
    return dataclasses.replace(settings, **{name: _changed(getattr(settings, name), rest, value) if rest else value})


KEYS = [(config, key) for config, make in CONFIGS.items() for key in keys_of(_kind(make))]
WRONG = {"int": (10**22, -(10**22), True), "float": (math.nan, math.inf, -math.inf, -1e300)}
NUMBERS = [(config, key) for config, key in KEYS if key.type in WRONG]


def test_there_are_many_numbers() -> None:
    assert len(NUMBERS) > 120


@pytest.mark.parametrize(("config", "key"), NUMBERS, ids=[f"{config}.{key.name}" for config, key in NUMBERS])
def test_no_number_of_the_range(config: str, key: Any) -> None:
    """Every numeric key rejects NaN, infinity, very large numbers and booleans, in a message of one line."""
    good, path = CONFIGS[config](), key.name.split(".")
    for value in WRONG[key.type]:
        with pytest.raises(ValueError, match=rf"{key.name} is .*; give ") as error:
            _changed(good, path, value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(("config", "key"), KEYS, ids=[f"{config}.{key.name}" for config, key in KEYS])
def test_every_key_says_what_it_is(config: str, key: Any) -> None:
    assert key.meaning.endswith(".")
    applies(key.only_if, CONFIGS[config]())  # raises if the condition names a key that does not exist


@dataclass(frozen=True)
class Part(Settings, prefix="part"):
    kind: Literal["a", "b"] = setting("a", "Which.")
    share: float = setting(0.5, "Share.", above=0, at_most=1, only_if="part.kind=b")
    count: int = setting(3, "Count.", at_least=2, at_most=9)
    flag: bool = setting(True, "Flag.")
    text: str = setting("x", "Text.")


@dataclass(frozen=True)
class Whole(Settings):
    part: Part = group(Part)
    rest: int = setting(0, "Rest.", at_least=0, only_if="part.kind=a|c or part.flag!=True")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"kind": "c"}, "part.kind is 'c'; give one of: a, b"),
        ({"share": 0.0}, "part.share is 0.0; give a number in (0, 1]"),
        ({"share": 1.5}, "part.share is 1.5; give a number in (0, 1]"),
        ({"share": True}, "part.share is True; give a number in (0, 1]"),
        ({"count": 1}, "part.count is 1; give 2 to 9"),
        ({"count": 2.0}, "part.count is 2.0; give 2 to 9"),
        ({"flag": 1}, "part.flag is 1; give true or false"),
        ({"text": 3}, "part.text is 3; give text"),
    ],
)
def test_a_wrong_value_is_one_line(values: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the whole line is compared)
        Part(**values)
    assert str(error.value) == line


def test_the_ends_of_the_range_are_accepted() -> None:
    assert Part(share=1.0, count=2).count == 2
    assert Part(share=1e-300, count=9).count == 9
    assert Part(share=1).share == 1


def test_keys_without_effect() -> None:
    assert without_effect(Whole()) == {}
    assert without_effect(Whole(part=Part(share=0.25)), "x.") == {
        "x.part.share": "x.part.share = 0.25 has no effect: it needs x.part.kind=b"
    }
    assert without_effect(Whole(part=Part("b", share=0.25), rest=1)) == {
        "rest": "rest = 1 has no effect: it needs part.kind=a|c or part.flag!=True"
    }
    assert without_effect(Whole(part=Part("b", flag=False), rest=1)) == {}
