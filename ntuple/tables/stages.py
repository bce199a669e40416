"""Stages: parts of a game, each with its own weights, chosen by the large tiles on the board.

The set of tiles on a board is written as the bits of one number, bit k for level k; in 2048 it is the sum of these
tiles (a 16384 and an 8192: 24576). Stage k begins where this number reaches threshold k. This covers the 2^g equal
stages of Jaskowski 2017, all schemes of Matsuzaki 2017 (sec. 4.1) and the lists of TDL2048+. Two equal large tiles set
only one bit. So the board may return to an earlier stage for a few moves, until they merge, as in the papers.

Matsuzaki's TURN schemes count moves. Here they are thresholds of the sum of all tiles, so that the stage follows from
the board alone. A move adds MEAN_SPAWN, 2.2, to this sum on average; after n moves its spread is 0.6 sqrt(n), which is
54 at n = 8192.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import Game
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.rules import MEAN_SPAWN

K = 1024
TURNS = {"turn4": 8192, "turn8": 4096}  # number of moves of each stage
SCHEMES = {
    "top4": (16 * K, 32 * K, 48 * K),
    "top8": (8 * K, 16 * K, 24 * K, 32 * K, 40 * K, 48 * K, 56 * K),
    "max4": (8 * K, 16 * K, 32 * K),
    "max8": (512, K, 2 * K, 4 * K, 8 * K, 16 * K, 32 * K),
    "decr4": (32 * K, 48 * K, 56 * K),
    "decr8": (32 * K, 48 * K, 56 * K, 60 * K, 62 * K, 63 * K, 63 * K + 512),
    "hand8": (16 * K, 24 * K, 28 * K, 32 * K, 48 * K, 56 * K, 60 * K),
}
LARGEST_POWER = 5  # Jaskowski 2017 tried at most 2^5 equal stages


class Stages(NamedTuple):
    """Thresholds at which stages begin; made by `make_stages`."""

    thresholds: NDArray[np.uint64]  # [stages - 1] ascending; stage k begins at thresholds[k - 1]
    counts_all: bool  # thresholds of the sum of all tiles; otherwise of the set of tiles as bits


def make_stages(stages: str | Sequence[int | str], game: Game = GAME_2048) -> Stages:
    """Return the stages of a scheme, which 2048 alone has, or of a list of thresholds.

    Args:
        stages: a scheme such as "top4" or "2^3", or ascending thresholds such as (16384, "16384+8192"). The thresholds
            may begin with 0, and may be given as one text "16384,16384+8192". Empty: one stage.

    Raises:
        ValueError: `stages` has none of these forms.
    """
    text = stages if isinstance(stages, str) else ",".join(map(str, stages))
    if text in TURNS and game.doubles:
        count = int(text.removeprefix("turn"))
        sums = [round(MEAN_SPAWN * TURNS[text] * k) for k in range(1, count)]
        return Stages(np.array(sums, np.uint64), True)
    return Stages(np.array(_thresholds(text, game), np.uint64), False)


def count_stages(stages: str | Sequence[int | str]) -> int:
    """Return the number of stages that `make_stages` makes."""
    return int(make_stages(stages).thresholds.size) + 1


def _thresholds(text: str, game: Game) -> tuple[int, ...]:
    if text in ("", "0"):
        return ()
    words = text.split(",")
    sets = [word.strip().split("+") for word in (words[1:] if words[0].strip() == "0" else words)]
    if not game.doubles:
        return _thresholds_of_tiles(text, sets, game)
    if text in SCHEMES:
        return SCHEMES[text]
    if text.startswith("2^") and text[2:].isdecimal() and 1 <= int(text[2:]) <= LARGEST_POWER:
        count = 2 ** int(text[2:])
        return tuple(64 * K // count * k for k in range(1, count))
    try:
        numbers = [sum(int(tile) for tile in tiles) for tiles in sets]
    except ValueError:
        numbers = []
    if not numbers or numbers != sorted(set(numbers)) or not all(0 < n < 2**18 and n % 2 == 0 for n in numbers):
        names = ", ".join([*TURNS, *SCHEMES])
        raise ValueError(
            f"stages = {text!r}: give ascending sums of tiles like 16384,16384+8192, or 2^1 to 2^{LARGEST_POWER}, "
            f"or one of: {names}"
        )
    return tuple(numbers)


def _thresholds_of_tiles(text: str, sets: list[list[str]], game: Game) -> tuple[int, ...]:
    bits = {str(tile): 1 << level for level, tile in enumerate(game.tiles) if level}
    known = all(tile in bits for tiles in sets for tile in tiles)
    numbers = [sum(bits[tile] for tile in tiles) for tiles in sets] if known else []
    if not numbers or numbers != sorted(set(numbers)):
        one, two = game.goals[:2]
        raise ValueError(
            f"stages = {text!r}: give ascending sets of tiles of {game.name}, such as {one},{two} or {one},{two}+{one}"
        )
    return tuple(numbers)
