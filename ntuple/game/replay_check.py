"""Check a recorded game: replay it by the rules up to the first move or chance event that breaks them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import AnyRules, afterstate, has_move, place_points, places, tile_of
from ntuple.game.bitboard import ONE, U2, Board, Rules, is_same, level_at, max_cell
from ntuple.game.episode import (
    before_opening,
    cell_of,
    hint_of_event,
    level_of,
    nibble_of,
    open_for_tile,
    place_spawn,
)
from ntuple.game.family import FamilyRules, by_game
from ntuple.game.family_events import can_place, can_tell, draw_of, has_level
from ntuple.game.jit import inline, kernel

# Faults of a move or a chance event.
NOTHING, ILLEGAL, AFTER_END, OFF_BOARD, OCCUPIED, PLACE, TILE, HINT, REWARD = range(9)
# Columns of the findings of `replay`. EARNED: with the fault REWARD, the correct reward of the move.
SCORE, MAX_TILE, MOVES, IS_OVER, FAULT, NUMBER, EARNED = range(7)
FINDINGS = 7


class Seen(NamedTuple):
    """What chance events depend on, filled by `replay` before the first fault."""

    afterstates: NDArray[np.uint8]  # [T, N] the board after each move, levels
    places: NDArray[np.uint8]  # [T, N] 1 where the environment may place a tile
    draws: NDArray[np.uint16]  # [T] hint and bag, 0 in a game without


@inline
def _no_fault(rules: Rules, board: Board, code: int) -> int:
    return NOTHING


@inline
def _fault_of_event(rules: FamilyRules, board: Board, code: int) -> int:
    """Return the fault of the tile or of the next hint of an event on an empty cell."""
    level, cell = level_of(rules, code), ONE << nibble_of(rules, cell_of(rules, code))
    if not places(rules, board) & cell:
        return PLACE
    if not can_place(rules, board, level):
        return TILE
    has_large = rules.kinds > 0 and (has_level(board, rules.bonus[0]) or level >= rules.bonus[0])
    return NOTHING if can_tell(rules, draw_of(board), hint_of_event(code), has_large) else HINT


_fault: Any = by_game(_no_fault, _fault_of_event)


@inline
def _level(rules: AnyRules, board: Board, cell: int) -> np.uint64:
    return level_at(board, int(nibble_of(rules, cell) >> U2))


@inline
def _place(rules: AnyRules, board: Board, code: int) -> tuple[Board, int]:
    """Return the board after a chance event, and the fault of the event."""
    cell = cell_of(rules, code)
    if cell >= rules.rows * rules.columns:
        return board, OFF_BOARD
    if _level(rules, board, cell):
        return board, OCCUPIED
    fault = _fault(rules, board, code)
    if fault != NOTHING:
        return board, fault
    return place_spawn(rules, board, code), NOTHING


@kernel
def replay(
    rules: AnyRules,
    opening: NDArray[np.int16],
    actions: NDArray[np.int8],
    spawns: NDArray[np.int16],
    rewards: NDArray[np.int64],
    findings: NDArray[np.int64],
    seen: Seen,
) -> None:
    """Replay a game up to its first fault.

    Args:
        spawns: int16[T], codes of the chance events after the moves; int16[T - 1] if the record ends after a move.
        rewards: int64[T], points that the record claims for the moves; int64[0] if it claims none.
        findings: int64[7], filled: score, largest tile and moves before the first fault, whether the game is over, the
            fault, its NUMBER, and EARNED. NUMBER counts events and moves from 1, those of the opening included.
        seen: filled.
    """
    findings[:] = 0
    board = before_opening(rules, opening[0] if opening.size else 0)
    fault = NOTHING
    number = 0
    for code in opening:
        number += 1
        board, fault = _place(rules, open_for_tile(rules, board), code)
        if fault != NOTHING:
            break
        findings[SCORE] += place_points(rules, level_of(rules, code))
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
            allowed = places(rules, after)
            for cell in range(rules.rows * rules.columns):
                seen.afterstates[t, cell] = _level(rules, board, cell)
                seen.places[t, cell] = (allowed >> nibble_of(rules, cell)) & ONE
            seen.draws[t] = draw_of(board)
            findings[SCORE] += np.int64(reward)
            findings[MOVES] += 1
            if t < spawns.size:
                number += 1
                board, fault = _place(rules, board, spawns[t])
                if fault != NOTHING:
                    break
                findings[SCORE] += place_points(rules, level_of(rules, spawns[t]))
    largest = max_cell(board)
    findings[MAX_TILE] = tile_of(rules, np.int64(largest)) if largest > 0 else 0
    findings[IS_OVER] = fault == NOTHING and not has_move(rules, board)
    findings[FAULT], findings[NUMBER] = fault, number
