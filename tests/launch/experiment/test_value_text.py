import pytest

from launch.errors import UserError
from launch.experiment.value_text import has_value, parse_value, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["5x6"], "5x6"),
        ([16384, "16384+8192"], "16384,16384+8192"),
        ([[0.5, 0.01], [1.0, 0.1]], "0.5:0.01,1.0:0.1"),
        ([], "[]"),
        (True, "true"),
        (None, "null"),
        (0.1, "0.1"),
        ("latent", "latent"),
    ],
)
def test_a_value_is_written_as_the_command_line_takes_it(value: object, text: str):
    assert value_text(value) == text


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


@pytest.mark.parametrize("text", ["[1", "${x"])
def test_a_text_that_is_no_value(text: str):
    with pytest.raises(UserError, match="is no value of a config; quote it if it is a text"):
        parse_value(text)
