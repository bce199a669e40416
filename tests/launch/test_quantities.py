from launch.quantities import counted, plural


def test_the_form_of_a_word_follows_its_number():
    assert [plural(number, "seed") for number in (0, 1, 2)] == ["seeds", "seed", "seeds"]
    assert [counted(number, "game") for number in (1, 2000)] == ["1 game", "2,000 games"]
