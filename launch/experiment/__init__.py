"""Experiments: configuration files, overrides, the description of keys, metrics, checkpoints."""
