"""Checks of what a caller gives to an environment, a mistake is a ValueError of one line; the space of its boards."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ntuple.core.games.definition import Game

SEEDS = 2**32
NUM_ACTIONS = 4
ACTIONS = "0 (up), 1 (right), 2 (down) or 3 (left)"  # in messages


def whole_number(value: Any) -> int | None:
    """Return an int of Python, numpy or JAX as an int; None for anything else, such as True or 1.0."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def board_sides(rows: Any, columns: Any) -> tuple[int, int]:
    """Return the sides of a board, each 2 to 4."""
    height, width = whole_number(rows), whole_number(columns)
    if height is None or width is None or not (2 <= height <= 4 and 2 <= width <= 4):
        raise ValueError(f"a board of {rows!r}x{columns!r}: give rows and columns as whole numbers of 2 to 4")
    return height, width


def state_space(game: Game, rows: int, columns: int) -> "spaces.Space[Any]":
    """Return the space of boards uint8[H, W] with levels of tiles; in a game with hints of dicts (game_env.py).

    The largest tile of 2048 on N cells is 2^(N + 1): it needs N - 1 smaller tiles before the last merge, and a 4.
    """
    largest = min(rows * columns * game.levels_a_cell + 1, len(game.tiles) - 1)
    board = spaces.Box(0, largest, (rows, columns), np.uint8)
    if game.bag is None:
        return board
    bag = spaces.Box(0, game.bag.each, (game.bag.kinds,), np.uint8)
    return spaces.Dict({"board": board, "hint": spaces.Discrete(game.num_hints, start=1), "bag": bag})


def one_action(action: Any) -> int:
    """Return an action, 0 to 3."""
    number = whole_number(action)
    if number is None or not 0 <= number < NUM_ACTIONS:
        raise ValueError(f"the action is {action!r}; give {ACTIONS}")
    return number


def many_actions(actions: Any, count: int) -> NDArray[np.int32]:
    """Return the actions of `count` games, each 0 to 3."""
    array = np.asarray(actions)
    if array.dtype.kind not in "iu":
        raise ValueError(f"the actions are of type {array.dtype}; give whole numbers, such as int64")
    if array.shape != (count,):
        raise ValueError(f"the actions are of shape {array.shape}; give ({count},), one for each game")
    if (wrong := np.flatnonzero((array < 0) | (array >= NUM_ACTIONS))).size:
        raise ValueError(f"the action of game {wrong[0]} is {array[wrong[0]]}; give {ACTIONS}")
    return array.astype(np.int32)


def many_seeds(seed: Any, count: int) -> list[int | None]:
    """Return the seeds of `count` games; None for those that are to be drawn.

    `seed` is that of game 0, game i has seed + i; or there is one for each game; None: all are drawn.
    """
    if seed is None:
        return [None] * count
    first = whole_number(seed)
    if first is None and not isinstance(seed, Sequence | np.ndarray):
        raise ValueError(f"the seed is {seed!r}; give a whole number, {count} of them, or None")
    given = list(seed) if first is None else [first + i for i in range(count)]
    if len(given) != count:
        raise ValueError(f"{len(given)} seeds for {count} games: give one for each")
    seeds = [None if value is None else whole_number(value) for value in given]
    for value, number in zip(given, seeds, strict=True):
        if value is not None and (number is None or not 0 <= number < SEEDS):
            raise ValueError(f"a seed is {value!r}; give whole numbers of 0 to {SEEDS - 1}")
    return seeds
