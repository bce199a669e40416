"""The n-tuple learner: configuration, training kernel, targets, step sizes, exploration and starts."""
