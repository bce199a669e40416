"""Tests of the dynamics: simulator and evaluators against plain Python, learned model against its own functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import rules

from muzero2048.game.env import Board
from muzero2048.muzero.config import ChanceConfig
from muzero2048.search.base import ILLEGAL, Afterstate, Decision
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import (
    BoardEvaluator,
    LearnedDynamics,
    NetworkEvaluator,
    SimulatorDynamics,
    make_dynamics,
)

from ..toy_model import (
    GAME,
    KINDS,
    Boards,
    PlainEvaluator,
    boards_with,
    fast_value,
    packed,
    plain_value,
    random_model,
    small_config,
)


@pytest.fixture(scope="module")
def boards() -> Boards:
    found = boards_with(range(1), range(1, 2), range(2, 5), count=12).plain
    # On the first of these boards, any spawn after a move to the right ends the game. The second is over.
    return packed([*found, ((3, 4, 5), (5, 3, 0)), ((3, 4, 5), (4, 3, 6))])


def as_plain(board: Board) -> list[rules.Board]:
    return [tuple(tuple(int(cell) for cell in row) for row in cells) for cells in np.asarray(GAME.to_cells(board))]


def test_the_simulator_obeys_the_rules(boards: Boards) -> None:
    dynamics = SimulatorDynamics(GAME, PlainEvaluator())
    assert dynamics.codes == 12
    move, spawn = jax.jit(dynamics.move), jax.jit(dynamics.spawn)
    check_decisions(jax.jit(dynamics.root)(boards.words), boards.plain, list(range(len(boards.plain))))
    ends = 0
    for action in rules.ACTIONS:
        after = move(boards.words, jnp.full(len(boards.plain), action))
        check_afterstates(after, boards, action)
        for code in range(12):
            moved = [rules.afterstate(board, action)[0] for board in boards.plain]
            free = [i for i, board in enumerate(moved) if rules.cells(board)[code // 2] == 0]
            spawned = spawn(after.state, jnp.full(len(moved), code))
            expected = [rules.spawn(moved[i], code) for i in free]
            check_decisions(spawned, expected, free)
            ends += sum(rules.is_over(board) for board in expected)
    assert ends > 0


def check_decisions(found: Decision, boards: list[rules.Board], rows: list[int]) -> None:
    if not rows:
        return
    states = as_plain(found.state)
    assert [states[row] for row in rows] == boards
    legal = np.array([rules.legal_actions(board) for board in boards])
    value = np.array([plain_value(board) for board in boards])
    np.testing.assert_allclose(np.asarray(found.value)[rows], np.where(legal.any(axis=1), value, 0.0))
    logits = np.stack([value, 80 - value, 2 * value - 40, 0 * value], axis=1) / 20
    np.testing.assert_allclose(np.asarray(found.policy_logits)[rows], np.where(legal, logits, ILLEGAL), rtol=1e-6)


def check_afterstates(found: Afterstate, boards: Boards, action: int) -> None:
    moves = [rules.afterstate(board, action) for board in boards.plain]
    assert as_plain(found.state) == [after for after, _ in moves]
    assert found.reward.tolist() == [reward for _, reward in moves]
    chances = [rules.chance_probabilities(after) for after, _ in moves]
    expected = [[float(chance.get(code, 0)) for code in range(12)] for chance in chances]
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-6)
    values = [
        3 * plain_value(after) - plain_value(board) + action
        for (after, _), board in zip(moves, boards.plain, strict=True)
    ]
    np.testing.assert_allclose(found.value, values)


@pytest.mark.parametrize("kind", KINDS[::2])
def test_networks_evaluate_true_boards(kind: str, boards: Boards) -> None:
    """States are evaluated by f(h(s)); afterstates by psi(h(as)) if the model is grounded, else psi(phi(h(s), a))."""
    model = random_model(small_config(kind), seed=1)
    evaluator = NetworkEvaluator(model, GAME)
    value, logits = jax.jit(evaluator.states)(boards.words, jnp.asarray(boards.legal))
    cells = jnp.asarray([rules.cells(board) for board in boards.plain], jnp.uint8)
    prediction = jax.jit(lambda cells: model.prediction(model.representation(cells)))(cells)
    np.testing.assert_allclose(value, model.codec.decode(prediction.value_logits), rtol=1e-5)
    np.testing.assert_array_equal(logits, prediction.policy_logits)
    action = jnp.arange(len(cells)) % 4
    after, _ = GAME.afterstate(boards.words, action)
    moved = [rules.afterstate(board, i % 4)[0] for i, board in enumerate(boards.plain)]
    moved_cells = jnp.asarray([rules.cells(board) for board in moved], jnp.uint8)

    @jax.jit
    def expected() -> jax.Array:
        if model.grounded:
            latent = model.representation(moved_cells)
        else:
            latent, _ = model.afterstate_dynamics(model.representation(cells), action)
        return model.codec.decode(model.afterstate_prediction(latent).value_logits)

    found = jax.jit(evaluator.afterstates)(boards.words, action, after)
    np.testing.assert_allclose(found, expected(), rtol=1e-5)


def test_a_board_function_looks_one_move_ahead(boards: Boards) -> None:
    """Compare V(s) = max_a r + gamma V(as), and the policy softmax(q / temperature), with plain Python."""
    evaluator = BoardEvaluator(GAME, fast_value, 0.9, 2.0)
    value, logits = jax.jit(evaluator.states)(boards.words, jnp.asarray(boards.legal))
    for i, board in enumerate(boards.plain):
        moves = [rules.afterstate(board, action) for action in rules.ACTIONS]
        q = np.array([reward + 0.9 * plain_value(after) for after, reward in moves])
        legal = np.array(rules.legal_actions(board))
        best = q[legal].max() if legal.any() else 0.0
        np.testing.assert_allclose(value[i], best, rtol=1e-6)
        np.testing.assert_allclose(logits[i], np.where(legal, (q - best) / 2.0, ILLEGAL), rtol=1e-5, atol=1e-5)
    after, _ = GAME.afterstate(boards.words, 0)
    found = evaluator.afterstates(boards.words, jnp.zeros(len(boards.plain), jnp.int32), after)
    np.testing.assert_array_equal(found, fast_value(after))


@pytest.mark.parametrize("encoder", ["learned", "oracle"])
def test_the_learned_world_is_the_models(encoder: str, boards: Boards) -> None:
    """Learned dynamics apply the functions of the model one after the other; the board is read only at the root.

    They have the C codes of the model's config, also with an oracle encoder.
    """
    model = random_model(small_config(chance=ChanceConfig(encoder, 14)), seed=2)
    dynamics = LearnedDynamics(model, GAME)
    assert dynamics.codes == 14
    batch = len(boards.plain)
    action, code = jnp.arange(batch) % 4, jnp.arange(batch) % 14

    @jax.jit
    def found() -> tuple[Decision, Afterstate, Decision]:
        root = dynamics.root(boards.words)
        after = dynamics.move(root.state, action)
        return root, after, dynamics.spawn(after.state, code)

    @jax.jit
    def expected() -> tuple[Decision, Afterstate, Decision]:
        state = model.representation(GAME.flat_cells(boards.words))
        afterstate, reward = model.afterstate_dynamics(state, action)
        behind = model.afterstate_prediction(afterstate)
        value, chances = model.codec.decode(behind.value_logits), jax.nn.softmax(behind.chance_logits)
        following = model.dynamics(afterstate, jax.nn.one_hot(code, 14))
        return decide(state), Afterstate(afterstate, value, model.reward(reward), chances), decide(following)

    def decide(state: jax.Array) -> Decision:
        prediction = model.prediction(state)
        return Decision(state, model.codec.decode(prediction.value_logits), prediction.policy_logits)  # not masked

    for one, other in zip(jax.tree.leaves(found()), jax.tree.leaves(expected()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
        assert len(np.unique(np.asarray(one).round(4), axis=0)) > 5


def test_the_config_names_the_world() -> None:
    model = random_model(small_config(), seed=2)
    assert isinstance(make_dynamics(model, GAME, SearchConfig()), LearnedDynamics)
    assert isinstance(make_dynamics(model, GAME, SearchConfig(model="simulator")), SimulatorDynamics)
