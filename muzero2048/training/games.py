"""The environment of a training: the only place that chooses it."""

from muzero2048.game.env import BoardGame, Game2048
from muzero2048.game.family import FamilyGame
from muzero2048.training.config import TrainingConfig
from ntuple.core.games.game_2048 import GAME_2048


def make_game(config: TrainingConfig) -> BoardGame:
    """Return the game that a config names, on its board; 2048 has an environment of its own, which is faster."""
    if config.game == GAME_2048.name:
        return Game2048(config.rows, config.columns)
    return FamilyGame(config.rules, config.rows, config.columns)
