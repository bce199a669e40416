import pytest

from launch.errors import UserError
from launch.experiment.plain_values import dump_plain, has_value, load_plain, parse_value, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["5x6"], "5x6"),
        ([16384, "16384+8192"], "[16384,16384+8192]"),
        ([[0.5, 0.01], [1.0, 0.1]], "[[0.5,0.01],[1.0,0.1]]"),
        ([[0.5, 0.01]], "[[0.5,0.01]]"),
        ([], "[]"),
        (True, "true"),
        (None, "null"),
        (0.1, "0.1"),
        ("latent", "latent"),
    ],
)
def test_a_value_is_written_as_the_command_line_takes_it(value: object, text: str):
    assert value_text(value) == text
    assert has_value(value, parse_value(text))


@pytest.mark.parametrize(
    ("value", "text", "holds"),
    [
        (["4x6"], "4x6", True),
        (["4x6", "5x6"], "4x6", False),
        (["4x6", "5x6"], "[4x6,5x6]", True),
        (0.1, "1e-1", True),
        (1, "1.0", True),
        ([512], "5.12e2", True),
        (None, "null", True),
        (0, "null", False),
        (True, "true", True),
        (True, "1", False),
        (1, "true", False),
        ("3", "'3'", True),
    ],
)
def test_a_text_is_read_as_an_override(value: object, text: str, holds: bool):
    assert has_value(value, parse_value(text)) is holds


@pytest.mark.parametrize("text", ["[1", "a: b: c", "{a: 1, a: 2}"])
def test_a_text_that_is_no_value(text: str):
    with pytest.raises(UserError, match="is no value of a config; quote it if it is a text"):
        parse_value(text)


@pytest.mark.parametrize(
    "text", ["2026-11-25", "1e3", "012348", "0123", "yes", "null", "1_0", "a: b", "", "é", "=", "~"]
)
def test_texts_are_read_as_they_were_written(text: str):
    assert load_plain(dump_plain({"a": [text]})) == {"a": [text]}


@pytest.mark.parametrize(
    ("text", "value"), [("1e3", 1000.0), ("-.5E-1", -0.05), ("2_0", 20), ("2026-11-25", "2026-11-25")]
)
def test_numbers_of_yaml(text: str, value: object):
    assert load_plain(text) == value
