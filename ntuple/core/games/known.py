"""The games by their names on the command line and in configs."""

from ntuple.core.games.definition import GOALS_IN_TRAINING, Game
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.game_2584 import GAME_2584, GAME_2584_HARD
from ntuple.core.games.threes import THREES, THREES_EASY, THREES_FAR_SIDE, THREES_SMALL

GAMES = {
    game.name: game
    for game in (GAME_2048, GAME_2584, GAME_2584_HARD, THREES, THREES_EASY, THREES_FAR_SIDE, THREES_SMALL)
}

# All tiles of which the shares of games that reach them are reported, in some game: by evaluations, and by trainings.
GOALS = tuple(sorted({tile for game in GAMES.values() for tile in game.goals}))
TRAINING_GOALS = tuple(sorted({game.goals[k] for game in GAMES.values() for k in GOALS_IN_TRAINING}))


def board_name(rows: int, columns: int, game: str = GAME_2048.name) -> str:
    """Return a board as tables name it: "4x4" in 2048, in another game such as "threes 4x4"."""
    return f"{rows}x{columns}" if game == GAME_2048.name else f"{game} {rows}x{columns}"


def find_game(name: str, rows: int = 4, columns: int = 4) -> Game:
    """Return the game of a name; ValueError if there is none, or if its first tiles leave no cell of the board empty.

    "threes" on a board smaller than 4x4 has the rules of project 3 of the course, THREES_SMALL: the dissertation
    defines Threes! on small boards nowhere else, and nine first tiles would fill one.
    """
    if name not in tuple(GAMES):  # also of what has no hash, such as a list
        raise ValueError(f"there is no game {name!r}; give one of: {', '.join(GAMES)}")
    game = THREES_SMALL if name == THREES.name and rows * columns < 16 else GAMES[name]
    if game.initial_tiles >= rows * columns:  # it may be over before the first move
        first = f"{name} begins with {game.initial_tiles} tiles"
        raise ValueError(f"{first}, too many for a board of {rows}x{columns}; give another game or a larger board")
    return game
