"""The errors by depth of a learner in training, and boards of a player's own games."""

import jax.numpy as jnp
import numpy as np
from flax import nnx

from launch.experiment.metrics import DEPTH_NUMBERS, REGISTRY
from muzero2048.game.env import Game2048
from muzero2048.muzero.config import ChanceConfig
from muzero2048.muzero.diagnosis.by_depth import REPORTED, errors_in_training, played_boards
from muzero2048.muzero.network_player import network_setting
from tests.muzero2048.toy_model import buffer_of, random_model, small_config


def test_a_training_reports_registered_metrics_at_two_depths(rng: np.random.Generator) -> None:
    config = small_config("cells")
    graphdef, params = nnx.split(random_model(config, seed=0))
    found = errors_in_training(config, graphdef, params, buffer_of(rng, (2, 3)))
    assert set(found) == {f"depth{k}/{name}" for k in REPORTED for name, *_ in DEPTH_NUMBERS}
    assert set(found) <= set(REGISTRY)
    assert all(np.isfinite(value) for value in found.values())
    assert 0 < found["depth5/boards"] <= found["depth1/boards"]


def test_boards_of_play_are_legal_and_not_those_of_the_openings_alone() -> None:
    """Games of 4x4 last longer than one call of 64 moves, after which the tiles sum to 141 +- 5."""
    config, game = small_config(rows=4, columns=4, chance=ChanceConfig("learned", 32)), Game2048(4, 4)
    graphdef, params = nnx.split(random_model(config, seed=0))
    said: list[str] = []
    seen = played_boards(network_setting(config, graphdef), params, 32, 5, said.append)
    assert seen.shape == (32, 16)
    cells = seen.reshape(32, 4, 4)
    assert said[-1] == "playing: 32 of 32 games, 32 of 32 boards"
    assert bool(game.legal_actions(game.from_cells(jnp.asarray(cells))).any(axis=-1).all())
    sums = sum_of_tiles(cells)
    assert sums.min() < 100
    assert sums.max() > 180


def sum_of_tiles(cells: np.ndarray) -> np.ndarray:
    """Add the tiles of each board; the sum grows by 2 or 4 a move."""
    return ((1 << cells.astype(int)) * (cells > 0)).sum(axis=(1, 2))
