"""What players make of given boards, beside playing whole games: one compiled program for each size of a batch.

A batch is filled up to a power of two with empty boards, on which no move is legal, so that ten programs serve all.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8, UInt32

from muzero2048.game.env import Board, Game2048
from ntuple.game.interfaces import Analysis, check_boards


class Judgement(NamedTuple):
    """What a player thinks of boards, on the device; of illegal moves it may say anything."""

    action: Int[Array, "B"]  # legal where a move is
    value: Float[Array, "B A"]  # r + gamma V(as) in points; nan where it does not know
    effort: Int[Array, "B A"]


# (boards, a seed of random numbers for each) -> judgement
Judge = Callable[[Board, UInt32[Array, "B"]], Judgement]
# (parameters, boards [B, H, W], seeds [B]) -> analysis
Analyse = Callable[[Any, np.ndarray, np.ndarray], Analysis]


def make_analyse(game: Game2048, judge: Callable[[Any], Judge], lanes: int) -> Analyse:
    """The function that gives analysis by the judge of its parameters; it checks boards and seeds (`check_boards`).

    Args:
        game: the rules.
        judge: parameters -> how boards are judged.
        lanes: boards side by side, at most; the memory of a search grows with them.

    Returns:
        (parameters, boards, seeds) -> analysis.
    """

    @jax.jit
    def program(params: Any, cells: UInt8[Array, "B H W"], seeds: UInt32[Array, "B"]) -> tuple[Array, ...]:
        board = game.from_cells(cells)
        found, legal = judge(params)(board, seeds), game.legal_actions(board)
        return (
            jnp.where(legal.any(axis=-1), found.action, -1),
            jnp.where(legal, game.all_afterstates(board)[1], -1),
            jnp.where(legal, found.value, -jnp.inf),
            jnp.where(legal, found.effort, 0),
        )

    def analyse(params: Any, boards: np.ndarray, seeds: np.ndarray) -> Analysis:
        check_boards(game.rows, game.columns, boards, seeds)
        blocks = []
        for size, cells, some_seeds in _padded_blocks(boards.astype(np.uint8), seeds.astype(np.uint32), lanes):
            blocks.append([found[:size] for found in jax.device_get(program(params, cells, some_seeds))])
        action, reward, value, effort = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return Analysis(
            action.astype(np.int8), reward.astype(np.int64), value.astype(np.float64), effort.astype(np.int64)
        )

    return analyse


def _padded_blocks(boards: np.ndarray, seeds: np.ndarray, most: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(size, boards, seeds) of blocks of at most `most` boards, filled up after `size`; no board is a block too."""
    for start in range(0, max(len(boards), 1), most):
        block = slice(start, start + most)
        size = len(boards[block])
        room = (1 << max(size - 1, 0).bit_length()) - size
        yield size, np.pad(boards[block], [(0, room), (0, 0), (0, 0)]), np.pad(seeds[block], (0, room))
