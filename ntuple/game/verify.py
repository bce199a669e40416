"""Check a recorded game: replay it by the rules up to the first move or spawn that breaks them."""

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import has_move
from ntuple.game.bitboard import ONE, U4, U15, ZERO, Board, Rules, afterstate, is_same, max_cell
from ntuple.game.episode import place_spawn, spawn_place
from ntuple.game.jit import inline, kernel

# Faults of a move or a spawn.
NOTHING, ILLEGAL, AFTER_END, OFF_BOARD, OCCUPIED, REWARD = range(6)
# Columns of the findings of `replay`. EARNED: with the fault REWARD, the correct reward of the move.
SCORE, MAX_TILE, MOVES, IS_OVER, FAULT, NUMBER, EARNED = range(7)
FINDINGS = 7


@inline
def _place(rules: Rules, board: Board, code: int) -> tuple[Board, int]:
    """Return the board after a spawn, and the fault of the spawn."""
    if code >> 1 >= rules.rows * rules.columns:
        return board, OFF_BOARD
    at = spawn_place(rules, code)
    if ((board.lo >> at) & U15) | ((board.hi >> at) & ONE):
        return board, OCCUPIED
    return place_spawn(rules, board, code), NOTHING


@kernel
def replay(
    rules: Rules,
    opening: NDArray[np.int16],
    actions: NDArray[np.int8],
    spawns: NDArray[np.int16],
    rewards: NDArray[np.int64],
    findings: NDArray[np.int64],
    afterstates: NDArray[np.uint8],
) -> None:
    """Replay a game up to its first fault.

    Args:
        spawns: int16[T], codes of the spawns after the moves; int16[T - 1] if the record ends after a move.
        rewards: int64[T], points that the record claims for the moves; int64[0] if it claims none.
        findings: int64[7], filled: score, largest tile and moves before the first fault, whether the game is over, the
            fault, its NUMBER, and EARNED. NUMBER counts spawns and moves from 1, those of the opening included.
        afterstates: uint8[T, N], filled: the board after each move before the first fault, log2 of each tile.
    """
    findings[:] = 0
    board = Board(ZERO, ZERO)
    fault = NOTHING
    number = 0
    for code in opening:
        number += 1
        board, fault = _place(rules, board, code)
        if fault != NOTHING:
            break
    if fault == NOTHING:
        for t in range(actions.size):
            number += 1
            after, reward = afterstate(rules, board, actions[t])
            if is_same(after, board):
                fault = ILLEGAL if has_move(rules, board) else AFTER_END
                break
            if rewards.size > 0 and np.int64(reward) != rewards[t]:
                fault = REWARD
                findings[EARNED] = np.int64(reward)
                break
            board = after
            for cell in range(rules.rows * rules.columns):
                at = spawn_place(rules, 2 * cell)
                afterstates[t, cell] = (board.lo >> at) & U15 | (((board.hi >> at) & ONE) << U4)
            findings[SCORE] += np.int64(reward)
            findings[MOVES] += 1
            if t < spawns.size:
                number += 1
                board, fault = _place(rules, board, spawns[t])
                if fault != NOTHING:
                    break
    largest = max_cell(board)
    findings[MAX_TILE] = np.int64(1) << largest if largest > 0 else 0
    findings[IS_OVER] = fault == NOTHING and not has_move(rules, board)
    findings[FAULT], findings[NUMBER] = fault, number
