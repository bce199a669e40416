"""Stages: parts of a game with networks of their own, and how a weight met for the first time is promoted.

A stage begins when the board holds certain large tiles. The tiles of a board as the bits of one number (a 16384 and an
8192: 24576) order these sets: stage k begins where that number reaches threshold k. It covers the 2^g equal stages of
Jaskowski 2017, all schemes of Matsuzaki 2017 (sec. 4.1) and the lists of TDL2048+. Where two equal large tiles lie side
by side the number is that of one, so the stage before a merge may come back for a few moves, as in the papers.

Matsuzaki's TURN schemes count moves. A move adds 2.2 to the sum of all tiles on average, with a spread of 0.6 times the
root of the moves (54 at 8192), so here they are thresholds of that sum: a board alone then tells its stage.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import ONE, ZERO, Board, level_at
from ntuple.game.jit import kernel

SUM_OF_A_MOVE = 2.2
K = 1024
TURNS = {"turn4": 8192, "turn8": 4096}  # moves of a stage
SCHEMES = {
    "top4": (16 * K, 32 * K, 48 * K),
    "top8": (8 * K, 16 * K, 24 * K, 32 * K, 40 * K, 48 * K, 56 * K),
    "max4": (8 * K, 16 * K, 32 * K),
    "max8": (512, K, 2 * K, 4 * K, 8 * K, 16 * K, 32 * K),
    "decr4": (32 * K, 48 * K, 56 * K),
    "decr8": (32 * K, 48 * K, 56 * K, 60 * K, 62 * K, 63 * K, 63 * K + 512),
    "hand8": (16 * K, 24 * K, 28 * K, 32 * K, 48 * K, 56 * K, 60 * K),
}
LARGEST_POWER = 5  # 2^5 equal stages are the most that Jaskowski 2017 tried


class Stages(NamedTuple):
    """When stages begin; made by `make_stages`."""

    thresholds: NDArray[np.uint64]  # [stages - 1] ascending, of the tiles as bits, or of their sum
    counts_all: bool  # of the sum of all tiles, in place of which ones there are


def make_stages(stages: str | Sequence[int | str]) -> Stages:
    """Return the stages of a scheme or of a list of thresholds.

    Args:
        stages: a scheme such as "top4" or "2^3", or ascending thresholds such as (16384, "16384+8192"), which may begin
            with 0; as one text "16384,16384+8192". Empty: one stage.

    Raises:
        ValueError: none of these.
    """
    text = stages if isinstance(stages, str) else ",".join(map(str, stages))
    if text in TURNS:
        count = int(text.removeprefix("turn"))
        sums = [round(SUM_OF_A_MOVE * TURNS[text] * k) for k in range(1, count)]
        return Stages(np.array(sums, np.uint64), True)
    return Stages(np.array(_thresholds(text), np.uint64), False)


def count_stages(stages: str | Sequence[int | str]) -> int:
    """Return the number of stages that `make_stages` makes."""
    return int(make_stages(stages).thresholds.size) + 1


def _thresholds(text: str) -> tuple[int, ...]:
    if text in ("", "0"):
        return ()
    if text in SCHEMES:
        return SCHEMES[text]
    if text.startswith("2^") and text[2:].isdecimal() and 1 <= int(text[2:]) <= LARGEST_POWER:
        count = 2 ** int(text[2:])
        return tuple(64 * K // count * k for k in range(1, count))
    try:
        numbers = [sum(int(tile) for tile in word.split("+")) for word in text.split(",")]
    except ValueError:
        numbers = []
    numbers = numbers[1:] if numbers[:1] == [0] else numbers
    if not numbers or numbers != sorted(set(numbers)) or not all(0 < n < 2**18 and n % 2 == 0 for n in numbers):
        names = ", ".join([*TURNS, *SCHEMES])
        raise ValueError(
            f"stages = {text!r}: give ascending sums of tiles like 16384,16384+8192, or 2^1 to 2^{LARGEST_POWER}, "
            f"or one of: {names}"
        )
    return tuple(numbers)


@kernel
def stage_of(stages: Stages, board: Board) -> np.uint64:
    """The stage, from 0, that a board belongs to."""
    number = ZERO
    for cell in range(16):
        size = (ONE << level_at(board, cell)) & ~ONE  # an empty cell counts nothing
        if stages.counts_all:
            number += size
        else:
            number |= size
    stage = ZERO
    for k in range(stages.thresholds.size):
        stage += np.uint64(number >= stages.thresholds[k])
    return stage
