"""The optimizer of all learners on the device: gradients are clipped, then scaled by Adam or AdaDelta.

AdaDelta (Zeiler 2012, arXiv:1212.5701, algorithm 1), with g_t the gradient of update t and eta the learning rate:

    G_t = rho G_{t-1} + (1 - rho) g_t^2
    d_t = sqrt(D_{t-1} + eps) / sqrt(G_t + eps) g_t
    D_t = rho D_{t-1} + (1 - rho) d_t^2,     x_{t+1} = x_t - eta d_t

It begins with D = G = 0. Zeiler has no eta (eta = 1).
"""

import optax

from muzero2048.training.config import TrainingConfig

# rho and eps of Zeiler 2012, sec. 4.1, and of the AdaDelta example of Caffe, with which Guei 2023 trained.
RHO, EPSILON = 0.95, 1e-6


def make_optimizer(config: TrainingConfig) -> optax.GradientTransformation:
    """Return the optimizer that `optimizer.kind` names, with clipped gradients and the config's learning rates.

    All parameters are one vector to it, since a network has about a hundred arrays, most of them small.
    """
    optimizer, rate = config.optimizer, learning_rate(config)
    if optimizer.kind == "adam":
        rule: optax.GradientTransformation = optax.adamw(rate, weight_decay=optimizer.weight_decay)
    else:
        rule = optax.chain(
            optax.scale_by_adadelta(RHO, EPSILON),
            optax.add_decayed_weights(optimizer.weight_decay),
            optax.scale_by_learning_rate(rate),
        )
    return optax.flatten(optax.chain(optax.clip_by_global_norm(optimizer.max_gradient_norm), rule))


def learning_rate(config: TrainingConfig) -> optax.Schedule:
    """Return the learning rate of each update, counted from 0.

    It changes in steps (`optimizer.learning_rate_steps`), or else linearly over the planned updates.
    """
    optimizer, updates = config.optimizer, config.total_updates
    steps = optimizer.learning_rate_steps
    if not steps:
        return optax.linear_schedule(optimizer.learning_rate, optimizer.final_learning_rate, updates)
    rates = [optimizer.learning_rate, *(rate for _, rate in steps)]
    return optax.join_schedules(
        [optax.constant_schedule(rate) for rate in rates], [round(share * updates) for share, _ in steps]
    )
