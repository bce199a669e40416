"""Starts of training games: with two tiles, or later in a game, where positions are rare.

    normal       two spawns on an empty board
    restart      the middle of the game that just ended, if more than L moves follow it (Matsuzaki 2017, algorithm 3).
                 Restarted games are restarted from their own middle. The paper continues from the state; here the
                 tile is spawned again on the afterstate.
    carousel     an afterstate with which an earlier game entered a stage; the stages take turns (Jaskowski 2017,
                 algorithm 5). The stages may differ from those of the network, so a network of one stage can use it.
    blocks       2048 alone, the carousel of TDL2048+: an episode that ended in a block of large tiles is followed by
                 one in the next block, on a board made from the last afterstate that entered a block
                 (ntuple.td.block_carousel). Unlike there, the afterstate on which an episode begins does not learn.
    boundary     an afterstate with which an earlier game entered the first stage that is trained: the later stages
                 learn alone (Guei 2023, sec. 3.4.2). Games begin with two tiles until `boundary.size` afterstates are
                 known; frozen stages play these games and learn nothing.
    positions    an afterstate of a file, each one as often. So states that the games of the learner do not reach can be
                 learned from: those of a player with search. The file is the work of `muzero2048 positions`. With
                 `positions.until` these games end when a board holds that tile.
    jump_start   a share of the games begins on made-up boards with given tiles (named in Guei 2023, sec. 4.2.2)

Players always begin with two tiles.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import AnyRules, free_afterstate, largest_level, make_game_rules
from ntuple.game.bitboard import ONE, ZERO, Board, count_cells, empty_cells, kth_cell, max_cell, words_of_cells
from ntuple.game.episode import (
    BLOCK_HI,
    BLOCK_LO,
    CAROUSEL,
    FIRST,
    IS_WHOLE,
    MOVES,
    RNG,
    SCORE,
    Row,
    begin_game,
    board_of,
    last_afterstate,
    place_tile,
)
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import bounded, mix, step
from ntuple.learning.config import NTupleConfig
from ntuple.tables.entries import stage_of
from ntuple.tables.stages import Stages, make_stages
from ntuple.td.block_carousel import next_block
from ntuple.td.history import History

NORMAL, RESTART, CAROUSEL_OF_STAGES, JUMP, BLOCKS, BOUNDARY, POSITIONS = range(7)
START_KINDS = {
    "normal": NORMAL,
    "restart": RESTART,
    "carousel": CAROUSEL_OF_STAGES,
    "jump_start": JUMP,
    "blocks": BLOCKS,
    "boundary": BOUNDARY,
    "positions": POSITIONS,
}
ONE_IN_32_BITS = 2.0**32


class Starts(NamedTuple):
    """How the games of a thread begin, and the boards that it keeps for this; made by `make_starts`."""

    kind: int
    restart_moves: int  # L
    stages: Stages  # of `carousel` and `boundary`
    pools: NDArray[np.uint64]  # [stages, kept, 2] the last afterstates that entered each stage, or of a file
    seen: NDArray[np.int64]  # [stages] number of such afterstates so far, those no longer kept included
    boundary: int  # the first stage that is trained, in which the games of `boundary` begin
    block: int  # log2 of the block tile
    block_limit: int  # sum of tiles below which blocks are
    until: int  # the level with which games of `positions` end; 0: they go on
    jump_share: np.uint64  # probability of a made-up board, times 2^32
    jump_tiles: NDArray[np.uint64]  # levels


def make_starts(config: NTupleConfig) -> Starts:
    """Make the starts of a thread, with no boards kept so far but those of a file.

    Raises:
        ValueError: see `read_positions`.
    """
    start, game = config.start, config.rules_of_game
    stages = make_stages(start.carousel.stages or config.stages, game)
    sizes = {"carousel": start.carousel.size, "boundary": start.boundary.size}
    count = stages.thresholds.size + 1 if start.kind in sizes else 1
    pools, seen = np.zeros((count, sizes.get(start.kind, 1), 2), np.uint64), np.zeros(count, np.int64)
    if start.kind == "positions":
        pools = read_positions(Path(start.positions.file), config)[None]
        seen[0] = pools.shape[1]
    jump_tiles = start.jump_start.tiles if start.kind == "jump_start" else ()
    return Starts(
        kind=START_KINDS[start.kind],
        restart_moves=start.restart.moves,
        stages=stages,
        pools=pools,
        seen=seen,
        boundary=config.frozen_stages,
        block=start.blocks.level,
        block_limit=start.blocks.limit,
        until=game.tiles.index(start.until) if start.until else 0,
        jump_share=np.uint64(round(start.jump_start.fraction * ONE_IN_32_BITS)),
        jump_tiles=np.array([game.tiles.index(tile) for tile in jump_tiles], np.uint64),
    )


def read_positions(path: Path, config: NTupleConfig) -> NDArray[np.uint64]:
    """Return the words [N, 2] of the afterstates of a file, an array uint8 [N, H, W] of levels in the format of numpy.

    Raises:
        ValueError: the file cannot be read, or is no such array of this board.
    """
    try:
        cells = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"cannot read the positions of {path}: {error}; make them by `muzero2048 positions`") from None
    sides, rules = (config.rows, config.columns), make_game_rules(config.game, config.rows, config.columns)
    if not isinstance(cells, np.ndarray) or cells.dtype != np.uint8 or cells.shape[1:] != sides or not len(cells):
        wanted = f"an array uint8 [N, {sides[0]}, {sides[1]}]"
        raise ValueError(f"{path} is not {wanted}; give a file of `muzero2048 positions` of this board")
    until = config.start.positions.until
    if until and cells.max() >= config.rules_of_game.tiles.index(until):
        raise ValueError(f"{path} has boards with start.positions.until={until} or more; leave them out of the file")
    if cells.max() > largest_level(rules) or (cells > 0).all(axis=(1, 2)).any():
        raise ValueError(f"{path} has a board without an empty cell, or a tile that is too large; make it anew")
    return words_of_cells(rules, cells)


@inline
def watch(starts: Starts, row: Row, after: Board, reward: np.float32) -> None:
    """Keep the afterstate of a move from which later episodes may begin.

    `carousel` and `boundary` keep it if it enters the next stage, `blocks` if the move earns a block tile or more.
    """
    if starts.kind == BLOCKS:
        if reward >= 1 << starts.block:
            row[BLOCK_LO], row[BLOCK_HI] = after.lo, after.hi
    elif starts.kind == CAROUSEL_OF_STAGES or (starts.kind == BOUNDARY and row[IS_WHOLE] == ONE):
        stage = stage_of(starts.stages, after)
        if stage == stage_of(starts.stages, last_afterstate(row)) + np.uint64(1):
            at = np.uint64(starts.seen[stage] % starts.pools.shape[1])
            starts.pools[stage, at, 0], starts.pools[stage, at, 1] = after.lo, after.hi
            starts.seen[stage] += 1


@inline
def ends_at(starts: Starts, row: Row) -> bool:
    """Return whether a game ends because its board holds the tile of `positions.until`."""
    return bool(starts.until > 0 and max_cell(board_of(row)) >= starts.until)


@kernel
def begin_next(rules: AnyRules, starts: Starts, history: History | None, game: int, row: Row) -> None:
    """Begin the next episode of a game that is over.

    Args:
        history: moves of the games; `restart` needs whole games.
        row: the game, overwritten. Column FIRST is the number of the first move of the episode.
    """
    if history is not None and starts.kind == RESTART:
        middle = (row[FIRST] + row[MOVES]) >> ONE
        if row[MOVES] - middle > np.uint64(starts.restart_moves) and middle > ZERO:
            at = np.int64(middle - ONE) & history.mask
            _begin_from_afterstate(rules, row, Board(history.boards[game, at, 0], history.boards[game, at, 1]), middle)
            return
    if starts.kind == CAROUSEL_OF_STAGES:
        stage = row[CAROUSEL] + ONE
        if stage < np.uint64(starts.seen.size) and starts.seen[stage] > 0:
            _begin_from_pool(rules, starts, row, stage)
            return
    if starts.kind == BOUNDARY and starts.seen[starts.boundary] >= starts.pools.shape[1]:
        _begin_from_pool(rules, starts, row, np.uint64(starts.boundary))
        return
    if starts.kind == POSITIONS:
        _begin_from_pool(rules, starts, row, ZERO)
        return
    if starts.kind == BLOCKS:
        after, is_below = next_block(rules, starts.block, starts.block_limit, Board(row[BLOCK_LO], row[BLOCK_HI]))
        if is_below:
            row[BLOCK_LO], row[BLOCK_HI] = after.lo, after.hi
            _begin_from_afterstate(rules, row, after, ZERO)
            return
    begin_game(rules, row, row[RNG])
    row[CAROUSEL] = row[BLOCK_LO] = row[BLOCK_HI] = ZERO
    if starts.kind == JUMP:
        row[RNG] = step(row[RNG])
        if mix(row[RNG]) >> np.uint64(32) < starts.jump_share:
            _make_up(rules, starts, row)


@inline
def _begin_from_pool(rules: AnyRules, starts: Starts, row: Row, stage: np.uint64) -> None:
    """Begin an episode with a spawn on a random one of the afterstates that entered a stage."""
    kept = min(starts.seen[stage], starts.pools.shape[1])
    row[RNG] = step(row[RNG])
    drawn = bounded(mix(row[RNG]), np.uint64(kept))
    _begin_from_afterstate(rules, row, Board(starts.pools[stage, drawn, 0], starts.pools[stage, drawn, 1]), ZERO)
    row[CAROUSEL] = stage


@inline
def _begin_from_afterstate(rules: AnyRules, row: Row, after: Board, first: np.uint64) -> None:
    """Begin an episode with a spawn on an afterstate; `first` is the number of its first move."""
    place_tile(rules, row, after)
    row[SCORE], row[MOVES], row[FIRST], row[IS_WHOLE] = ZERO, first, first, ZERO


@inline
def _make_up(rules: AnyRules, starts: Starts, row: Row) -> None:
    """Place the first k of the given tiles on random empty cells, k drawn uniformly, and spawn a tile."""
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
    place_tile(rules, row, free_afterstate(rules, board_of(row), Board(lo, hi)))
    row[IS_WHOLE] = ZERO
