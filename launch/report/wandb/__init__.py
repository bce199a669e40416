"""Runs in wandb: the copy of a training, uploads, and a workspace and reports that show the runs as `compare` does."""
