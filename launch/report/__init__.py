"""Comparison of runs: selection, curves, tests of differences; its page, tables of papers, the leaderboard, wandb."""
