"""Plain values of configs: lists, former names of keys, and mistakes that can be found only in plain values."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from ntuple.core.plain_values import in_present_form
from ntuple.core.settings import Settings, group, setting


@dataclass(frozen=True)
class Inner(Settings, prefix="inner"):
    size: int = setting(1, "A size.")
    tiles: tuple[int, ...] = setting((8, 16), "Tiles.")


@dataclass(frozen=True)
class Outer(Settings):
    flag: bool = setting(False, "A flag.")
    names: tuple[str, ...] = setting(("a",), "Names.")
    stages: tuple[int | str, ...] = setting((), "Stages.")
    pairs: tuple[tuple[float, float], ...] = setting((), "Pairs of numbers.")
    limits: tuple[tuple[int, int], ...] = setting((), "Pairs of integers.")
    inner: Inner = group(Inner)

    former_keys: ClassVar[dict[str, str]] = {"inner_size": "inner.size", "inner_tiles": "inner.tiles"}


def built(values: dict[str, Any]) -> Outer:
    present = in_present_form(Outer, values)
    return Outer(**{**present, **({"inner": Inner(**present["inner"])} if "inner" in present else {})})


@pytest.mark.parametrize(
    ("values", "present"),
    [
        ({"names": "a b"}, Outer(names=("a", "b"))),
        ({"names": "0123,4567"}, Outer(names=("0123", "4567"))),
        ({"names": ["a", "b"]}, Outer(names=("a", "b"))),
        ({"names": ""}, Outer(names=())),
        ({"stages": "0,16384,16384+8192"}, Outer(stages=(0, 16384, "16384+8192"))),
        ({"stages": [0, 16384, "16384+8192"]}, Outer(stages=(0, 16384, "16384+8192"))),
        ({"stages": "2^3"}, Outer(stages=("2^3",))),
        ({"stages": 512}, Outer(stages=(512,))),
        ({"pairs": "0.5:0.01 0.75:1e-3"}, Outer(pairs=((0.5, 0.01), (0.75, 1e-3)))),
        ({"pairs": [[0.5, 1]]}, Outer(pairs=((0.5, 1.0),))),
        ({"limits": "6:2 10:1"}, Outer(limits=((6, 2), (10, 1)))),
        ({"inner_size": 3}, Outer(inner=Inner(size=3))),
        ({"inner_tiles": "32 64"}, Outer(inner=Inner(tiles=(32, 64)))),
        ({"inner": {"tiles": "32768+8192"}}, Outer(inner=Inner(tiles=(32768, 8192)))),
        ({"inner": {"size": 4}, "inner_tiles": [2]}, Outer(inner=Inner(size=4, tiles=(2,)))),
        ({"inner": {"size": 4}, "inner_size": 4}, Outer(inner=Inner(size=4))),
    ],
)
def test_former_and_present_forms_are_one_config(values, present):
    assert built(values) == present
    hash(built(values))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"flag": 1}, "flag is 1; give true or false"),
        ({"names": [83]}, r"names has the number 83; put names in quotes, such as \['0123'\]"),
        ({"names": 83}, "names has the number 83"),
        ({"inner": {"size": 4}, "inner_size": 5}, "inner_size and inner.size are one key and differ"),
        ({"inner": {"tiles": "8 x"}}, "inner.tiles is '8 x'; give a list of integers"),
        ({"pairs": "0.5"}, "pairs is '0.5'; give a list of pairs of numbers"),
    ],
)
def test_mistakes_in_plain_values_are_named(values, says):
    with pytest.raises(ValueError, match=says):
        in_present_form(Outer, values)


@pytest.mark.parametrize(
    ("kind", "values", "says"),
    [
        (Inner, {"tiles": (8, 2.5)}, "inner.tiles is .*; give a list of integers"),
        (Inner, {"tiles": 8}, "inner.tiles is 8; give a list of integers"),
        (Inner, {"tiles": (True,)}, "give a list of integers"),
        (Outer, {"names": (1,)}, "give a list of names"),
        (Outer, {"stages": (1.5,)}, "give a list of integers or names"),
        (Outer, {"pairs": ((0.5,),)}, "give a list of pairs of numbers"),
        (Outer, {"pairs": ((0.5, math.nan),)}, "give a list of pairs of numbers"),
        (Outer, {"limits": ((1, 2.0),)}, "give a list of pairs of integers"),
    ],
)
def test_elements_are_checked(kind, values, says):
    with pytest.raises(ValueError, match=says):
        kind(**values)
