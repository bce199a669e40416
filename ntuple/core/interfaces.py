"""Return types of all players, and the check of the boards that a player analyses. Imports numpy only.

All three packages use these types: launch -> muzero2048 -> ntuple (docs/architecture.md).
Shapes: `G` games, `B` boards of `H, W` cells. Actions: up, right, down, left = 0..3.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import HINT_BITS
from ntuple.core.games.game_2048 import GAME_2048


class Marks(NamedTuple):
    """One random position of each game: what the player said of it, and what the game then gave, in points."""

    value: NDArray[np.float64]  # [G] V: value of the move that the player made there
    gain: NDArray[np.float64]  # [G] G: discounted points from that move on, to the end of the game


class Games(NamedTuple):
    """Finished games, in the order of their indices."""

    score: NDArray[np.int64]  # [G] points
    max_tile: NDArray[np.int64]  # [G] value of the largest tile of the final board, such as 2048
    moves: NDArray[np.int64]  # [G] moves made by the player
    seconds: float  # wall time of playing all games, without compiling
    marks: Marks | None = None  # None: the player does not mark positions
    goals: tuple[int, ...] = GAME_2048.goals  # tiles of which the shares of games that reach them are reported


class SoFar(NamedTuple):
    """What is played of some games."""

    finished: Games  # `seconds` since the play began
    left: float | None  # seconds until all games are finished, estimated; None: unknown, no game is finished


# A player calls it once, when compiling is over and the first game begins. Its argument returns what is played so far,
# until all games are finished; another thread may call it.
Watch = Callable[[Callable[[], SoFar]], None]


def unwatched(_: Callable[[], SoFar]) -> None:
    """Watch nothing."""


def so_far(results: NDArray[np.int64], seconds: float, goals: tuple[int, ...] = GAME_2048.goals) -> SoFar:
    """Return what is played of G games after some seconds; each game is taken to need the same time.

    Args:
        results: [G, 3] score, largest tile and moves of the games, 0 for those that are not finished.
    """
    score, max_tile, moves = results[results[:, 2] > 0].T
    done = len(score)
    games = Games(score, max_tile, moves, seconds, goals=goals)
    return SoFar(games, seconds / done * (len(results) - done) if done else None)


class EndgameAdvice(NamedTuple):
    """What tables of endgames say of B boards."""

    names: tuple[str, ...]  # of the tables, with pattern and target
    number: NDArray[np.int64]  # [B] the table that removes moves; -1: none
    probability: NDArray[np.float64]  # [B, 4] of its target after each move; -1: illegal move


class Analysis(NamedTuple):
    """The move that a player would make on each of B boards, and the player's values of all moves."""

    action: NDArray[np.int8]  # [B] the chosen move, -1 if no move is legal
    reward: NDArray[np.int64]  # [B, 4] points of each move, -1 if it is illegal
    value: NDArray[np.float64]  # [B, 4] expected points, the reward included; -inf: illegal move, nan: unknown
    effort: NDArray[np.int64]  # [B, 4] search effort of each value in the player's unit; 0: illegal or unknown
    # [B, D, 2] the line that the player expects: moves, each with the code of the spawn after it, -1 after its end
    variation: NDArray[np.int16] | None = None  # None: the player has none
    policy: NDArray[np.float64] | None = None  # [B, 4] the search's probability of each move; None: the player has none
    # [B, C, 3] outcomes of the chance event after the chosen move, by code: probability, visits, value (nan: not
    # visited) in points; None: the player has none
    outcomes: NDArray[np.float64] | None = None
    endgames: EndgameAdvice | None = None  # None: the player has no tables
    names_spawns: bool = True  # codes are those of ntuple/core/games/event_codes.py; false: those of a learned model


def check_boards(
    rows: int,
    columns: int,
    boards: NDArray[np.uint8],
    seeds: NDArray[np.uint32],
    draws: NDArray[np.uint16] | None = None,
    largest: int = GAME_2048.largest_level,
    hints: int = 0,
) -> None:
    """Check the arguments of a player's `analyse`.

    Args:
        boards: uint8[B, H, W], level of the tile of each cell.
        seeds: uint32[B].
        draws: uint16[B], hint and bag (ntuple.core.games.definition.encode_draw); None: the game has none.
        largest: the largest level of the game.
        hints: the number of hints of the game; 0: it tells none.

    Raises:
        ValueError: an array has another shape or type, or a number is out of range.
    """
    given: dict[str, NDArray[Any]] = {"boards": boards, "seeds": seeds}
    if draws is not None:
        given["draws"] = draws
    for name, array in given.items():
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"{name} are of type {array.dtype}: give integers")
    if boards.ndim != 3 or boards.shape[1:] != (rows, columns):
        raise ValueError(f"boards are of shape {boards.shape}: give [boards, {rows}, {columns}]")
    if boards.size and not (boards.min() >= 0 and boards.max() <= largest):
        raise ValueError(f"boards have cells of {boards.min()}..{boards.max()}: give levels of tiles, 0..{largest}")
    for name, array in given.items():
        if name != "boards" and array.shape != boards.shape[:1]:
            raise ValueError(f"{name} are of shape {array.shape}: give one for each of {len(boards)} boards")
    if seeds.size and not (seeds.min() >= 0 and seeds.max() < 2**32):
        raise ValueError(f"seeds are {seeds.min()}..{seeds.max()}: give numbers of 32 bits")
    if not hints or not len(boards):
        return
    if draws is None:
        raise ValueError("the hints of the boards are missing: give draws")
    told = draws & ((1 << HINT_BITS) - 1)
    if not (told.min() >= 1 and told.max() <= hints):
        raise ValueError(f"the hints of the boards are {told.min()}..{told.max()}: give 1..{hints}")
