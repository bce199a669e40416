"""Stochastic + Gumbel MuZero for 2048 in JAX; `trainer.py` is the loop, `model.py` the functions of the paper."""
