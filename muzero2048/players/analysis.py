"""Analysis of given boards: the move that a player would make, and its values of all moves.

A batch is padded to a power of two with empty boards, on which no move is legal. So ten compiled programs serve all
batch sizes up to 512. `read_outlook` reads what a tree holds below the chosen move, for people who look at a search.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from muzero2048.game.env import NUM_ACTIONS, Board, BoardGame
from muzero2048.search.tree import UNVISITED, Trees, row_numbers
from ntuple.core.games.definition import HINT_BITS
from ntuple.core.interfaces import Analysis, check_boards

VARIATION = 16  # moves of a line, at most


class Outlook(NamedTuple):
    """What is below the chosen move of each of B boards."""

    outcomes: Float[Array, "B C 3"]  # of each chance code: probability, visits, value in points (nan: not visited)
    variation: Int[Array, "B D 2"]  # moves, each with the chance code after it; -1 after the end of the line


class JudgedBoards(NamedTuple):
    """A player's choice and values on boards, on the device; entries of illegal moves are arbitrary."""

    action: Int[Array, "B"]  # legal wherever a move is legal
    value: Float[Array, "B A"]  # r + gamma V(as) in points; nan: unknown
    effort: Int[Array, "B A"]  # in the player's unit
    policy: Float[Array, "B A"] | None = None  # probabilities of the moves; None: the player has none
    outlook: Outlook | None = None  # None: the player grows no tree


Walk = tuple[Int[Array, "B"], Int[Array, "B"], Bool[Array, "B"]]  # along a line: node, move, whether it goes on
# (boards, a seed of random numbers for each) -> judgement
Judge = Callable[[Board, UInt32[Array, "B"]], JudgedBoards]
# (parameters, boards [B, H, W], seeds [B], draws [B] or None) -> analysis
Analyse = Callable[[Any, np.ndarray, np.ndarray, np.ndarray | None], Analysis]


def make_analyse(game: BoardGame, judge: Callable[[Any], Judge], lanes: int) -> Analyse:
    """Return the function that analyses boards.

    At most `lanes` boards are processed at a time; the memory of a search is proportional to it. The function raises
    the errors of `check_boards`.
    """

    @jax.jit
    def program(
        params: Any, observations: UInt8[Array, "B O"], seeds: UInt32[Array, "B"]
    ) -> tuple[JudgedBoards, Array]:
        board = game.from_observation(observations)
        judged, legal = judge(params)(board, seeds), game.legal_actions(board)
        is_over = ~legal.any(axis=-1)
        masked = JudgedBoards(
            jnp.where(is_over, -1, judged.action),
            jnp.where(legal, judged.value, -jnp.inf),
            jnp.where(legal, judged.effort, 0),
            None if judged.policy is None else jnp.where(legal, judged.policy, 0.0),
            None if judged.outlook is None else _without_ended(judged.outlook, is_over),
        )
        return masked, jnp.where(legal, game.all_afterstates(board)[1], -1)

    def analyse(params: Any, boards: np.ndarray, seeds: np.ndarray, draws: np.ndarray | None = None) -> Analysis:
        check_boards(game.rows, game.columns, boards, seeds, draws, game.largest_level, game.hints)
        blocks = []
        observations = observations_of(boards, draws, game.observation_size)
        for size, some, some_seeds in _padded_blocks(observations, seeds.astype(np.uint32), lanes):
            block = jax.device_get(program(params, some, some_seeds))
            blocks.append(jax.tree.map(lambda judged, size=size: judged[:size], block))
        judged, reward = jax.tree.map(lambda *parts: np.concatenate(parts), *blocks)
        return Analysis(
            judged.action.astype(np.int8),
            reward.astype(np.int64),
            judged.value.astype(np.float64),
            judged.effort.astype(np.int64),
            judged.outlook and judged.outlook.variation.astype(np.int16),
            None if judged.policy is None else judged.policy.astype(np.float64),
            judged.outlook and judged.outlook.outcomes.astype(np.float64),
        )

    return analyse


def with_event_codes(analysis: Analysis, events: np.ndarray) -> Analysis:
    """Return an analysis with the codes of ntuple/core/games/event_codes.py, `events` [S], in place of spawn codes."""
    if analysis.variation is None or analysis.outcomes is None:
        return analysis
    variation = analysis.variation.copy()
    codes = variation[..., 1]
    codes[codes >= 0] = events[codes[codes >= 0]]
    outcomes = np.tile([0.0, 0.0, np.nan], (len(variation), events.max() + 1, 1))
    outcomes[:, events] = analysis.outcomes
    return analysis._replace(variation=variation, outcomes=outcomes)


def read_outlook(tree: Trees, action: Int[Array, "B"], codes: int) -> Outlook:
    """Read the outcomes after an action of the root, and the line that begins with it.

    The line follows the most visited chance code and the most visited action, until an action was not visited or the
    game is over. An action that was not visited has no outcomes: probabilities and visits 0.
    """
    rows = row_numbers(action)
    chance = tree.children[0, rows, action].astype(jnp.int32)
    node, known = jnp.maximum(chance, 0), (chance != UNVISITED)[:, None]
    states = tree.children[node, rows, :codes].astype(jnp.int32)
    values = tree.values[jnp.maximum(states, 0), rows[:, None]]
    outcomes = (
        jnp.where(known, tree.prior[node, rows, :codes], 0.0),
        jnp.where(known, tree.visits[node, rows, :codes], 0).astype(jnp.float32),
        jnp.where(known & (states != UNVISITED), values, jnp.nan),
    )

    def ply(walk: Walk, _: None) -> tuple[Walk, Int[Array, "B 2"]]:
        node, move, live = walk
        after = tree.children[node, rows, move].astype(jnp.int32)
        code = jnp.argmax(tree.visits[jnp.maximum(after, 0), rows, :codes], axis=-1)
        below = tree.children[jnp.maximum(after, 0), rows, code].astype(jnp.int32)
        goes_on = live & (after != UNVISITED) & (below != UNVISITED)
        step = jnp.stack([jnp.where(live, move, -1), jnp.where(goes_on, code, -1)], axis=-1)
        node = jnp.where(goes_on, below, 0)
        visits = tree.visits[node, rows, :NUM_ACTIONS]
        goes_on &= (visits.max(axis=-1) > 0) & ~tree.is_over[node, rows]
        return (node, jnp.argmax(visits, axis=-1), goes_on), step

    start = jnp.zeros_like(rows), action.astype(rows.dtype), jnp.ones(rows.shape, bool)
    _, steps = jax.lax.scan(ply, start, None, length=VARIATION)
    return Outlook(jnp.stack(outcomes, axis=-1), jnp.swapaxes(steps, 0, 1))


def _without_ended(outlook: Outlook, is_over: Bool[Array, "B"]) -> Outlook:
    """Return the outlook with nothing for boards on which no move is legal."""
    nothing = jnp.array([0.0, 0.0, jnp.nan])
    ended = is_over[:, jnp.newaxis, jnp.newaxis]
    return Outlook(jnp.where(ended, nothing, outlook.outcomes), jnp.where(ended, -1, outlook.variation))


def observations_of(boards: np.ndarray, draws: np.ndarray | None, length: int) -> np.ndarray:
    """Return states as `BoardGame.observe` does, uint8[B, length]: of boards [B, H, W], and their draws [B]."""
    flat = boards.reshape(len(boards), boards.shape[1] * boards.shape[2]).astype(np.uint8)
    if draws is None:  # a game without hints, or no boards
        return np.pad(flat, [(0, 0), (0, length - flat.shape[1])])
    places = np.arange(length - flat.shape[1], dtype=np.uint16)
    drawn = draws[:, np.newaxis] >> HINT_BITS * places & ((1 << HINT_BITS) - 1)
    return np.concatenate([flat, drawn.astype(np.uint8)], axis=1)


def _padded_blocks(boards: np.ndarray, seeds: np.ndarray, most: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield (size, boards, seeds) of blocks of at most `most` boards, padded after `size`; no boards give one block."""
    for start in range(0, max(len(boards), 1), most):
        block = slice(start, start + most)
        size = len(boards[block])
        room = (1 << max(size - 1, 0).bit_length()) - size
        yield size, np.pad(boards[block], [(0, room), (0, 0)]), np.pad(seeds[block], (0, room))
