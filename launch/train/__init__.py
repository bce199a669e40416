"""The training loop: checkpoints, evaluation, metrics, tracking and progress."""
