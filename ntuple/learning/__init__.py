"""The n-tuple learner: configuration, schedule, threads, training state and metrics."""
