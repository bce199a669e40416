"""Where the games of self-play start: from two tiles, or deeper in the game, where positions are rare.

    normal       two spawns on an empty board
    restart      the middle of the game that just ended (Matsuzaki 2017, sec. 3.3, algorithm 3)
    carousel     a board where an earlier game reached a stage, each stage in turn (Jaskowski 2017, algorithm 5)
    jump_start   a made-up board with large tiles (named in Guei 2023, sec. 3)

A rule is a pure function of its state and one move of all environments; it replaces the openings of the games that
begin. Shapes: `E` environments, `G` stages beside the first, `D` random draws, `K` boards kept.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from muzero2048.game.config import StartConfig
from muzero2048.game.env import Board, Game2048, where
from muzero2048.game.symmetry import symmetries

KEPT = 64  # K, boards of a game in progress that `restart` keeps

StartState = Any  # pytree of arrays that a rule remembers


class Step(NamedTuple):
    """One move in each environment, as a rule sees it."""

    before: Board  # words of [E], the board before the move
    number: Int[Array, "E"]  # moves of the game before this one
    after: Board  # the board after it; where the game ended, the opening of the next one
    done: Bool[Array, "E"]


class Starts(NamedTuple):
    """The functions of a rule whose settings are bound."""

    draws: int  # D, random draws an environment and move
    init: Callable[[int], StartState]  # of the number of environments
    # (bits [D, E], state, step) -> state, the next boards, and where a game begins that is not from a normal start
    step: Callable[[UInt32[Array, "D E"], StartState, Step], tuple[StartState, Board, Bool[Array, "E"]]]


def make_starts(game: Game2048, config: StartConfig) -> Starts:
    """The rule that the config names."""
    rules = {"normal": _normal, "restart": _restart, "carousel": _carousel, "jump_start": _jump_start}
    return rules[config.kind](game, config)


def _normal(game: Game2048, config: StartConfig) -> Starts:
    def step(bits: UInt32[Array, "D E"], state: tuple[()], step: Step) -> tuple[tuple[()], Board, Bool[Array, "E"]]:
        return state, step.after, jnp.zeros_like(step.done)

    return Starts(0, lambda num_envs: (), step)


class History(NamedTuple):
    """Boards of the games in progress: slot k holds the board before move k * spacing."""

    boards: Board  # words of [K, E]
    spacing: Int[Array, "E"]  # a power of two


def _restart(game: Game2048, config: StartConfig) -> Starts:
    """When a game of n moves ends, the next one begins at the board before its move n // 2, counted from 0.

    If no more than L moves lie behind that board, it is a normal game. A game that began so is halved in its turn.

    Of a game up to K moves the board is exact. Of a longer one every d-th board is kept, d doubling when the slots are
    full, and the nearest to the middle is taken: it lies within d / 2 <= n / K moves of it, with K = 64 between 48 and
    52% of the game. To keep all boards would take n / 2 of them in every environment, 160 kB for a good game.
    """

    def init(num_envs: int) -> History:
        # Arrays of their own, not one several times: training donates them.
        boards = tuple(jnp.zeros((KEPT, num_envs), jnp.uint32) for _ in range(game.rows))
        return History(boards, jnp.ones((num_envs,), jnp.int32))

    def step(bits: UInt32[Array, "D E"], history: History, step: Step) -> tuple[History, Board, Bool[Array, "E"]]:
        history = keep(history, step.before, step.number)
        length = step.number + 1
        middle = length // 2
        restarts = step.done & (length - middle > config.restart.moves)
        nearest = (middle + history.spacing // 2) // history.spacing, jnp.arange(len(middle))
        kept = tuple(word[nearest] for word in history.boards)
        history = history._replace(spacing=jnp.where(step.done, 1, history.spacing))
        return history, where(restarts, kept, step.after), restarts

    return Starts(0, init, step)


def keep(history: History, board: Board, number: Int[Array, "E"]) -> History:
    """The history with the board before move `number`, if that is one to keep."""
    slots, num_envs = history.boards[0].shape
    full = number == slots * history.spacing
    spacing = jnp.where(full, 2 * history.spacing, history.spacing)
    slot = jnp.where(number % spacing == 0, number // spacing, slots), jnp.arange(num_envs)  # beyond the last: dropped

    def write(kept: UInt32[Array, "K E"], word: UInt32[Array, "E"]) -> UInt32[Array, "K E"]:
        thinned = jnp.concatenate([kept[::2], kept[1::2]])  # every second one; what follows is overwritten in time
        return jnp.where(full, thinned, kept).at[slot].set(word, mode="drop")

    return History(tuple(write(*words) for words in zip(history.boards, board, strict=True)), spacing)


class Carousel(NamedTuple):
    """The last boards with which games entered the stages 1 .. G, and where each environment is."""

    boards: Board  # words of [G * size], a ring a stage
    entered: Int[Array, "G"]  # boards ever added to the ring
    stage: Int[Array, "E"]  # the stage that the game of now started in; 0: normal start


def _carousel(game: Game2048, config: StartConfig) -> Starts:
    """After each game an environment starts in the next stage, from a random one of the boards kept of it.

    Behind the last stage, or where no board has been kept of the next one, follows a normal game. A board is kept when
    the stage's tile is made on it and the game goes on; all environments share the rings.
    """
    levels, size = config.carousel.levels, config.carousel.size
    stages = len(levels)
    numbers = jnp.arange(stages)[None]  # [1, G]

    def stage_of(board: Board) -> Int[Array, "E"]:
        largest = game.to_cells(board).max(axis=(-2, -1))
        return jnp.sum(largest[:, None] >= jnp.array([levels]), axis=-1)

    def init(num_envs: int) -> Carousel:
        boards = tuple(jnp.zeros((stages * size,), jnp.uint32) for _ in range(game.rows))
        return Carousel(boards, jnp.zeros((stages,), jnp.int32), jnp.zeros((num_envs,), jnp.int32))

    def add(carousel: Carousel, step: Step) -> Carousel:
        stage = stage_of(step.after)
        enters = ~step.done & (stage > stage_of(step.before))
        enters = enters[:, None] & (stage[:, None] == numbers + 1)  # [E, G]
        order = jnp.cumsum(enters, axis=0) - 1
        enters &= order < size  # more than a whole ring at once: two of them must not write to one place
        place = numbers * size + (carousel.entered[None] + order) % size
        place = jnp.where(enters, place, stages * size).min(axis=-1)  # beyond the last: dropped
        boards = tuple(
            kept.at[place].set(word, mode="drop") for kept, word in zip(carousel.boards, step.after, strict=True)
        )
        return carousel._replace(boards=boards, entered=carousel.entered + enters.sum(axis=0, dtype=jnp.int32))

    def step(bits: UInt32[Array, "D E"], carousel: Carousel, step: Step) -> tuple[Carousel, Board, Bool[Array, "E"]]:
        carousel = add(carousel, step)
        following = carousel.stage + 1
        filled = jnp.concatenate([jnp.minimum(carousel.entered, size), jnp.zeros(1, jnp.int32)])[following - 1]
        stage = jnp.where(step.done, jnp.where(filled > 0, following, 0), carousel.stage)
        choice = (bits[0] % jnp.maximum(filled, 1).astype(jnp.uint32)).astype(jnp.int32)
        place = (following - 1) * size + choice
        starts = step.done & (filled > 0)
        kept = tuple(word.at[place].get(mode="clip") for word in carousel.boards)
        return carousel._replace(stage=stage), where(starts, kept, step.after), starts

    return Starts(1, init, step)


def _jump_start(game: Game2048, config: StartConfig) -> Starts:
    """With probability `jump_fraction` a game begins on a random one of `jump_boards`, after two spawns."""
    made_up = jump_boards(game, config.jump_start.levels)
    threshold = np.uint32(round(config.jump_start.fraction * 2**24))

    def step(bits: UInt32[Array, "D E"], state: tuple[()], step: Step) -> tuple[tuple[()], Board, Bool[Array, "E"]]:
        choice = bits[0] % np.uint32(len(made_up))
        board: Board = tuple(jnp.asarray(words)[choice] for words in made_up.T)
        for spawn_bits in bits[1:3]:
            board, _ = game.spawn_from_bits(spawn_bits, board)
        starts = step.done & (bits[3] >> np.uint32(8) < threshold)
        return state, where(starts, board, step.after), starts

    return Starts(4, lambda num_envs: (), step)


def jump_boards(game: Game2048, levels: tuple[int, ...]) -> UInt32[np.ndarray, "M H"]:
    """The first 1, 2, .. of the tiles along a snake (row by row, back and forth) in each view of the board, as words.

    Two spawns leave an empty cell on each (muzero/config.py sees to it), so it has a legal move.
    """
    cells = np.arange(game.num_cells).reshape(game.rows, game.columns)
    cells[1::2] = cells[1::2, ::-1]
    boards = []
    for count in range(1, len(levels) + 1):
        board = np.zeros(game.num_cells, np.uint8)
        board[cells.ravel()[:count]] = levels[:count]
        boards += [
            board[view].reshape(game.rows, game.columns) for view in symmetries(game.rows, game.columns).cell_from
        ]
    padded = np.pad(np.array(boards), ((0, 0), (0, 0), (0, 4 - game.columns)))
    return padded.view("<u4")[..., 0].astype(np.uint32)
