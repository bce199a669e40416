"""Faults in the library and the environments of gymnasium."""

from faults.mutant import Mutant

LIBRARY = (
    Mutant(
        "an-illegal-action-spawns-a-tile",
        "muzero2048/environments/game_env.py",
        "        if self._mask()[action]:",
        "        if self._mask().any():",
        ("muzero2048/environments/test_game_env.py",),
    ),
    Mutant(
        "a-vector-spawns-after-an-illegal-action",
        "muzero2048/environments/vector_env.py",
        "moved = where(is_legal, game.spawn_from_bits(bits[0], after)[0], state.board)",
        "moved = game.spawn_from_bits(bits[0], after)[0]",
        ("muzero2048/environments/test_game_env.py",),
    ),
    Mutant(
        "a-finished-game-of-a-vector-has-no-action",
        "muzero2048/environments/vector_env.py",
        "mask = game.legal_actions(state.board) | state.over[:, None]",
        "mask = game.legal_actions(state.board)",
        ("muzero2048/environments/test_game_env.py",),
    ),
    Mutant(
        "a-vector-takes-actions-that-are-no-whole-numbers",
        "muzero2048/environments/checks.py",
        'if array.dtype.kind not in "iu":',
        'if array.dtype.kind not in "iufb":',
        ("muzero2048/environments/test_game_env.py",),
    ),
    Mutant(
        "a-call-from-python-speaks-of-options",
        "launch/arguments.py",
        "raise error.in_python() from None",
        "raise",
        ("launch/test_library.py",),
    ),
    Mutant(
        "advice-on-several-boards-is-that-on-the-first",
        "launch/evaluation/boards/analyse.py",
        "value = float(analysis.value[i, action])",
        "value = float(analysis.value[0, action])",
        ("launch/test_library.py",),
    ),
    Mutant(
        "a-network-values-finished-games",
        "muzero2048/muzero/trained_network.py",
        "return jnp.where(root.legal.any(axis=-1), root.value, 0.0), policy",
        "return root.value, policy",
        ("muzero2048/muzero/test_trained_network.py",),
    ),
)
