"""Tests of the gradients of the loss against a back-propagation by hand, on a model with one number as its latent.

    h: s = h x     phi: as = p s     g: s' = q as + d code     f: V(s) = s     psi: V(as) = as, codes by as sigma
    e: logits = e of every transition

x is the first cell of the board. All losses of values, rewards and latents are linear here: prediction * target. So
every gradient is a product of the parameters and of the factors that scale or stop it, which the tests write down.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from muzero2048.models.base import AfterstatePrediction, Model, Prediction
from muzero2048.models.chance_encoders import CHANCE_ENCODERS, Observed
from muzero2048.muzero.batches import Batch
from muzero2048.muzero.config import LossWeights
from muzero2048.muzero.losses import batch_size, unrolled_loss
from tests.muzero2048.toy_model import small_config

B, K, C = 4, 3, 5
START = {"h": 0.7, "p": 1.3, "q": -0.8}
DENSE, SIGMA, ENCODER = (np.random.default_rng(seed).normal(size=C) for seed in range(3))
NO_LOSS = LossWeights(**{term.name: 0.0 for term in dataclasses.fields(LossWeights)})
CONFIG = small_config()


class LinearCodec:
    """A codec whose logits are the values, and whose loss is value * target."""

    def decode(self, logits: jax.Array) -> jax.Array:
        return logits[..., 0]

    def loss(self, logits: jax.Array, target: jax.Array) -> jax.Array:
        return logits[..., 0] * target

    def saturated(self, x: jax.Array) -> jax.Array:
        return jnp.zeros(x.shape, bool)


class NumberModel(Model):
    """The functions above; its loss of consistency is the product of the predicted and the true latent."""

    def __init__(self) -> None:
        self.codec, self.codes, self.tile_levels = LinearCodec(), C, 10
        self.spawn_codes = 2 * 6
        self.chance_encoder = CHANCE_ENCODERS["learned"]
        self.h, self.p, self.q = (nnx.Param(jnp.float32(START[name])) for name in "hpq")
        self.d, self.sigma, self.e = (nnx.Param(jnp.asarray(x, jnp.float32)) for x in (DENSE, SIGMA, ENCODER))
        self.predictor = nnx.Module()

    def representation(self, cells: jax.Array) -> jax.Array:
        return self.h[...] * cells[:, :1].astype(jnp.float32)

    def prediction(self, state: jax.Array) -> Prediction:
        return Prediction(jnp.zeros((len(state), 4)), state)

    def afterstate_dynamics(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self.p[...] * state, self.p[...] * state

    def afterstate_prediction(self, afterstate: jax.Array) -> AfterstatePrediction:
        return AfterstatePrediction(afterstate * self.sigma[...][None], afterstate)

    def dynamics(self, afterstate: jax.Array, code: jax.Array) -> jax.Array:
        return self.q[...] * afterstate + code @ self.d[...][:, None]

    def reward(self, reward_head: jax.Array) -> jax.Array:
        return reward_head[:, 0]

    def reward_loss(self, reward_head: jax.Array, target: jax.Array) -> jax.Array:
        return reward_head[:, 0] * target

    def inconsistency(self, predicted: jax.Array, true: jax.Array) -> jax.Array:
        return (predicted * true)[:, 0]

    def encode(self, observed: Observed) -> jax.Array:
        return jnp.broadcast_to(self.e[...], (len(observed.cells), C))


def some_batch(moves: int = K) -> Batch:
    """Return random targets; the last sample dies after its first move, and every sample has its own weight."""
    rng = np.random.default_rng(5)
    alive = np.ones((B, moves + 1), bool)
    alive[-1, 1:] = False

    def targets(columns: int) -> jax.Array:
        return jnp.asarray(rng.normal(size=(B, columns)), jnp.float32)

    return Batch(
        cells=jnp.asarray(rng.integers(1, 6, (B, moves + 1, 6)), jnp.uint8),
        alive=jnp.asarray(alive),
        value=targets(moves + 1),
        policy=jnp.full((B, moves + 1, 4), 0.25),
        afterstate_cells=jnp.asarray(rng.integers(1, 6, (B, moves, 6)), jnp.uint8),
        action=jnp.zeros((B, moves), jnp.int32),
        spawn_code=jnp.zeros((B, moves), jnp.int32),
        reward=targets(moves),
        afterstate_value=targets(moves),
        weight=jnp.asarray(rng.uniform(0.2, 3.0, B), jnp.float32),
    )


def gradient(batch: Batch, **weights: float) -> dict[str, np.ndarray]:
    """Return the gradient of the loss with some weights of its terms; the weights of all others are 0."""
    config = dataclasses.replace(CONFIG, losses=dataclasses.replace(NO_LOSS, **weights))
    found = jax.jit(nnx.grad(lambda model: unrolled_loss(model, batch, batch_size(batch), config)[0]))(NumberModel())
    return {name: np.asarray(found[name][...], float) for name in ("h", "p", "q", "d", "sigma", "e")}


def soft_code() -> np.ndarray:
    weights = np.exp(ENCODER - ENCODER.max())
    return weights / weights.sum()


HARD_CODE = np.eye(C)[ENCODER.argmax()]


def through_softmax(gradient: np.ndarray) -> np.ndarray:
    """Return the gradient of the logits that belongs to a gradient of their softmax."""
    p = soft_code()
    return p * (gradient - p @ gradient)


def plain_gradient(batch: Batch, value: float, afterstate_value: float, reward: float, consistency: float) -> dict:
    """Propagate the gradient of the linear losses back along the unroll, with numpy.

    The gradient is halved where the next step of the unroll begins (MuZero, appendix G), at the input of phi: what
    reaches a state from later moves counts half for the move that made it, its own value and consistency fully.
    A code passes its gradient on as if it were the softmax of the encoder's logits.
    """
    data = jax.device_get(batch)
    x, alive, weight = data.cells[:, :, 0].astype(float), data.alive, data.weight.astype(float)
    h, p, q = START.values()
    state, after = [h * x[:, 0]], []
    for k in range(K):
        after.append(p * state[k])
        state.append(q * after[k] + DENSE @ HARD_CODE)
    to_state = [value * weight * data.value[:, k] / B / (K + 1) for k in range(K + 1)]
    found = dict.fromkeys("hpq", 0.0) | {"d": np.zeros(C), "sigma": np.zeros(C), "e": np.zeros(C)}
    behind = to_state[K]
    for k in reversed(range(K)):
        true = np.where(alive[:, k], h * x[:, k + 1] * weight, 0.0) / alive[:, k].sum()
        behind = behind + consistency * true / K
        found["q"] += np.sum(behind * after[k])
        found["d"] += behind.sum() * HARD_CODE
        found["e"] += through_softmax(behind.sum() * DENSE)
        moved = afterstate_value * data.afterstate_value[:, k] + reward * data.reward[:, k]
        to_after = q * behind + weight * moved / B / K
        found["p"] += np.sum(to_after * state[k])
        behind = (0.5 if k > 0 else 1.0) * p * to_after + to_state[k]
    found["h"] = np.sum(behind * x[:, 0])
    return found


@pytest.mark.parametrize(
    "weights",
    [{"value": 2.0}, {"afterstate_value": 3.0, "reward": 0.5}, {"consistency": 1.5}],
    ids=["value", "moves", "consistency"],
)
def test_gradients_of_the_unroll_by_hand(weights: dict[str, float]) -> None:
    """The gradient is halved at each step, the weight of a sample multiplies its losses, and a target learns nothing.

    If only values have a loss, the gradient of h by hand is sum_k (p q)^k 2^-max(k - 1, 0) x times the targets.
    """
    batch = some_batch()
    found = gradient(batch, **weights)
    expected = plain_gradient(batch, **{**dict.fromkeys(("value", "afterstate_value", "reward", "consistency"), 0.0),
                                        **weights})  # fmt: skip
    for name, leaf in expected.items():
        np.testing.assert_allclose(found[name], leaf, rtol=1e-4, atol=1e-6, err_msg=name)
    if "value" in weights:
        factors = (START["p"] * START["q"]) ** np.arange(K + 1) * 0.5 ** np.maximum(np.arange(K + 1) - 1, 0)
        by_sample = np.asarray(batch.weight * batch.cells[:, 0, 0])[:, None] * np.asarray(batch.value)
        np.testing.assert_allclose(found["h"], 2.0 * (by_sample @ factors).sum() / B / (K + 1), rtol=1e-4)


def test_the_target_of_the_chance_loss_learns_nothing() -> None:
    """With one move no later state reads the code. So the chance loss reaches the encoder only if its target is open.

    The loss is the cross-entropy of the logits as * sigma with the code, as a weighted mean over the moves made.
    """
    batch = some_batch(moves=1)
    found = gradient(batch, chance=2.0)
    x, weight = np.asarray(batch.cells[:, 0, 0], float), np.asarray(batch.weight, float)
    after = START["p"] * START["h"] * x
    logits = np.outer(after, SIGMA)
    predicted = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    to_logits = 2.0 * (predicted - HARD_CODE) * weight[:, None] / B
    to_after = to_logits @ SIGMA
    expected = {
        "h": np.sum(to_after * START["p"] * x), "p": np.sum(to_after * START["h"] * x), "q": 0.0, "d": 0.0,
        "sigma": after @ to_logits, "e": 0.0,
    }  # fmt: skip
    for name, leaf in expected.items():
        np.testing.assert_allclose(found[name], leaf, rtol=1e-4, atol=1e-6, err_msg=name)
    assert not found["e"].any()


def test_the_commitment_loss_moves_the_encoder_towards_its_code() -> None:
    """The gradient is that of |softmax(e) - c|^2 with a constant code c (Stochastic MuZero, sec. 4.2).

    If the code were open, it would move with the softmax, and the gradient would be 0.
    """
    batch = some_batch()
    found = gradient(batch, commitment=4.0)
    alive, weight = np.asarray(batch.alive[:, :-1]), np.asarray(batch.weight, float)
    mean_weight = np.mean([weight[alive[:, k]].sum() / alive[:, k].sum() for k in range(K)])
    expected = 4.0 * mean_weight * through_softmax(2.0 * (soft_code() - HARD_CODE))
    np.testing.assert_allclose(found["e"], expected, rtol=1e-4, atol=1e-6)
    assert np.abs(found["e"]).min() > 1e-3
    assert not any(found[name].any() for name in ("h", "p", "q", "d", "sigma"))
