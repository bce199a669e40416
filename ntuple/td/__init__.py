"""Kernels of TD learning: training, targets, step sizes, exploration, starts, values of states and actions."""
