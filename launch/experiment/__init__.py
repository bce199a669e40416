"""Experiments: configuration files, overrides, the description of keys, shell completion."""
