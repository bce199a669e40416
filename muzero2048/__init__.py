"""Stochastic + Gumbel MuZero for 2048 in JAX; `trainer.py` is the loop, `models/base.py` the functions of the paper."""
