"""The errors by depth of a learner in training, and boards of a player's own games."""

import jax.numpy as jnp
import numpy as np

from launch.experiment.metrics import DEPTH_NUMBERS, REGISTRY
from muzero2048.muzero.config import ChanceConfig
from muzero2048.muzero.diagnosis.by_depth import REPORTED, errors_in_training, played_boards
from muzero2048.muzero.learner_state import acting_params
from muzero2048.muzero.network_player import network_setting
from tests.muzero2048.toy_model import GAME, shared_learner, small_config


def test_a_training_reports_registered_metrics_at_two_depths() -> None:
    config = small_config("cells")
    learner = shared_learner(config)
    state, _ = learner.fill(learner.init(0))
    found = errors_in_training(config, learner.graphdef, acting_params(state), state.replay)
    assert set(found) == {f"depth{k}/{name}" for k in REPORTED for name, *_ in DEPTH_NUMBERS}
    assert set(found) <= set(REGISTRY)
    assert all(np.isfinite(value) for value in found.values())
    assert 0 < found["depth5/boards"] <= found["depth1/boards"]


def test_boards_of_play_are_legal_and_from_all_parts_of_the_games() -> None:
    config = small_config("cells")
    learner = shared_learner(config)
    params = acting_params(learner.init(0))
    cells = played_boards(network_setting(config, learner.graphdef), params, 150, seed=5)
    assert cells.shape == (150, 2, 3)
    assert bool(GAME.legal_actions(GAME.from_cells(jnp.asarray(cells))).any(axis=-1).all())
    assert len(np.unique(sum_of_tiles(cells))) > 10


def test_boards_are_not_those_of_the_openings_alone() -> None:
    """Games of 4x4 last longer than one call of 64 moves, after which the tiles sum to 141 +- 5."""
    config = small_config("cells", 4, 4, chance=ChanceConfig("learned", 32))
    learner = shared_learner(config)
    params = acting_params(learner.init(0))
    sums = sum_of_tiles(played_boards(network_setting(config, learner.graphdef), params, 32, seed=5))
    assert sums.min() < 100
    assert sums.max() > 180


def sum_of_tiles(cells: np.ndarray) -> np.ndarray:
    """Add the tiles of each board; the sum grows by 2 or 4 a move."""
    return ((1 << cells.astype(int)) * (cells > 0)).sum(axis=(1, 2))
