"""The grade of a program: what was measured, the points, and what was wrong."""

from typing import Any, NamedTuple

SLOW_SHARE = 0.3  # of the points, that a program loses which is too slow
MOST_FAULTS = 5  # that are printed


Measured = dict[str, float | int | str]  # what was measured, by name, in the order of the report


class Points(NamedTuple):
    """Points, and what they are for."""

    points: float
    reason: str  # the formula with its numbers


class Grade(NamedTuple):
    """The result of grading a program."""

    measured: Measured
    points: tuple[Points, ...]
    faults: tuple[str, ...] = ()  # what was wrong, in words

    @property
    def total(self) -> float:
        """The sum of the points."""
        return sum(part.points for part in self.points)


def less_if_slow(points: tuple[Points, ...], measured: float, least: float, unit: str) -> tuple[Points, ...]:
    """Return the points, less SLOW_SHARE of them if a speed is too low; `unit` stands between it and the least."""
    if measured >= least:
        return points
    lost = -SLOW_SHARE * sum(part.points for part in points)
    return (*points, Points(lost, f"{SLOW_SHARE:.0%} off: {measured:,.1f} {unit} {least:,.0f}"))


def text_of(project: str, program: str, grade: Grade) -> str:
    """Return the report for a terminal."""
    rows = [("project", project), ("program", program)]
    rows += [(name, _number(value)) for name, value in grade.measured.items()]
    rows += [("fault", fault) for fault in grade.faults[:MOST_FAULTS]]
    if len(grade.faults) > MOST_FAULTS:
        rows.append(("fault", f"and {len(grade.faults) - MOST_FAULTS:,} more"))
    rows += [(f"{part.points:+.1f}", part.reason) for part in grade.points]
    rows.append(("points", f"{grade.total:.1f}"))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {''.join(filter(str.isprintable, value))}" for name, value in rows)


def record_of(project: str, program: str, grade: Grade) -> dict[str, Any]:
    """Return the report as JSON."""
    parts = [part._asdict() for part in grade.points]
    measured, faults = dict(grade.measured), list(grade.faults)
    return {"project": project, "program": program, "measured": measured, "faults": faults, "parts": parts} | {
        "points": grade.total
    }


def _number(value: float | int | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 100 else f"{value:,.0f}"
