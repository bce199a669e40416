"""Words of `muzero2048 tune`, and the values that trials get of them."""

from pathlib import Path

import pytest

from launch.errors import UserError
from launch.tune.space import Range, ValueList, parse_space


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("1..8", Range(1, 8, False)),
        ("1_000..2_000:log", Range(1000, 2000, True)),
        ("0..0.9", Range(0, 0.9, False)),
        ("1e-4..1e-2:log", Range(1e-4, 1e-2, True)),
        ("-1.5..-.5", Range(-1.5, -0.5, False)),
        ("td,n_step", ValueList(("td", "n_step"))),
        ("'[1,2]',3", ValueList(("'[1,2]'", "3"))),
    ],
)
def test_values_of_a_key(text: str, axis: Range | ValueList):
    space = parse_space(["run.seed=3", f"a.key={text}"])
    assert space.fixed == ("run.seed=3",)
    assert space.axes == {"a.key": axis}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["a=1"], "nothing to search: give a key with several values"),
        (["a=2..1"], "a=2..1: the range is empty; give its lower end first"),
        (["a=0..1:log"], "a=0..1:log: a logarithmic range begins above 0; leave out :log, or raise 0"),
        (["a=1..x"], "a=1..x: cannot read the range; give LOW..HIGH"),
        (["a=1__0..20"], "a=1__0..20: cannot read the range; give LOW..HIGH"),
        (["a=1..2", "a=3"], "a is set twice: give all its values in one word"),
        (["a=1,,2"], "a=1,,2 has an empty value between its commas"),
        (["a"], "cannot read the override 'a'"),
    ],
)
def test_what_is_refused(words: list[str], line: str):
    with pytest.raises(UserError) as error:
        parse_space(words)
    assert str(error.value).startswith(line)


def test_overrides_of_a_trial():
    space = parse_space(["x=a,b", "y=0.1..0.123456789:log", "n=1..8", "z=1"])
    assert space.words({"x": "b", "y": 0.1111111111, "n": 4}) == ("z=1", "x=b", "y=0.1111", "n=4")
    assert space.words({"x": "b", "y": 0.12345678899, "n": 8})[2] == "y=0.123456789"  # 0.1235 is above the range
    assert str(space) == "z=1 x=a,b y=0.1..0.123456789:log n=1..8"


def test_a_range_of_a_real_key_has_real_numbers():
    space = parse_space(["run.save_minutes=1..8", "run.seed=1..8", "toy.none=1..8"])
    typed = space.typed({"run": {"save_minutes": 2.0, "seed": 0}, "toy": {}})
    assert [axis.is_integer for axis in typed.axes.values()] == [False, True, True]
    assert str(typed) == str(space)


def test_corners_have_every_end_and_every_choice():
    corners = parse_space(["x=a,b,c", "n=1..8"]).corners()
    assert {corner["x"] for corner in corners} == {"a", "b", "c"}
    assert {corner["n"] for corner in corners} == {1, 8}
    assert len(corners) == 4


def test_a_path_is_no_range():
    with pytest.raises(UserError, match="nothing to search"):
        parse_space([f"ntuple.start={Path('..')}/file"])
