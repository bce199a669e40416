"""Columns of tables whose rows are results of evaluations."""

from collections.abc import Iterable, Mapping
from typing import Any

from launch.experiment.metrics import TILES
from launch.quantities import short_number
from launch.tables import Column, entry

GAMES = entry("games", form=",")
MEDIAN, MAX = entry("median", "score_median", ",.0f"), entry("max", "score_max", ",")
COMMAND = entry("command", form="`{}`".format)
SCORE = Column(
    "mean score",
    lambda result: result["score_mean"],
    lambda result: f"{result['score_mean']:,.0f} ± {result['score_high'] - result['score_mean']:,.0f}",
)
INTERVAL = Column(
    "95% interval",
    lambda result: (result["score_low"], result["score_high"]),
    lambda result: f"{result['score_low']:,.0f} to {result['score_high']:,.0f}",
)


def speed(name: str) -> Column:
    """Return the column of the moves per second of play."""
    return entry(name, "moves_per_second", short_number)


def rates(tiles: Iterable[int], prefix: str = "") -> list[Column]:
    """Return the columns of the shares of games that reached tiles; `prefix` stands before each tile in the heading."""
    return [_rate(f"{prefix}{tile}", str(tile)) for tile in tiles]


def _rate(name: str, tile: str) -> Column:
    """Return the column of one tile; a paper may give no number."""

    def text(result: Mapping[str, Any]) -> str:
        return f"{result['reach'][tile]:.1%}" if tile in result["reach"] else "-"

    return Column(name, lambda result: result["reach"].get(tile, ""), text)


def reached_tiles(results: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the tiles that a game of the results reached."""
    return sorted({int(tile) for result in results for tile, rate in result["reach"].items() if rate > 0})


def shown_tiles(results: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the tiles that a game of the results reached, and for each game the tile that counts as the win."""
    results = list(results)
    return sorted({*reached_tiles(results), *(min(map(int, result["reach"])) for result in results)})


def all_rates(results: Iterable[Mapping[str, Any]]) -> list[Column]:
    """Return the columns of all tiles that results have, for a CSV file; those of 2048 if there is no result."""
    return rates(sorted({int(tile) for result in results for tile in result["reach"]} or TILES), "reach_")
