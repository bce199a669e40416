"""Who places the tiles: the game by chance, or an opponent of the player (Guei 2023, sec. 5.2.2 and table 33).

    chance           as the game says
    minimax          the opponent chooses the cell, the tile, and in Threes! the next hint; it announces no bonus tile
    expectiminimax   the tile is drawn, the opponent chooses its cell, then the next hint is drawn

The first tiles of a game are always drawn, so that games differ.
"""

from typing import Final, Literal, NamedTuple

from ntuple.core.games.definition import Game

OpponentName = Literal["chance", "minimax", "expectiminimax"]
CHANCE: Final = "chance"
ADVERSARY = "adversary"  # the opponent of table 33: `Game.adversary`


class Opponent(NamedTuple):
    """An opponent in kernels."""

    chooses_tile: bool  # minimax; expectiminimax: it does not


OPPONENTS: dict[str, Opponent | None] = {  # None: chance
    CHANCE: None,
    "minimax": Opponent(True),
    "expectiminimax": Opponent(False),
}


def opponent_of(word: str, game: Game) -> str:
    """Return the key of OPPONENTS that a word of the user means; ValueError if there is none."""
    if word == ADVERSARY:
        return game.adversary
    if word not in OPPONENTS:
        raise ValueError(f"there is no opponent {word!r}; give one of: {ADVERSARY}, {', '.join(OPPONENTS)}")
    return word
