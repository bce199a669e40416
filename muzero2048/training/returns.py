"""Lambda-returns, the value targets of all learners on the device."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def lambda_returns(
    reward: Float[Array, "T *B"],
    done: Bool[Array, "T *B"],
    value: Float[Array, "T_plus_1 *B"],
    discount: float,
    td_lambda: float | Float[Array, "T *B"],
    td_steps: int,
) -> Float[Array, "T *B"]:
    """Compute n-step truncated lambda-returns, in points.

    With gamma_t = gamma (0 where move t ended the game) and V the values of the states,

        G_t^(0) = V(s_t),    G_t^(n) = r_t + gamma_t ((1 - lambda) V(s_{t+1}) + lambda G_{t+1}^(n-1)).

    lambda = 1 gives the n-step return; lambda = 0 or n = 1 gives the one-step target (Sutton & Barto 2018, sec. 12.3).
    At the end of the chunk, V of the last state replaces G.

    `value` holds V of the T states before the moves and of the state after the last one; lambda may be one number or
    one for each move.
    """
    continuation = discount * (1.0 - done.astype(jnp.float32))
    one_step = reward + continuation * (1.0 - td_lambda) * value[1:]

    def extend(returns: Float[Array, "T_plus_1 *B"], _: None) -> tuple[Float[Array, "T_plus_1 *B"], None]:
        longer = one_step + continuation * td_lambda * returns[1:]
        return jnp.concatenate([longer, value[-1:]]), None

    returns, _ = jax.lax.scan(extend, value, None, length=min(td_steps, len(reward)))
    return returns[:-1]
