"""Start positions of self-play games: two tiles, or a later position, which normal games reach rarely.

    normal       two spawns on an empty board
    restart      the middle of the game that just ended (Matsuzaki 2017, sec. 3.3, algorithm 3)
    carousel     a board where an earlier game reached a stage; stages take turns (Jaskowski 2017, algorithm 5)
    jump_start   a made-up board with large tiles (named in Guei 2023, sec. 3)

A rule is a pure function of its state and one move of all environments. It replaces the opening boards of the games
that begin with this move. Shapes: `E` environments, `G` stages without the first one, `D` random draws, `K` stored
boards.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from muzero2048.game.config import StartConfig
from muzero2048.game.env import Board, Game2048, where
from muzero2048.game.symmetry import symmetries

KEPT = 64  # K, boards that `restart` stores of each game in progress

StartState = Any  # state of a rule: a pytree of arrays


class Step(NamedTuple):
    """One move in each environment: the input of a rule."""

    before: Board  # words of [E], the board before the move
    number: Int[Array, "E"]  # moves of the game before this one
    after: Board  # the board after the move; where the game ended, the opening of the next game
    done: Bool[Array, "E"]


class Starts(NamedTuple):
    """The functions of a rule, with its settings bound."""

    draws: int  # D, random draws per environment and move
    init: Callable[[int], StartState]  # number of environments -> state
    # (bits [D, E], state, step) -> state, next boards, flags of the games that begin and not at a normal start
    step: Callable[[UInt32[Array, "D E"], StartState, Step], tuple[StartState, Board, Bool[Array, "E"]]]


def make_starts(game: Game2048, config: StartConfig) -> Starts:
    """Make the rule that `start.kind` names."""
    rules = {"normal": _normal, "restart": _restart, "carousel": _carousel, "jump_start": _jump_start}
    return rules[config.kind](game, config)


def _normal(game: Game2048, config: StartConfig) -> Starts:
    def step(bits: UInt32[Array, "D E"], state: tuple[()], step: Step) -> tuple[tuple[()], Board, Bool[Array, "E"]]:
        return state, step.after, jnp.zeros_like(step.done)

    return Starts(0, lambda num_envs: (), step)


class History(NamedTuple):
    """Stored boards of the games in progress: slot k holds the board before move k * spacing."""

    boards: Board  # words of [K, E]
    spacing: Int[Array, "E"]  # a power of two


def _restart(game: Game2048, config: StartConfig) -> Starts:
    """Start the next game at the middle of the game that ended.

    If a game has n moves, the next one begins at the board before move n // 2, counted from 0. If no more than L moves
    follow that board, the next game is a normal one. Restarted games are restarted from their own midpoint.

    For games of up to K moves the board is exact. For longer games every d-th board is stored; d doubles whenever the
    slots are full. The stored board nearest to the middle is used: its distance is at most d / 2 <= n / K moves, so
    with K = 64 it lies at 48 to 52% of the game. Storing all boards would need n / 2 boards per environment, 160 kB
    for a good game.
    """

    def init(num_envs: int) -> History:
        # Separate arrays, not one array used several times: training donates them.
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
    """Store the board before a move if the move number is a multiple of the spacing."""
    slots, num_envs = history.boards[0].shape
    full = number == slots * history.spacing
    spacing = jnp.where(full, 2 * history.spacing, history.spacing)
    slot = jnp.where(number % spacing == 0, number // spacing, slots), jnp.arange(num_envs)  # slot `slots`: dropped

    def write(kept: UInt32[Array, "K E"], word: UInt32[Array, "E"]) -> UInt32[Array, "K E"]:
        thinned = jnp.concatenate([kept[::2], kept[1::2]])  # every second board first; the others are overwritten later
        return jnp.where(full, thinned, kept).at[slot].set(word, mode="drop")

    return History(tuple(write(*words) for words in zip(history.boards, board, strict=True)), spacing)


class Carousel(NamedTuple):
    """The latest boards on which games entered the stages 1 .. G, and the stage of each environment."""

    boards: Board  # words of [G * size], one ring buffer per stage
    entered: Int[Array, "G"]  # boards added to each ring since the beginning
    stage: Int[Array, "E"]  # the stage at which the current game started; 0: normal start


def _carousel(game: Game2048, config: StartConfig) -> Starts:
    """Start each game of an environment one stage later than the game before.

    The game begins on a random stored board of its stage. After the last stage, or if no board of the next stage is
    stored, a normal game follows. A board is stored when the stage's tile is made on it and the game goes on. All
    environments share the rings.
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
        enters &= order < size  # at most one ring in one step: no two boards may be written to one place
        place = numbers * size + (carousel.entered[None] + order) % size
        place = jnp.where(enters, place, stages * size).min(axis=-1)  # stages * size: not stored
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
    """Start a game on a random one of `jump_boards`, after two spawns, with probability `start.jump_start.fraction`."""
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
    """Return the M made-up boards as words.

    For each count 1, 2, ... and each view of the board there is one board: the first `count` tiles of `levels`, placed
    along a snake (row by row, back and forth). The config checks that two spawns leave an empty cell, so every board
    has a legal move.
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
