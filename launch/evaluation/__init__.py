"""Evaluation: games with fixed weights, players and their searches, seeds, statistics, result files."""
