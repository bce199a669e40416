"""Random numbers for kernels: splitmix64, with one uint64 of state for each stream.

`step` advances a state and `mix` reads its random bits. All streams are parts of one cycle of length 2^64 and start at
unrelated points of it. With 2^20 streams of 2^30 numbers, two of them overlap with a probability of about 2^-14.
Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, fig. 16 and 17.
"""

import numpy as np

from ntuple.core import rules
from ntuple.game.jit import inline, kernel

GAMMA, MIX_1, MIX_2 = np.uint64(rules.GAMMA), np.uint64(rules.MIX_1), np.uint64(rules.MIX_2)
U27, U30, U31, U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@inline
def step(state: np.uint64) -> np.uint64:
    """Return the next state of a stream."""
    return state + GAMMA


@inline
def mix(state: np.uint64) -> np.uint64:
    """Return the 64 random bits of a state."""
    z = (state ^ (state >> U30)) * MIX_1
    z = (z ^ (z >> U27)) * MIX_2
    return z ^ (z >> U31)


@inline
def bounded(bits: np.uint64, n: np.uint64) -> np.uint64:
    """Return an integer in 0..n-1 from the high 32 of 64 random bits; for n <= 16 its bias is below 4e-9."""
    return ((bits >> U32) * n) >> U32


@kernel
def stream(seed: np.uint64, index: np.uint64) -> np.uint64:
    """Return the first state of stream `index` of a seed."""
    return mix(mix(seed + GAMMA) + (index + np.uint64(1)) * GAMMA)
