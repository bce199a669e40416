"""Faults in the rules of the game, on bitboards and in JAX."""

from faults.mutant import Mutant

RULES = (
    Mutant(
        "bitboard-merged-tile-merges-again",
        "ntuple/game/bitboard.py",
        "            reward += ONE << tile\n            waiting = ZERO",
        "            reward += ONE << tile\n            waiting = tile",
        ("ntuple/game/test_bitboard.py",),
    ),
    Mutant(
        "bitboard-table-merges-32768",  # loses the fifth bit
        "ntuple/game/bitboard.py",
        "if board.hi | ((a | b | c | d) >> U30):",
        "if board.hi:",
        ("ntuple/game/test_bitboard.py",),
    ),
    Mutant(
        "bitboard-flip-shift-by-columns",
        "ntuple/game/bitboard.py",
        "np.uint64(16 * (4 - rows)), rows, columns)",
        "np.uint64(16 * (4 - columns)), rows, columns)",
        ("ntuple/game/test_bitboard.py",),
    ),
    Mutant(
        "env-merge-order-reversed",
        "muzero2048/game/words.py",
        "    reward = jnp.zeros_like(line)\n    for i in range(length - 1):",
        "    reward = jnp.zeros_like(line)\n    for i in reversed(range(length - 1)):",
        ("muzero2048/game/test_env.py",),
    ),
    Mutant(
        "env-game-over-before-spawn",
        "muzero2048/game/env.py",
        "done = self.is_over(moved)",
        "done = self.is_over(after)",
        ("muzero2048/game/test_env.py",),
    ),
    Mutant(
        "env-move-beyond-the-wall",
        "muzero2048/game/env.py",
        "right.append(((tiles & ~neighbour) | equal) & pairs)",
        "right.append((tiles & ~neighbour) | equal)",
        ("muzero2048/game/test_env.py",),
    ),
)
