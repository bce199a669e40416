"""Experiments: configuration files, overrides, their description and shell completion."""
