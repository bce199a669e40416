"""Results that papers state: papers.yaml, a list of rows with these keys.

| key | value |
|---|---|
| paper, table | short citation, and the table of the paper |
| player, search | in words |
| board | "HxW" |
| score_mean | mean score, points |
| games | number of games; null if the paper does not give it |
| reach | {tile: fraction of the games that reached it}, as far as the paper gives it |
| budget | training, in words |
| score_margin | optional: half of the 95% interval, as the paper gives it |
| moves_per_second | optional |

Other keys are allowed.
"""

from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from launch.errors import UserError
from launch.evaluation.notation import parse_board
from launch.run.metrics import TILES

PAPERS = Path(__file__).with_suffix(".yaml")
WORDS = ("paper", "table", "player", "search", "board", "budget")
NUMBER = (int, float)


class PaperResult(NamedTuple):
    """One row of papers.yaml."""

    paper: str
    table: str
    player: str
    search: str
    board: str
    budget: str
    score_mean: float
    score_margin: int | float | None
    games: int | None
    reach: dict[int, int | float]
    moves_per_second: int | float | None


def read_papers(file: Path = PAPERS) -> list[PaperResult]:
    """Read the results of papers.

    Args:
        file: a file like papers.yaml.

    Returns:
        The rows, in the order of the file.

    Raises:
        UserError: the file cannot be read, or a row lacks a key or has a wrong value.
    """
    try:
        rows = OmegaConf.to_container(OmegaConf.create(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        raise UserError(f"cannot read {file}: {' '.join(str(error).split())}") from error
    if not isinstance(rows, list):
        raise UserError(f"{file} is not a list of results; launch/comparison/papers.py describes its keys")
    return [_checked(row, f"{file}, row {number}") for number, row in enumerate(rows, start=1)]


def _checked(row: Any, place: str) -> PaperResult:
    """Return a row; UserError names the first key that is missing or wrong."""
    if not isinstance(row, dict):
        raise UserError(f"{place}: not a mapping; launch/comparison/papers.py describes its keys")
    for key in (*WORDS, "score_mean", "games", "reach"):
        if key not in row:
            raise UserError(f"{place}: {key} is missing; launch/comparison/papers.py describes it")
    for key in WORDS:
        _check(isinstance(row[key], str), key, row, "a text", place)
    try:
        parse_board(row["board"])
    except UserError as error:
        raise UserError(f"{place}: {error}") from error
    _check(_is_positive(row["score_mean"]), "score_mean", row, "a positive number", place)
    _check(row["games"] is None or (type(row["games"]) is int and row["games"] > 0), "games", row, "a number", place)
    for key in ("score_margin", "moves_per_second"):
        _check(row.get(key) is None or _is_positive(row[key]), key, row, "a positive number", place)
    reach = row["reach"]
    is_rates = isinstance(reach, dict) and all(
        tile in TILES and type(rate) in NUMBER and 0 <= rate <= 1 for tile, rate in reach.items()
    )
    _check(is_rates, "reach", row, "{tile: fraction}, for tiles from 2048 to 131072", place)
    return PaperResult(
        paper=row["paper"],
        table=row["table"],
        player=row["player"],
        search=row["search"],
        board=row["board"],
        budget=row["budget"],
        score_mean=float(row["score_mean"]),
        score_margin=row.get("score_margin"),
        games=row["games"],
        reach=reach,
        moves_per_second=row.get("moves_per_second"),
    )


def _is_positive(value: Any) -> bool:
    return type(value) in NUMBER and 0 < value < float("inf")


def _check(is_right: bool, key: str, row: dict[Any, Any], wanted: str, place: str) -> None:
    if not is_right:
        raise UserError(f"{place}: {key} is {row[key]!r}; give {wanted}")
