"""What the entries of a result file may be, so that a damaged file is named before its numbers are used."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from launch.evaluation.summary import SCORE_BINS
from ntuple.core.games.known import GAMES

LARGEST_BITS = 100
LARGEST = 2.0**LARGEST_BITS  # no count and no score is larger; float32, as on the page of `compare`, ends at 2^128
BOARD = re.compile(rf"(({'|'.join(map(re.escape, GAMES))}) )?[1-4]x[1-4]")
WHOLE = (int,)
LONGEST = 40  # digits of a number that is written as a text

Check = Callable[[Any], bool]


def wrong_entries(result: Mapping[str, Any]) -> list[str]:
    """Return the names of the entries with a wrong type or range; those that a result lacks are not wrong."""
    return [key for key, is_right in CHECKS.items() if key in result and not is_right(result[key])]


def _number(least: int | float, most: int | float = LARGEST, kinds: tuple[type, ...] = (int, float)) -> Check:
    """Return the check of a number; NaN fails it, and so do true and false."""
    return lambda value: type(value) in kinds and least <= value <= most


def _counts(most: int | float) -> Check:
    """Return the check of numbers of games by a whole number of at most `most`, written as a text."""
    return lambda value: (
        isinstance(value, dict)
        and bool(value)
        and all(key.isdecimal() and len(key) < LONGEST and int(key) <= most for key in value)
        and all(map(_number(1, kinds=WHOLE), value.values()))
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_board(value: Any) -> bool:
    return isinstance(value, str) and BOARD.fullmatch(value) is not None


def _is_reach(value: Any) -> bool:
    """Return whether a value has the rates of all goals of a game."""
    return isinstance(value, dict) and any(
        all(_number(0, 1)(value.get(str(tile))) for tile in game.goals) for game in GAMES.values()
    )


def _is_search_config(value: Any) -> bool:
    return isinstance(value, dict) and ("z" not in value or _number(-LARGEST)(value["z"]))


CHECKS: dict[str, Check] = {
    **dict.fromkeys(("run", "group", "learner", "search", "machine", "command"), _is_text),
    **dict.fromkeys(("training_seed", "seed", "env_steps", "training_games", "updates"), _number(0, kinds=WHOLE)),
    **dict.fromkeys(("score_mean", "score_low", "score_high", "score_median"), _number(-LARGEST)),
    **dict.fromkeys(("wall_hours", "moves_mean", "seconds"), _number(0)),
    "board": _is_board,
    "judged": lambda value: isinstance(value, dict),
    "games": _number(2, kinds=WHOLE),  # one game has no interval
    "max_tiles": _counts(LARGEST),
    "moves_per_second": _number(1e-9),
    "reach": _is_reach,
    "score_bins": _counts(SCORE_BINS * LARGEST_BITS),
    "score_max": _number(0, kinds=WHOLE),
    "search_config": _is_search_config,
}
