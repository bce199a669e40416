"""The page of a tournament: the table, the scores of each pair, and the faults; one file that works from disk."""

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from launch.tables import Column, fields, html_rows, html_table
from launch.tournament.referee import Match
from launch.tournament.standings import COLUMNS, Standing
from launch.viewing import one_file

STYLE = Path(__file__).parents[1] / "report" / "page" / "page.css"  # that of `compare`
FAULTS = fields("player", "adversary", "opening", "program", "fault")


def text(table: Sequence[Standing], matches: Sequence[Match], board: str) -> str:
    """Return the text of the page."""
    names = [row.name for row in table]
    scores: dict[tuple[str, str], list[int]] = defaultdict(list)
    for match in matches:
        if not match.fault:
            scores[match.player, match.adversary].append(match.score)

    def against(adversary: str) -> Column:
        def cell(player: str) -> str:
            values = scores[player, adversary]
            return f"{np.mean(values):,.0f}" if values else ""

        return Column(f"against {adversary}", cell, cell)

    pairs = [Column("player", str, str), *map(against, names)]
    faults = [
        (match.player, match.adversary, match.opening, match.at_fault, match.fault) for match in matches if match.fault
    ]
    title = f"Tournament on {board}"
    parts = [
        one_file.head(title, [], one_file.read(STYLE)),
        f"<body><h1>{escape(title)}</h1><p>{len(matches):,} games of {len(names)} programs.</p>",
        _table("standings", table, COLUMNS),
        "<h2>Mean points of the player, by the program that places the tiles</h2>",
        _table("pairs", names, pairs),
        "<h2>Faults</h2>" + _table("faults", faults, FAULTS) if faults else "",
        "</body></html>",
    ]
    return "\n".join(parts)


def _table(name: str, rows: Sequence[object], columns: Sequence[Column]) -> str:
    heads = "".join(f'<th scope="col">{escape(column.name)}</th>' for column in columns)
    inside = f"<thead><tr>{heads}</tr></thead><tbody>{html_rows(rows, columns, is_sorted=False)}</tbody>"
    return html_table(name, inside)
