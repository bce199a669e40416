"""Tests of trainings on the games of the family: their keys, scores with the points of placed tiles, batches, views."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.game.env import Game2048
from muzero2048.game.family_env import FamilyGame
from muzero2048.game.symmetry import symmetries, view_cells
from muzero2048.muzero.batches import Sequence, make_batch, view_sequence
from muzero2048.players.lanes import open_lanes, play_lanes
from muzero2048.search.dynamics import BoardEvaluator, SimulatorDynamics
from muzero2048.search.views import view_boards
from muzero2048.training.actor import DRAWS, init_actor, step_actor
from ntuple.core.games.known import GAMES
from ntuple.core.games.threes import THREES, THREES_SMALL
from tests.muzero2048.toy_model import small_config

THREES_2X3 = FamilyGame(THREES_SMALL, 2, 3)


def test_the_game_of_a_config() -> None:
    assert small_config().board_game == Game2048(2, 3)
    assert small_config(game="threes").board_game == THREES_2X3
    assert small_config(game="threes", rows=4, columns=4).board_game == FamilyGame(THREES, 4, 4)
    assert small_config(game="2584").board_game == FamilyGame(GAMES["2584"], 2, 3)


def test_planes_and_codes_follow_the_game() -> None:
    config = small_config(game="threes", rows=4, columns=4)
    assert config.board_network.tile_levels == 16  # 14 tiles, empty, and empty where a tile may be placed
    assert config.more_inputs == 4
    assert config.spawn_codes == 16 * 11 * 4
    assert small_config(game="2584").board_network.tile_levels == 32
    assert small_config().board_network == small_config().network


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"game": "2049"}, "^game is '2049'; give one of: 2048, 2584,"),
        ({"game": "threes-easy"}, "^threes-easy begins with 9 tiles, too many for a board of 2x3; give"),
        ({"game": "threes", "kind": "grounded"}, "network.model is 'grounded'; give latent or cells"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_config(**changes)  # type: ignore[arg-type]


@pytest.mark.slow
def test_scores_of_threes_are_those_of_the_board() -> None:
    """Points of openings, moves and placements add up to the points of all tiles on the board."""
    actor = init_actor(THREES_2X3, jax.random.key(0), 64)
    step = jax.jit(functools.partial(step_actor, THREES_2X3, discount=1.0))
    games = 0
    for t in range(40):
        np.testing.assert_array_equal(actor.score, THREES_2X3.opening_points(actor.board))
        action = THREES_2X3.random_action(jax.random.key(t), actor.board)
        bits = jax.random.bits(jax.random.key(t), (DRAWS, 64), jnp.uint32)
        actor, transition, _ = step(bits, actor, action, jnp.zeros(64))
        games += int(transition.done.sum())
    assert games > 20

    def policy(board: tuple[jax.Array, ...], seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        return THREES_2X3.random_action_from_bits(seeds, board), jnp.zeros(len(seeds))

    seed = jnp.uint32(1)
    lanes = play_lanes(THREES_2X3, policy, open_lanes(THREES_2X3, 8, 100, seed), seed, 1.0)
    assert int(lanes.next_game) > 16
    np.testing.assert_array_equal(lanes.score, THREES_2X3.opening_points(lanes.board))


def test_the_simulator_adds_the_points_of_the_hint() -> None:
    """The hint is a 3, which earns 3 points when it is placed; the values of afterstates do not contain them."""
    seen = jnp.array([[1, 2, 0, 0, 0, 0, 3, 1, 1, 0], [1, 2, 0, 0, 0, 0, 1, 0, 1, 1]], jnp.uint8)
    board = THREES_2X3.from_observation(seen)
    evaluator = BoardEvaluator(THREES_2X3, lambda after: jnp.zeros(after[0].shape), 1.0, 1.0)
    after = SimulatorDynamics(THREES_2X3, evaluator).move(board, jnp.array([3, 3]))
    assert after.reward.tolist() == [3 + 3, 3]  # 1 + 2 make a 3
    values, _ = evaluator.states(board, THREES_2X3.legal_actions(board))
    assert values.tolist() == [6, 3]


def played(game: FamilyGame, length: int) -> Sequence:
    """Return random moves of 64 games."""
    board, rows = game.init(jax.random.key(1), (64,)), []
    step = jax.jit(game.step)
    for t in range(length):
        action = game.random_action(jax.random.key(t), board)
        following, transition = step(jax.random.key(t), board, action)
        policy = jnp.zeros((64, 4))
        rows.append(
            Sequence(
                game.observe(board),
                action,
                transition.reward.astype(jnp.float32),
                transition.done,
                transition.spawn_code,
                policy,
                jnp.zeros(64),
            )
        )
        board = following
    return jax.tree.map(lambda *x: jnp.stack(x, axis=1), *rows)


@pytest.mark.parametrize("game", [THREES_2X3, FamilyGame(THREES), FamilyGame(GAMES["2584"], 2, 3)])
def test_batches_hold_the_positions_of_play_in_every_view(game: FamilyGame) -> None:
    sequence, views = played(game, 4), symmetries(game.rows, game.columns)
    view = jnp.arange(64) % views.num_views
    ways = game.num_spawn_codes // game.num_cells
    batch = make_batch(game, view_sequence(views, view, sequence, ways), 1.0)
    seen = view_cells(views, view[:, None], sequence.cells)
    np.testing.assert_array_equal(batch.cells[batch.alive], seen[batch.alive])
    assert batch.alive.sum() > 100


def test_views_of_a_board_keep_hint_and_bag() -> None:
    board = THREES_2X3.init(jax.random.key(0), (5,))
    several = view_boards(THREES_2X3, 4, board)
    np.testing.assert_array_equal(several[-1].reshape(5, 4), jnp.broadcast_to(board[-1][:, None], (5, 4)))
    np.testing.assert_array_equal(THREES_2X3.observe(several)[::4], THREES_2X3.observe(board))
    seen = THREES_2X3.observe(board)
    turned = view_cells(symmetries(2, 3), jnp.full(5, 3), seen)
    np.testing.assert_array_equal(THREES_2X3.observe(several)[3::4], turned)
