"""Plain values become dataclasses only if all their keys and types are right."""

from dataclasses import dataclass, field

import pytest

from launch.experiment.typed_values import load_plain, typed


@dataclass(frozen=True)
class Inner:
    """A part of `Outer`."""

    words: tuple[str, ...] = ()
    count: int | None = None


@dataclass(frozen=True)
class Outer:
    """All types that a field may have."""

    name: str
    share: float = 0.5
    flag: bool = False
    numbers: dict[str, list[float]] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)
    inners: list[Inner] = field(default_factory=list)


def test_all_types() -> None:
    text = "{name: a, share: 2, flag: true, numbers: {x: [1, 2.5]}, inner: {words: [b]}, inners: [{count: 3}, {}]}"
    found = typed(Outer, load_plain(text))
    assert found == Outer("a", 2.0, True, {"x": [1.0, 2.5]}, Inner(("b",)), [Inner(count=3), Inner()])
    assert [type(one) for one in (found.share, *found.numbers["x"], found.inner.words)] == [float, float, float, tuple]
    assert typed(Outer, {"name": "a", "inner": {"count": None}}) == Outer("a")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{}", "name is missing; set it"),
        ("3", "3 stands here; give a mapping with the keys of Outer"),
        ("{name: 3}", "name: 3 stands here; give text"),
        ("{name: a, nome: b}", "there is no key 'nome'; its keys are name, share, flag, numbers, inner, inners"),
        ("{name: a, share: .nan}", "share: nan stands here; give a finite number"),
        (f"{{name: a, share: 1{'0' * 400}}}", "give a finite number"),
        ("{name: a, share: true}", "share: True stands here; give a finite number"),
        ("{name: a, flag: 1}", "flag: 1 stands here; give true or false"),
        ("{name: a, numbers: {x: 3}}", "numbers.x: 3 stands here; give a list"),
        ("{name: a, numbers: {8192: [3]}}", "numbers: {8192: [3]} stands here; give a mapping"),
        ("{name: a, inner: {count: 1.5}}", "inner.count: 1.5 stands here; give a whole number"),
        ("{name: a, inners: [{}, {words: [a, 1]}]}", "inners[1].words[1]: 1 stands here; give text"),
        ("name: a\ninner: {count: 1, count: 2}", "line 2: the key 'count' stands twice in one mapping"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, line: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as error:
        typed(Outer, load_plain(text))
    assert line in str(error.value)
    assert "\n" not in str(error.value)
