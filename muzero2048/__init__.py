"""Stochastic + Gumbel MuZero for 2048 in JAX; `muzero/learner.py` is the loop, `models/base.py` the functions of the paper."""
