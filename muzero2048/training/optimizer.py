"""The optimizer of all learners on the device."""

import optax

from muzero2048.training.config import TrainingConfig


def make_optimizer(config: TrainingConfig) -> optax.GradientTransformation:
    """Return AdamW with clipped gradients; the learning rate falls linearly over the planned updates."""
    optimizer = config.optimizer
    schedule = optax.linear_schedule(optimizer.learning_rate, optimizer.final_learning_rate, config.total_updates)
    return optax.chain(
        optax.clip_by_global_norm(optimizer.max_gradient_norm),
        optax.adamw(schedule, weight_decay=optimizer.weight_decay),
    )
