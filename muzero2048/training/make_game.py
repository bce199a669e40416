"""The environment of a training: the only place that chooses it."""

from muzero2048.game.env import BoardGame
from muzero2048.game.family_env import make_board_game
from muzero2048.training.config import TrainingConfig


def make_game(config: TrainingConfig) -> BoardGame:
    """Return the game that a config names, on its board."""
    return make_board_game(config.game, config.rows, config.columns)
