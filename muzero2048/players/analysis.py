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
from muzero2048.search.dynamics import all_afterstates

LARGEST_CELL = 17  # 131072


class Advice(NamedTuple):
    """What a player makes of B boards."""

    action: np.ndarray  # int8[B] the move it would make, -1 where none is legal
    reward: np.ndarray  # int64[B, 4] points of each move, -1 where it is not legal
    value: np.ndarray  # float64[B, 4] points expected from each move on; -inf: not legal, nan: not known
    effort: np.ndarray  # int64[B, 4] visits or plies behind each value; 0: not legal, or not known


class Judgement(NamedTuple):
    """What a player thinks of boards, on the device; of illegal moves it may say anything."""

    action: Int[Array, "B"]  # legal where a move is
    value: Float[Array, "B A"]  # r + gamma V(as) in points; nan where it does not know
    effort: Int[Array, "B A"]


# (boards, a seed of random numbers for each) -> judgement
Judge = Callable[[Board, UInt32[Array, "B"]], Judgement]
# (parameters, boards [B, H, W], seeds [B]) -> advice
Advise = Callable[[Any, np.ndarray, np.ndarray], Advice]


def make_advise(game: Game2048, judge: Callable[[Any], Judge], lanes: int) -> Advise:
    """The function that gives advice by the judge of its parameters; it checks boards and seeds (`check_boards`).

    Args:
        game: the rules.
        judge: parameters -> how boards are judged.
        lanes: boards side by side, at most; the memory of a search grows with them.

    Returns:
        (parameters, boards, seeds) -> advice.
    """

    @jax.jit
    def program(params: Any, cells: UInt8[Array, "B H W"], seeds: UInt32[Array, "B"]) -> tuple[Array, ...]:
        board = game.from_cells(cells)
        found, legal = judge(params)(board, seeds), game.legal_actions(board)
        return (
            jnp.where(legal.any(axis=-1), found.action, -1),
            jnp.where(legal, all_afterstates(game, board)[1], -1),
            jnp.where(legal, found.value, -jnp.inf),
            jnp.where(legal, found.effort, 0),
        )

    def advise(params: Any, boards: np.ndarray, seeds: np.ndarray) -> Advice:
        check_boards(game, boards, seeds)
        blocks = []
        for size, cells, some_seeds in _padded_blocks(boards.astype(np.uint8), seeds.astype(np.uint32), lanes):
            blocks.append([found[:size] for found in jax.device_get(program(params, cells, some_seeds))])
        action, reward, value, effort = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return Advice(
            action.astype(np.int8), reward.astype(np.int64), value.astype(np.float64), effort.astype(np.int64)
        )

    return advise


def check_boards(game: Game2048, boards: np.ndarray, seeds: np.ndarray) -> None:
    """The gate of advice.

    Raises:
        ValueError: `boards` is not [B, H, W] of 0..17, or `seeds` not [B] of 0..2^32 - 1.
    """
    for name, array in (("boards", boards), ("seeds", seeds)):
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"{name} are of type {array.dtype}: give integers")
    if boards.ndim != 3 or boards.shape[1:] != (game.rows, game.columns):
        raise ValueError(f"boards are of shape {boards.shape}: give [boards, {game.rows}, {game.columns}]")
    if boards.size and not (boards.min() >= 0 and boards.max() <= LARGEST_CELL):
        raise ValueError(f"boards have cells of {boards.min()}..{boards.max()}: give log2 of tiles, 0..{LARGEST_CELL}")
    if seeds.shape != boards.shape[:1]:
        raise ValueError(f"seeds are of shape {seeds.shape}: give one for each of {len(boards)} boards")
    if seeds.size and not (seeds.min() >= 0 and seeds.max() < 2**32):
        raise ValueError(f"seeds are {seeds.min()}..{seeds.max()}: give numbers of 32 bits")


def _padded_blocks(boards: np.ndarray, seeds: np.ndarray, most: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(size, boards, seeds) of blocks of at most `most` boards, filled up after `size`; no board is a block too."""
    for start in range(0, max(len(boards), 1), most):
        block = slice(start, start + most)
        size = len(boards[block])
        room = (1 << max(size - 1, 0).bit_length()) - size
        yield size, np.pad(boards[block], [(0, room), (0, 0), (0, 0)]), np.pad(seeds[block], (0, room))
