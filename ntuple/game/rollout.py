"""Rollouts: whole games of any player that chooses moves for a batch of boards, with a record of each move.

Codes of spawns are those of ntuple.game.episode.spawn_code.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import AnyRules, afterstate, spawn, tile_of
from ntuple.game.bitboard import U4, U15, Board, decode, word_shifts
from ntuple.game.clock import seconds
from ntuple.game.episode import (
    BOARD_HI,
    BOARD_LO,
    COLUMNS,
    RNG,
    SCORE,
    Row,
    before_opening,
    begin_game,
    board_of,
    go_on,
    open_for_tile,
    place_spawn,
    spawn_code,
)
from ntuple.game.family import FamilyRules
from ntuple.game.family_events import begin_opening, draws_of
from ntuple.game.jit import kernel
from ntuple.game.rng import mix, step, stream

ACTION, SPAWN, REWARD, MILLISECONDS = range(4)  # columns of a trace
TRACE_COLUMNS = 4
LANES = 256  # games in parallel: enough that the cost of a call of the player is small for each game

Trace = NDArray[np.float64]  # [T, TRACE_COLUMNS] a row for each move


class PlayedGame(NamedTuple):
    """A finished game."""

    number: int  # i of the random stream (seed, i)
    score: int
    max_tile: int
    opening: tuple[int, ...]  # codes of the first tiles, in 2048 two spawns
    actions: NDArray[np.int8]  # [T]
    spawns: NDArray[np.int16]  # [T] code of the spawn after each move
    rewards: NDArray[np.int64]  # [T] points
    milliseconds: NDArray[np.float64]  # [T] time of the player for each move


# What `make_moves` does, with its arguments.
Make = Callable[[AnyRules, NDArray[np.uint64], NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]], None]
# (boards uint8[B, H, W], seeds uint32[B], draws uint16[B]) -> actions int8[B], -1 if no move is legal
Choose = Callable[[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint16]], NDArray[np.int8]]


@kernel
def _opening_codes(rules: FamilyRules, rng: np.uint64, codes: NDArray[np.int16]) -> None:
    """Fill in the codes of the first tiles in the order in which `opening` places them."""
    board, rng = begin_opening(rules, rng)
    for i in range(codes.size):
        rng = step(rng)
        before = open_for_tile(rules, board)
        board, _ = spawn(rules, before, mix(rng))
        codes[i] = spawn_code(rules, before, board)


def open_game(rules: AnyRules, seed: int, number: int, row: Row) -> tuple[int, ...]:
    """Begin a game; return the codes of its first tiles: in 2048 in the order of cells, else as they were placed."""
    rng = np.uint64(stream(np.uint64(seed), np.uint64(number)))
    begin_game(rules, row, rng)
    if isinstance(rules, FamilyRules):
        codes = np.zeros(rules.initial_tiles, np.int16)
        _opening_codes(rules, rng, codes)
        return tuple(codes.tolist())
    board = Board(row[BOARD_LO], row[BOARD_HI])
    cells = [np.uint64(15 << 4 * at) for at in range(16) if int(board.lo) >> 4 * at & 15]
    return tuple(int(spawn_code(rules, Board(board.lo & ~cell, board.hi), board)) for cell in cells)


def close_game(rules: AnyRules, row: Row, number: int, opening: tuple[int, ...], trace: Trace) -> PlayedGame:
    """Return the record of a finished game."""
    action, spawn, reward, milliseconds = np.ascontiguousarray(trace.T)
    max_tile = int(tile_of(rules, decode(rules, board_of(row)).max()))
    columns = (action.astype(np.int8), spawn.astype(np.int16), reward.astype(np.int64), milliseconds)
    return PlayedGame(number, int(row[SCORE]), max_tile, opening, *columns)


@kernel
def play_move(rules: AnyRules, row: Row, action: int, began: float, record: NDArray[np.float64]) -> None:
    """Make a move in a game and write it to a row of the trace.

    Args:
        began: time of the clock at which the search began, seconds.
    """
    after, reward = afterstate(rules, board_of(row), action)
    go_on(rules, row, after, reward)
    record[ACTION], record[REWARD] = action, reward
    record[SPAWN] = spawn_code(rules, after, board_of(row))
    record[MILLISECONDS] = 1000 * (seconds() - began)


@kernel
def make_moves(
    rules: AnyRules,
    rows: NDArray[np.uint64],
    actions: NDArray[np.int8],
    spawns: NDArray[np.int64],
    points: NDArray[np.int64],
) -> None:
    """Make one legal move in each game.

    Args:
        spawns: int64[B], filled with the codes of the spawns after the moves.
        points: int64[B], filled with the rewards.
    """
    for i in range(rows.shape[0]):
        after, reward = afterstate(rules, board_of(rows[i]), actions[i])
        go_on(rules, rows[i], after, reward)
        spawns[i], points[i] = spawn_code(rules, after, board_of(rows[i])), np.int64(reward)


def play_by_analysis(
    rules: AnyRules, choose: Choose, numbers: Iterable[int], seed: int, make: Make = make_moves
) -> Iterator[PlayedGame]:
    """Play games in parallel and yield each one when it ends.

    Args:
        make: makes the chosen moves and places the tiles after them.
        numbers: numbers of the games. The random numbers of a game depend on (seed, number) alone.

    Yields:
        Finished games, in the order in which they end.
    """
    waiting = iter(numbers)
    rows, free = np.zeros((LANES, COLUMNS), np.uint64), list(range(LANES))
    games: dict[int, tuple[int, tuple[int, ...], list[tuple[float, ...]]]] = {}  # by lane: number, opening, moves
    while True:
        for number in islice(waiting, len(free)):
            lane = free.pop()
            games[lane] = (number, open_game(rules, seed, number, rows[lane]), [])
        lanes = np.array(sorted(games), np.int64)
        if not lanes.size:
            return
        began = time.perf_counter()
        seeds = (rows[lanes, RNG] >> np.uint64(32)).astype(np.uint32)
        actions = choose(boards_of(rules, rows[lanes]), seeds, draws_of(rows[lanes, BOARD_HI]))
        milliseconds = 1000 * (time.perf_counter() - began) / lanes.size
        ended = actions < 0
        for lane in lanes[ended].tolist():
            number, opening, moves = games.pop(lane)
            yield close_game(rules, rows[lane], number, opening, np.array(moves, np.float64).reshape(-1, 4))
            free.append(lane)
        going, actions = lanes[~ended], np.ascontiguousarray(actions[~ended])
        moved, spawns, points = rows[going], np.empty(going.size, np.int64), np.empty(going.size, np.int64)
        make(rules, moved, actions, spawns, points)
        rows[going] = moved
        for lane, *move in zip(going.tolist(), actions.tolist(), spawns.tolist(), points.tolist(), strict=True):
            games[lane][2].append((*move, milliseconds))


def boards_of(rules: AnyRules, rows: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the boards uint8[B, H, W], log2 of the tiles, of games uint64[B, 16]."""
    shifts = word_shifts(rules)
    lo, hi = (
        rows[:, column, None, None] >> shifts & mask for column, mask in ((BOARD_LO, U15), (BOARD_HI, np.uint64(1)))
    )
    return (lo | hi << U4).astype(np.uint8)


@kernel
def _states(
    rules: AnyRules,
    opening: NDArray[np.int16],
    actions: NDArray[np.int8],
    spawns: NDArray[np.int16],
    words: NDArray[np.uint64],
) -> None:
    board = before_opening(rules, opening[0])
    for code in opening:
        board = place_spawn(rules, open_for_tile(rules, board), code)
    for move in range(actions.size):
        words[move, 0], words[move, 1] = board.lo, board.hi
        after, _ = afterstate(rules, board, actions[move])
        board = place_spawn(rules, after, spawns[move])


def states_of(
    rules: AnyRules, opening: tuple[int, ...], actions: NDArray[np.int8], spawns: NDArray[np.int16]
) -> NDArray[np.uint64]:
    """Return the board before each move of a recorded game.

    Returns:
        uint64[T, 2], the words `lo` and `hi` of the boards, with hint and bag.
    """
    words = np.zeros((actions.size, 2), np.uint64)
    _states(rules, np.array(opening, np.int16), actions, spawns, words)
    return words
