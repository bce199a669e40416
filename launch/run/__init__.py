"""One training from its start to its end: loop, checkpoints, metrics, signals, processes."""
