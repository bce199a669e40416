"""splitmix64 in plain Python (Steele, Lea and Flood 2014), and the spawns that the kernels of ntuple draw with it."""

from reference import rules

WORD = 2**64
GAMMA = 0x9E3779B97F4A7C15


def mix(state: int) -> int:
    """Return the 64 random bits of a state."""
    z = state % WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    return z ^ z >> 31


def stream(seed: int, index: int) -> int:
    """Return the first state of stream `index` of a seed."""
    return mix(mix(seed + GAMMA) + (index + 1) * GAMMA)


class Spawns:
    """Draws spawns from a stream."""

    def __init__(self, state: int) -> None:
        self._state = state

    def draw(self, after: rules.Board) -> int:
        """Return the code of a spawn: a 4 with probability 0.1 by the low 32 bits, its cell by the high ones."""
        self._state = (self._state + GAMMA) % WORD
        bits = mix(self._state)
        empty = [i for i, cell in enumerate(rules.cells(after)) if cell == 0]
        return 2 * empty[(bits >> 32) * len(empty) >> 32] + (bits % 2**32 < round(0.1 * 2**32))
