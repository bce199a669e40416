"""Errors of the learned model by depth: what the tree reads k moves below its root.

From true boards o_0 the model is unrolled along greedy moves and true spawns. Move k is the best move by Q of the true
board o_k, and the code c_k is that of the true spawn:

    s^0 = h(o_0),    s^{k+1} = g(phi(s^k, a_k), c_k)

At each depth the predictions of s^k are compared with those of h(o_k), which is what the same networks say if they see
the board, and with the rules. Depth 0 is the root of a search: it has the errors of one move alone.

Shapes: `B` boards, `A` = 4 actions, `S` true spawns, `D` depths 0 ... D - 1.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from muzero2048.game.env import NUM_ACTIONS, Board, BoardGame, where
from muzero2048.models.base import Model, State
from muzero2048.models.chance_encoders import Observed
from muzero2048.search.dynamics import LearnedDynamics
from muzero2048.search.plan_move import move_all

Errors = dict[str, Float[Array, "D"]]


class Unrolled(NamedTuple):
    """True boards and the latent states that the model was unrolled to."""

    state: State
    board: Board
    alive: Bool[Array, "B"]  # the game is not over


class Spawns(NamedTuple):
    """All chance events of an afterstate."""

    codes: Float[Array, "B S C"]  # one-hot code of each spawn
    probabilities: Float[Array, "B S"]  # of the rules; 0: impossible
    boards: Board  # words of [B * S]


def depth_errors(
    model: Model, game: BoardGame, discount: float, board: Board, key: PRNGKeyArray, depth: int, spawn_boards: int
) -> Errors:
    """Measure the model at depths 0 ... `depth`.

    The boards have legal moves. The afterstates of the first `spawn_boards` boards are tried with all their spawns
    (chance and spawn_*). Returns the numbers of launch/experiment/metrics.py.
    """
    start = Unrolled(model.representation(game.observe(board)), board, ~game.is_over(board))

    def step(unrolled: Unrolled, key: PRNGKeyArray) -> tuple[Unrolled, dict[str, Array]]:
        errors, action = _move_errors(model, game, discount, unrolled)
        first = jax.tree.map(lambda x: x[:spawn_boards], (unrolled, action))
        return _make_move(model, game, key, unrolled, action), errors | _spawn_errors(model, game, *first)

    return jax.lax.scan(step, start, jax.random.split(key, depth + 1))[1]


def _move_errors(
    model: Model, game: BoardGame, discount: float, unrolled: Unrolled
) -> tuple[dict[str, Array], Int[Array, "B"]]:
    """Compare the predictions of s^k with those of h(o_k) and with the rules; return the greedy move, too."""
    state, board, alive = unrolled
    dynamics = LearnedDynamics(model, game)
    seen = model.representation(game.observe(board))
    legal = game.legal_actions(board) & alive[:, None]
    reward = game.expected_reward(*game.all_afterstates(board))
    unrolled_output, seen_output = (_evaluate(model, dynamics, discount, s) for s in (state, seen))
    best, action = (jnp.argmax(jnp.where(legal, x.q, -jnp.inf), axis=-1) for x in (unrolled_output, seen_output))
    unplayed = legal & ~jax.nn.one_hot(action, NUM_ACTIONS, dtype=bool)
    error = jnp.abs(unrolled_output.reward - reward)
    illegal = ~legal & alive[:, None]
    errors = {
        "value_correlation": _correlation(unrolled_output.value, seen_output.value, alive.astype(jnp.float32)),
        "value_error": _mean(jnp.abs(unrolled_output.value - seen_output.value), alive),
        "reward_error": _mean(error, legal),
        "reward_error_unplayed": _mean(error, unplayed),
        "reward_mean": _mean(reward, legal),
        "best_move": _mean(best == action, alive),
        "illegal_prior": _mean(jnp.sum(unrolled_output.policy * illegal, axis=-1), alive),
        "illegal_prior_root": _mean(jnp.sum(seen_output.policy * illegal, axis=-1), alive),
        "boards": alive.sum().astype(jnp.float32),
    }
    return errors, action


class Evaluated(NamedTuple):
    """What the model predicts for states."""

    value: Float[Array, "B"]
    policy: Float[Array, "B A"]
    reward: Float[Array, "B A"]
    q: Float[Array, "B A"]


def _evaluate(model: Model, dynamics: LearnedDynamics, discount: float, state: State) -> Evaluated:
    prediction = model.prediction(state)
    after = move_all(dynamics, state)
    reward, value = (x.reshape(-1, NUM_ACTIONS) for x in (after.reward, after.value))
    policy = jax.nn.softmax(prediction.policy_logits)
    return Evaluated(model.codec.decode(prediction.value_logits), policy, reward, reward + discount * value)


def _spawn_errors(model: Model, game: BoardGame, unrolled: Unrolled, action: Int[Array, "B"]) -> dict[str, Array]:
    """Compare the chance distribution, and the values after each spawn of an afterstate."""
    state, board, alive = unrolled
    spawns = _all_spawns(model, game, board, action)
    batch, count = spawns.probabilities.shape
    afterstate, _ = model.afterstate_dynamics(state, action)
    predicted = jax.nn.softmax(model.afterstate_prediction(afterstate).chance_logits)
    true = jnp.einsum("bs,bsc->bc", spawns.probabilities, spawns.codes)
    repeated = jax.tree.map(lambda x: jnp.repeat(x, count, axis=0), afterstate)
    following = model.dynamics(repeated, spawns.codes.reshape(batch * count, -1))
    seen = model.representation(game.observe(spawns.boards))
    values, true_values = (
        model.codec.decode(model.prediction(s).value_logits).reshape(batch, count) for s in (following, seen)
    )
    # h never saw a board on which the game is over.
    true_values = jnp.where(game.is_over(spawns.boards).reshape(batch, count), 0.0, true_values)
    weight = spawns.probabilities * alive[:, None]
    code_entropy, spawn_entropy = (-jnp.sum(xlogy(p, p) * alive[:, None]) for p in (true, spawns.probabilities))
    values, true_values = (x - jnp.sum(x * spawns.probabilities, axis=-1, keepdims=True) for x in (values, true_values))
    return {
        "chance_distance": _mean(0.5 * jnp.abs(predicted - true).sum(axis=-1), alive),
        "spawn_correlation": _correlation(values, true_values, weight),
        "spawn_spread": _spread(values, weight),
        "spawn_spread_true": _spread(true_values, weight),
        "spawns_told": code_entropy / jnp.maximum(spawn_entropy, 1e-9),
    }


def _all_spawns(model: Model, game: BoardGame, board: Board, action: Int[Array, "B"]) -> Spawns:
    """Return codes, probabilities and boards of all spawns after the moves."""
    after, _ = game.afterstate(board, action)
    count = game.num_spawn_codes
    probabilities = game.chance_probabilities(after)
    numbers = jnp.tile(jnp.arange(count), len(action))
    befores, afters, actions = jax.tree.map(lambda x: jnp.repeat(x, count, axis=0), (board, after, action))
    # Where a cell is occupied there is no such spawn; the afterstate stands in for the board, with probability 0.
    following = where(probabilities.ravel() > 0, game.place(afters, numbers), afters)
    code = _code_of(model, game, actions, numbers, befores, afters, following)
    return Spawns(code.reshape(len(action), count, -1), probabilities, following)


def _code_of(model: Model, game: BoardGame, action: Array, spawn_code: Array, *boards: Board) -> Float[Array, "B C"]:
    """Return the one-hot chance codes of transitions; boards before the move, after it, after the spawn."""
    cells, after_cells, next_cells = (game.observe(board) for board in boards)
    return model.chance_encoder.code(model, Observed(cells, action, after_cells, next_cells, spawn_code))[0]


def _make_move(
    model: Model, game: BoardGame, key: PRNGKeyArray, unrolled: Unrolled, action: Int[Array, "B"]
) -> Unrolled:
    """Make the move and a random spawn, on the board and in the model."""
    state, board, alive = unrolled
    after, _ = game.afterstate(board, action)
    following, spawn_code = game.spawn(key, after)
    code = _code_of(model, game, action, spawn_code, board, after, following)
    state = model.dynamics(model.afterstate_dynamics(state, action)[0], code)
    following = where(alive, following, board)
    return Unrolled(state, following, alive & ~game.is_over(following))


def _mean(x: Any, counts: Bool[Array, "*B"]) -> Float[Array, ""]:
    return jnp.sum(jnp.where(counts, x, 0).astype(jnp.float32)) / jnp.maximum(counts.sum(), 1)


def _spread(x: Float[Array, "*B"], weight: Float[Array, "*B"]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.sum(weight * x**2) / jnp.maximum(weight.sum(), 1e-9))


def _correlation(x: Float[Array, "*B"], y: Float[Array, "*B"], weight: Float[Array, "*B"]) -> Float[Array, ""]:
    """Compute the weighted correlation; 0 if x or y is constant."""
    total = jnp.maximum(weight.sum(), 1e-9)
    x, y = (v - jnp.sum(weight * v) / total for v in (x, y))
    scale = jnp.sqrt(jnp.sum(weight * x**2) * jnp.sum(weight * y**2))
    return jnp.sum(weight * x * y) / jnp.maximum(scale, 1e-9)
