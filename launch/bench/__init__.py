"""Benchmarks against peers: `muzero2048 bench WHAT` prints the rows of `bench` in launch/bench/WHAT.py."""
