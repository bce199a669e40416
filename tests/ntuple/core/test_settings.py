"""Checks of settings: every numeric key of every config rejects values outside its range."""

import dataclasses
import functools
import math
import types
from typing import Any, Literal

import numpy as np
import pytest

from launch.experiment.experiment import RunConfig
from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.muzero.config import MuZeroConfig
from ntuple import ExpectimaxConfig, NTupleConfig
from ntuple.core.settings import Settings, Share, applies, from_plain, group, keys_of, required, setting, without_effect

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
    settings = CONFIGS[config]()
    if config == "expectimax":
        settings = types.SimpleNamespace(search=settings)  # as the overrides of a search name its keys
    applies(key.only_if, settings)  # raises if the condition names a key that does not exist


class Part(Settings, prefix="part"):
    kind: Literal["a", "b"] = setting("a", "Which.")
    share: float = setting(0.5, "Share.", above=0, at_most=1, only_if="part.kind=b")
    count: int = setting(3, "Count.", at_least=2, at_most=9)
    flag: bool = setting(True, "Flag.")
    text: str = setting("x", "Text.")
    names: tuple[str, ...] = setting((), "Names.")
    stages: tuple[int | str, ...] = setting((), "Stages.")
    pairs: tuple[tuple[Share, float], ...] = setting((), "Pairs.")
    limits: tuple[tuple[int, int], ...] = setting((), "Limits.")

    def __post_init__(self) -> None:
        self.check_ascending("pairs")


class Whole(Settings):
    part: Part = group(Part)
    rest: int = setting(0, "Rest.", at_least=0, only_if="part.kind=a|c or part.flag!=True")
    both: int = setting(0, "Both.", at_least=0, only_if="part.kind=a and part.flag!=True or rest=2")


class Other(Settings):
    part: Part = group(Part, conditions={"count": "part.share!=0.5"})


class Row(Settings):
    name: str = required("Name.")
    best: float | None = None
    numbers: dict[str, list[float]] = dataclasses.field(default_factory=dict)


class Sheet(Settings):
    rows: list[Row]
    part: Part = group(Part)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"kind": "c"}, "part.kind is 'c'; give one of: a, b"),
        ({"share": 0.0}, "part.share is 0.0; give a number in (0, 1]"),
        ({"share": 1.5}, "part.share is 1.5; give a number in (0, 1]"),
        ({"share": True}, "part.share is True; give a number in (0, 1]"),
        ({"count": 1}, "part.count is 1; give 2 to 9"),
        ({"count": 2.0}, "part.count is 2.0; give an integer, 2 to 9"),
        ({"count": "3"}, "part.count is '3'; give an integer, 2 to 9"),
        ({"flag": 1}, "part.flag is 1; give true or false"),
        ({"text": 3}, "part.text is 3; give text in quotes"),
        ({"names": (83,)}, "part.names[0] is 83; give text in quotes"),
        ({"names": None}, "part.names is None; give a list of names"),
        ({"stages": (8, True)}, "part.stages[1] is True; give an integer or a name"),
        ({"pairs": (0.5,)}, "part.pairs[0] is 0.5; give a pair of numbers"),
        ({"pairs": ((0.5, math.nan),)}, "part.pairs[0][1] is nan; give a number"),
        ({"pairs": ((2, 3),)}, "part.pairs[0][0] is 2; give a number in (0, 1)"),
        (
            {"pairs": ((0.5, 1.0), (0.5, 2.0))},
            "part.pairs is ((0.5, 1.0), (0.5, 2.0)); give ascending shares between 0 and 1",
        ),
        ({"limits": ((1, 2.0),)}, "part.limits[0][1] is 2.0; give an integer"),
        ({"nams": ()}, "there is no key 'part.nams'; did you mean 'names'?"),
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


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"names": "0123"}, {"names": ("0123",)}),
        ({"stages": 512}, {"stages": (512,)}),
        ({"pairs": [[0.5, 1]]}, {"pairs": ((0.5, 1.0),)}),
        ({"count": np.int64(4), "share": np.float32(0.5)}, {"count": 4, "share": 0.5}),
    ],
)
def test_one_value_is_a_list_and_lists_are_tuples(given: dict[str, Any], stored: dict[str, Any]) -> None:
    part = Part(**given)
    assert part == Part(**stored)
    assert hash(part) == hash(Part(**stored))
    assert [type(getattr(part, key)) for key in stored] == [type(value) for value in stored.values()]


def test_plain_values_of_all_types() -> None:
    rows = [{"name": 3, "numbers": {"x": [1, 2.5]}}, {"name": "b", "best": None}, {"name": "c", "best": 2}]
    sheet = from_plain(Sheet, {"rows": rows, "part": {"share": 1, "names": "a", "pairs": [[0.5, 1]]}})
    assert sheet.rows == [Row(name="3", numbers={"x": [1.0, 2.5]}), Row(name="b"), Row(name="c", best=2.0)]
    assert sheet.part == Part(share=1.0, names=("a",), pairs=((0.5, 1.0),))
    part = from_plain(Part, {"count": 3e0})
    assert (part.count, type(part.count)) == (3, int)
    assert type(sheet.part.share) is float
    with pytest.raises(dataclasses.FrozenInstanceError):
        sheet.part.share = 0.5


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({}, "sheet.rows is missing and has no default; set it"),
        (3, "sheet is 3; give a mapping with the keys rows, part"),
        ({"rows": 3}, "sheet.rows is 3; give a list"),
        ({"rows": [3]}, "sheet.rows[0] is 3; give a mapping with the keys name, best, numbers"),
        ({"rows": [{}]}, "sheet.rows[0].name is missing and has no default; set it"),
        ({"rows": [{"nam": "a"}]}, "there is no key 'sheet.rows[0].nam'; did you mean 'name'?"),
        ({"rows": [], "count": 3}, "there is no key 'sheet.count'; did you mean 'part.count'?"),
        ({"rows": [{"name": "a", "best": "b"}]}, "sheet.rows[0].best is 'b'; give a number"),
        ({"rows": [{"name": "a", "numbers": {"x": 3}}]}, "sheet.rows[0].numbers.x is 3; give a list"),
        ({"rows": [{"name": "a", "numbers": {"x": ["y"]}}]}, "sheet.rows[0].numbers.x[0] is 'y'; give a number"),
        ({"rows": [{"name": "a", "best": math.inf}]}, "sheet.rows[0].best is inf; give a number"),
        ({"rows": [], "part": {"share": True}}, "sheet.part.share is True; give a number in (0, 1]"),
        ({"rows": [], "part": {"flag": "true"}}, "sheet.part.flag is 'true'; give true or false"),
        ({"rows": [], "part": {"pairs": [[0.5]]}}, "sheet.part.pairs[0][1] is missing and has no default; set it"),
        (
            {"rows": [], "part": {"text": "x" * 100, "kind": "y" * 100}},
            f"sheet.part.kind is '{'y' * 56}...; give one of: a, b",
        ),
    ],
)
def test_a_mistake_in_plain_values_is_one_line_with_its_place(values: Any, line: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the whole line is compared)
        from_plain(Sheet, values, "sheet")
    assert str(error.value) == line


def test_keys_without_effect() -> None:
    assert without_effect(Whole()) == {}
    assert without_effect(Whole(part=Part(share=0.25)), "x.") == {
        "x.part.share": "x.part.share = 0.25 has no effect: it needs x.part.kind=b"
    }
    assert without_effect(Whole(part=Part("b", share=0.25), rest=1)) == {
        "rest": "rest = 1 has no effect: it needs part.kind=a|c or part.flag!=True"
    }
    assert without_effect(Whole(part=Part("b", flag=False), rest=1)) == {}
    assert without_effect(Whole(part=Part("b", flag=False), both=1), "x.") == {
        "x.both": "x.both = 1 has no effect: it needs x.part.kind=a and x.part.flag!=True or x.rest=2"
    }
    assert without_effect(Whole(part=Part("b", flag=False), rest=2, both=1)) == {}
    assert without_effect(Whole(part=Part(flag=False), both=1)) == {}


def test_a_key_without_effect_gives_no_other_key_one() -> None:
    """The condition of `count` is that of the group `Other.part`."""
    assert without_effect(Other(Part("b", share=0.25, count=4))) == {}
    assert without_effect(Other(Part("a", share=0.25, count=4))) == {
        "part.share": "part.share = 0.25 has no effect: it needs part.kind=b",
        "part.count": "part.count = 4 has no effect: it needs part.share!=0.5",
    }
    assert without_effect(Whole(Part("a", count=4))) == {}
