import pytest

from launch.quantities import counted, duration, plural, short_number


def test_the_form_of_a_word_follows_its_number():
    assert [plural(number, "seed") for number in (0, 1, 2)] == ["seeds", "seed", "seeds"]
    assert [counted(number, "game") for number in (1, 2000)] == ["1 game", "2,000 games"]


@pytest.mark.parametrize(("number", "text"), [(999, "999"), (6_261_000.0, "6.26M"), (40_000, "40k"), (1.5e9, "1.5G")])
def test_a_count_has_three_digits(number: float, text: str):
    assert short_number(number) == text


@pytest.mark.parametrize(("hours", "text"), [(0.0125, "45 s"), (0.2, "12 min"), (4.5, "4.5 h")])
def test_a_duration_has_the_unit_that_suits_it(hours: float, text: str):
    assert duration(hours) == text
