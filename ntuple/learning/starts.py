"""Where the games of training begin: from two tiles, or deeper in the game, where positions are rare.

    normal       two spawns on an empty board
    restart      the middle of the game that just ended, as long as more than L moves lie behind it (Matsuzaki 2017,
                 algorithm 3); the tile that had spawned there is drawn anew
    carousel     an afterstate with which an earlier game entered a stage, each stage in turn (Jaskowski 2017,
                 algorithm 5); the stages may be those of the network or others, so that it serves one stage too
    jump_start   a share of the games from made-up boards with given tiles (named in Guei 2023, sec. 4.2.2)

Players always begin from two tiles.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import ONE, ZERO, Board, Rules, count_cells, empty_cells, kth_cell, spawn
from ntuple.game.episode import (
    AFTER_HI,
    AFTER_LO,
    CAROUSEL,
    FIRST,
    IS_WHOLE,
    MOVES,
    RNG,
    SCORE,
    Row,
    begin_game,
    set_board,
)
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import bounded, mix, step
from ntuple.learning.history import History
from ntuple.tables.stages import Stages, stage_of

NORMAL, RESTART, CAROUSEL_OF_STAGES, JUMP = range(4)
START_KINDS = {"normal": NORMAL, "restart": RESTART, "carousel": CAROUSEL_OF_STAGES, "jump_start": JUMP}
ONE_IN_32_BITS = 2.0**32


class Starts(NamedTuple):
    """How a thread's games begin, and the boards it has seen for that; made by `make_starts`."""

    kind: int
    restart_moves: int  # L
    stages: Stages  # of the carousel
    pools: NDArray[np.uint64]  # [stages, kept, 2] carousel: afterstates that entered the stage
    seen: NDArray[np.int64]  # [stages] how many there have been; the last ones are kept
    jump_share: np.uint64  # of 2^32
    jump_tiles: NDArray[np.uint64]  # log2


def make_starts(
    kind: str, restart_moves: int, stages: Stages, kept: int, jump_fraction: float, jump_tiles: tuple[int, ...]
) -> Starts:
    """A thread's starts, with nothing seen yet; the tiles are log2."""
    count = stages.thresholds.size + 1 if kind == "carousel" else 1
    return Starts(
        START_KINDS[kind],
        restart_moves,
        stages,
        np.zeros((count, kept if kind == "carousel" else 1, 2), np.uint64),
        np.zeros(count, np.int64),
        np.uint64(round(jump_fraction * ONE_IN_32_BITS)),
        np.array(jump_tiles, np.uint64),
    )


@inline
def watch(starts: Starts, before: Board, after: Board) -> None:
    """Keep an afterstate that enters the next stage."""
    if starts.kind == CAROUSEL_OF_STAGES:
        stage = stage_of(starts.stages, after)
        if stage == stage_of(starts.stages, before) + np.uint64(1):
            at = np.uint64(starts.seen[stage] % starts.pools.shape[1])
            starts.pools[stage, at, 0], starts.pools[stage, at, 1] = after.lo, after.hi
            starts.seen[stage] += 1


@kernel
def begin_next(rules: Rules, starts: Starts, history: History | None, game: int, row: Row) -> None:
    """Put the board of the next episode into the row of a game that is over; FIRST is its first move."""
    if history is not None and starts.kind == RESTART:
        middle = (row[FIRST] + row[MOVES]) >> ONE
        if row[MOVES] - middle > np.uint64(starts.restart_moves) and middle > ZERO:
            at = np.int64(middle - ONE) & history.mask
            _begin_from_afterstate(rules, row, Board(history.boards[game, at, 0], history.boards[game, at, 1]), middle)
            return
    if starts.kind == CAROUSEL_OF_STAGES:
        stage = row[CAROUSEL] + ONE
        if stage < np.uint64(starts.seen.size) and starts.seen[stage] > 0:
            kept = min(starts.seen[stage], starts.pools.shape[1])
            row[RNG] = step(row[RNG])
            drawn = bounded(mix(row[RNG]), np.uint64(kept))
            _begin_from_afterstate(
                rules, row, Board(starts.pools[stage, drawn, 0], starts.pools[stage, drawn, 1]), ZERO
            )
            row[CAROUSEL] = stage
            return
    begin_game(rules, row, row[RNG])
    row[CAROUSEL] = ZERO
    if starts.kind == JUMP:
        row[RNG] = step(row[RNG])
        if mix(row[RNG]) >> np.uint64(32) < starts.jump_share:
            _make_up(rules, starts, row)


@inline
def _begin_from_afterstate(rules: Rules, row: Row, after: Board, first: np.uint64) -> None:
    """Begin with a spawn behind an afterstate."""
    row[RNG] = step(row[RNG])
    set_board(row, spawn(rules, after, mix(row[RNG])))
    row[AFTER_LO], row[AFTER_HI] = after.lo, after.hi
    row[SCORE], row[MOVES], row[FIRST], row[IS_WHOLE] = ZERO, first, first, ZERO


@inline
def _make_up(rules: Rules, starts: Starts, row: Row) -> None:
    """Place the first k of the given tiles, k drawn uniformly, on empty cells, and a spawn on one that is left."""
    row[RNG] = step(row[RNG])
    count = bounded(mix(row[RNG]), np.uint64(starts.jump_tiles.size)) + np.uint64(1)
    lo = hi = ZERO
    for k in range(count):
        row[RNG] = step(row[RNG])
        empty = empty_cells(rules, Board(lo, hi))
        cell = kth_cell(empty, bounded(mix(row[RNG]), count_cells(empty)))
        tile = starts.jump_tiles[k]
        lo |= cell * (tile & np.uint64(15))
        hi |= cell * (tile >> np.uint64(4))
    row[RNG] = step(row[RNG])
    set_board(row, spawn(rules, Board(lo, hi), mix(row[RNG])))
    row[IS_WHOLE] = ZERO
