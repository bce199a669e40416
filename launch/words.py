"""English for numbers of things."""


def plural(number: int, word: str) -> str:
    """Return the word in the form that a number needs, such as seed or seeds."""
    return word if number == 1 else f"{word}s"


def counted(number: int, word: str) -> str:
    """Return a number of things, such as "1 seed" or "2,000 games"."""
    return f"{number:,} {plural(number, word)}"
