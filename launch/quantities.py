"""Quantities as people read them."""

LINE_SECONDS = 10.0  # between two lines of progress in a log


def plural(number: int, word: str) -> str:
    """Return the word in the form that a number needs, such as seed or seeds."""
    return word if number == 1 else f"{word}s"


def counted(number: int, word: str) -> str:
    """Return a number of things, such as "1 seed" or "2,000 games"."""
    return f"{number:,} {plural(number, word)}"


def short_number(number: int | float) -> str:
    """Format a count or a speed with three digits and k, M or G, such as 6.26M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.0f}"


def duration(hours: float) -> str:
    """Format the time of a training, such as 61 s, 12 min or 4.5 h."""
    seconds = 3600 * hours
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min" if hours < 3 else f"{hours:.1f} h"


def clock(seconds: float) -> str:
    """Format seconds as minutes:seconds, from one hour on as hours:minutes:seconds."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
