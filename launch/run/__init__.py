"""The training loop: checkpoints, metrics, tracking, signals, processes and memory."""
