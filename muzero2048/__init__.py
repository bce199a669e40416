"""Stochastic + Gumbel MuZero for 2048 in JAX."""
