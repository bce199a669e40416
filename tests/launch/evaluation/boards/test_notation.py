"""Positions as text, and the place of each mistake in such a text."""

import numpy as np
import pytest

from launch.errors import UserError
from launch.evaluation.boards.notation import format_position, parse_position

SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3), (4, 4)]


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("2 4 0 / 0 8 2", [[1, 2, 0], [0, 3, 1]]),
        ("2 4 . / . 8 2", [[1, 2, 0], [0, 3, 1]]),
        ("  2   4 0/0 8 2  ", [[1, 2, 0], [0, 3, 1]]),
        ("0x130021", [[1, 2, 0], [0, 3, 1]]),  # the last digit is the top left cell
        ("0x21", [[1, 2, 0], [0, 0, 0]]),
        (" 0XF00000 ", [[0, 0, 0], [0, 0, 15]]),
        ("131072 65536 0 / 0 0 32768", [[17, 16, 0], [0, 0, 15]]),
    ],
)
def test_what_is_read(text: str, levels: list[list[int]]) -> None:
    found = parse_position(text, 2, 3)
    assert found.dtype == np.int8
    assert found.tolist() == levels


@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back(shape: tuple[int, int], rng: np.random.Generator) -> None:
    for levels in rng.integers(0, 18, (100, *shape)):
        assert parse_position(format_position(levels), *shape).tolist() == levels.tolist()
        small = np.minimum(levels, 15)
        word = sum(int(level) << 4 * i for i, level in enumerate(small.ravel()))
        assert parse_position(hex(word), *shape).tolist() == small.tolist()


def test_what_is_written() -> None:
    assert format_position(np.array([[1, 2, 0], [0, 17, 1]], np.int8)) == "2 4 0 / 0 131072 2"


TILE = "give a power of 2 from 2 to 131072, or 0 or . for an empty cell"
DIGITS = "a 2x3 board has 6 cells, give one digit each, without those of leading zeros"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("2 4 0 / 0 6 2", f"row 2, column 2 is '6'; {TILE}"),
        ("2 4 x / 0 6", f"row 1, column 3 is 'x'; {TILE}"),
        ("2 4 0 / 0 8 1", f"row 2, column 3 is '1'; {TILE}"),
        ("2 4 0 / 0 8 262144", f"row 2, column 3 is '262144'; {TILE}"),
        ("2 4 0 / 0 8 -2", f"row 2, column 3 is '-2'; {TILE}"),
        ("2,4,0 / 0,8,2", f"row 1, column 1 is '2,4,0'; {TILE}"),
        ("2 4 0 / 0 8", "row 2 has 2 cells; give 3, with blanks between them"),
        ("2 4 0 0 / 0 8 2", "row 1 has 4 cells; give 3, with blanks between them"),
        ("2 / 0 8 2", "row 1 has 1 cell; give 3, with blanks between them"),
        ("2 4 0", "1 row; give 2, with / between them"),
        ("2 4 0 / 0 8 2 / 2 2 2", "3 rows; give 2, with / between them"),
        ("2 4 0 / 0 8 2 /", "3 rows; give 2, with / between them"),
        ("", "row 1 has 0 cells; give 3, with blanks between them"),
        ("0x13g021", "character 5 is 'g'; give hex digits after 0x"),
        ("0x13 021", "character 5 is ' '; give hex digits after 0x"),
        ("0x-1", "character 3 is '-'; give hex digits after 0x"),
        ("0x1300211", f"7 hex digits; {DIGITS}"),
        ("0x", f"0 hex digits; {DIGITS}"),
    ],
)
def test_each_mistake_has_a_place(text: str, place: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_position(text, 2, 3)
    assert str(caught.value) == f"cannot read the position '{text}': {place}"


def test_a_mistake_is_one_line() -> None:
    with pytest.raises(UserError) as caught:
        parse_position("2 4\n/ 0", 2, 2)
    assert "\n" not in str(caught.value)
