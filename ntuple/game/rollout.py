"""Games move by move: what was played, and games of any player that gives analysis on boards."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import U4, U15, ZERO, Board, Rules, afterstate, decode, word_shifts
from ntuple.game.episode import (
    BOARD_HI,
    BOARD_LO,
    COLUMNS,
    RNG,
    SCORE,
    Row,
    begin_game,
    board_of,
    go_on,
    place_spawn,
    spawn_code,
)
from ntuple.game.jit import kernel
from ntuple.game.rng import stream

LANES = 256  # games side by side: so many that a call for analysis costs little a game


class PlayedGame(NamedTuple):
    """A finished game."""

    number: int  # i of the random stream (seed, i)
    score: int
    max_tile: int
    opening: tuple[int, int]  # codes of the first two spawns
    actions: NDArray[np.int8]  # [T]
    spawns: NDArray[np.int16]  # [T] code of the spawn behind each move
    rewards: NDArray[np.int64]  # [T] points
    milliseconds: NDArray[np.float64]  # [T] of each move


# (boards uint8[B, H, W], a seed for each uint32[B]) -> actions int8[B], -1 where no move is legal
Choose = Callable[[NDArray[np.uint8], NDArray[np.uint32]], NDArray[np.int8]]


def open_game(rules: Rules, seed: int, number: int, row: Row) -> tuple[int, int]:
    """Begin game `number` of a seed in a row; return the codes of its two spawns."""
    begin_game(rules, row, np.uint64(stream(np.uint64(seed), np.uint64(number))))
    levels = decode(rules, board_of(row)).ravel()
    first, second = (int(2 * cell + levels[cell] - 1) for cell in np.flatnonzero(levels))
    return first, second


def close_game(rules: Rules, row: Row, number: int, opening: tuple[int, int], moves: NDArray[np.float64]) -> PlayedGame:
    """What was played; `moves` float64[T, 4] has a row a move: action, spawn, points, milliseconds."""
    action, spawn, reward, milliseconds = np.ascontiguousarray(moves.T)
    max_tile = 2 ** int(decode(rules, board_of(row)).max())
    kept = (action.astype(np.int8), spawn.astype(np.int16), reward.astype(np.int64), milliseconds)
    return PlayedGame(number, int(row[SCORE]), max_tile, opening, *kept)


@kernel
def make_moves(
    rules: Rules,
    rows: NDArray[np.uint64],
    actions: NDArray[np.int8],
    spawns: NDArray[np.int64],
    points: NDArray[np.int64],
) -> None:
    """Make a legal move in each of the games [B, 16], and fill in the spawn behind it and its points."""
    for i in range(rows.shape[0]):
        after, reward = afterstate(rules, board_of(rows[i]), actions[i])
        go_on(rules, rows[i], after, reward)
        spawns[i], points[i] = spawn_code(rules, after, board_of(rows[i])), np.int64(reward)


def play_by_analysis(rules: Rules, choose: Choose, numbers: Iterable[int], seed: int) -> Iterator[PlayedGame]:
    """Play the games of these numbers side by side, and hand over each as it ends; (seed, number) tells its draws."""
    waiting = iter(numbers)
    rows, free = np.zeros((LANES, COLUMNS), np.uint64), list(range(LANES))
    games: dict[int, tuple[int, tuple[int, int], list[tuple[float, ...]]]] = {}  # by lane: number, opening, moves
    while True:
        for number in islice(waiting, len(free)):
            lane = free.pop()
            games[lane] = (number, open_game(rules, seed, number, rows[lane]), [])
        lanes = np.array(sorted(games), np.int64)
        if not lanes.size:
            return
        began = time.perf_counter()
        actions = choose(boards_of(rules, rows[lanes]), (rows[lanes, RNG] >> np.uint64(32)).astype(np.uint32))
        milliseconds = 1000 * (time.perf_counter() - began) / lanes.size
        ended = actions < 0
        for lane in lanes[ended].tolist():
            number, opening, moves = games.pop(lane)
            yield close_game(rules, rows[lane], number, opening, np.array(moves, np.float64).reshape(-1, 4))
            free.append(lane)
        going, actions = lanes[~ended], np.ascontiguousarray(actions[~ended])
        moved, spawns, points = rows[going], np.empty(going.size, np.int64), np.empty(going.size, np.int64)
        make_moves(rules, moved, actions, spawns, points)
        rows[going] = moved
        for lane, *move in zip(going.tolist(), actions.tolist(), spawns.tolist(), points.tolist(), strict=True):
            games[lane][2].append((*move, milliseconds))


def boards_of(rules: Rules, rows: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The boards uint8[B, H, W] of games [B, 16]."""
    shifts = word_shifts(rules)
    lo, hi = (
        rows[:, column, None, None] >> shifts & mask for column, mask in ((BOARD_LO, U15), (BOARD_HI, np.uint64(1)))
    )
    return (lo | hi << U4).astype(np.uint8)


@kernel
def _states(
    rules: Rules,
    opening: NDArray[np.int16],
    actions: NDArray[np.int8],
    spawns: NDArray[np.int16],
    words: NDArray[np.uint64],
) -> None:
    board = Board(ZERO, ZERO)
    for code in opening:
        board = place_spawn(rules, board, code)
    for move in range(actions.size):
        words[move, 0], words[move, 1] = board.lo, board.hi
        after, _ = afterstate(rules, board, actions[move])
        board = place_spawn(rules, after, spawns[move])


def states_of(
    rules: Rules, opening: tuple[int, int], actions: NDArray[np.int8], spawns: NDArray[np.int16]
) -> NDArray[np.uint64]:
    """The boards before each move of a game, uint64[T, 2], by the codes of its spawns."""
    words = np.zeros((actions.size, 2), np.uint64)
    _states(rules, np.array(opening, np.int16), actions, spawns, words)
    return words
