"""Faults in the model of cells and its diagnosis."""

from faults.mutant import Mutant

CELLS = (
    Mutant(
        "cells-wall-last-for-down",
        "muzero2048/networks/board_lines.py",
        "cells[:, ::-1], cells.T[:, ::-1], cells)",
        "cells[:, ::-1], cells.T, cells)",
        ("muzero2048/networks/test_board_lines.py",),
    ),
    Mutant(
        "cells-squares-mirrored",
        "muzero2048/networks/board_lines.py",
        "corners = grid[:, :-1, :-1], grid[:, :-1, 1:], grid",
        "corners = grid[:, :-1, 1:], grid[:, :-1, :-1], grid",
        ("muzero2048/networks/test_board_lines.py",),
    ),
    Mutant(
        "afterstate-learns-the-spawn",
        "muzero2048/models/cells.py",
        "FARTHEST = 0.03 ",
        "FARTHEST = 1.0 ",
        ("muzero2048/models/test_cells.py",),
    ),
    Mutant(
        "spawns-told-of-the-board",
        "muzero2048/muzero/diagnosis/depth_errors.py",
        "for p in (true, spawns.probabilities))",
        "for p in (true, true))",
        ("muzero2048/muzero/diagnosis/test_depth_errors.py",),
    ),
    Mutant(
        "value-after-the-end-of-a-game",
        "muzero2048/muzero/diagnosis/depth_errors.py",
        "jnp.where(game.is_over(spawns.boards).reshape(batch, count), 0.0, known)",
        "jnp.where(game.is_over(spawns.boards).reshape(batch, count), known, known)",
        ("muzero2048/muzero/diagnosis/test_depth_errors.py",),
    ),
    Mutant(
        "diagnosis-of-openings",
        "muzero2048/muzero/diagnosis/by_depth.py",
        "while state.next_game < 2 * lanes or len(found) * lanes < boards:",
        "while len(found) * lanes < boards:",
        ("muzero2048/muzero/diagnosis/test_by_depth.py",),
    ),
    Mutant(
        "cells-code-by-the-order-of-the-batch",
        "muzero2048/models/cells.py",
        "turn = cells.sum(axis=-1, dtype=jnp.int32) + action",
        "turn = jnp.arange(len(cells)) + 0 * action",
        ("muzero2048/models/test_cells.py",),
    ),
    Mutant(
        "reward-error-after-the-end-of-a-game",
        "muzero2048/muzero/losses.py",
        "_mean_where(alive, jnp.abs(model.reward(reward_head) - batch.reward[:, k]))",
        "_mean_where(alive | True, jnp.abs(model.reward(reward_head) - batch.reward[:, k]))",
        ("muzero2048/muzero/test_losses.py",),
    ),
    Mutant(
        "cells-code-of-another-cell",
        "muzero2048/models/cells.py",
        "code.reshape(len(code), self.num_cells, self.kinds) @",
        "code.reshape(len(code), self.kinds, self.num_cells).swapaxes(1, 2) @",
        ("muzero2048/models/test_cells.py",),
    ),
    Mutant(
        "cells-encoder-teaches-dynamics",
        "muzero2048/models/cells.py",
        "seen = with_products(jax.lax.stop_gradient(jnp.stack([predicted, true], axis=-2)))",
        "seen = with_products(jnp.stack([predicted, true], axis=-2))",
        ("muzero2048/models/test_cells.py",),
    ),
    Mutant(
        "cells-encoder-reads-true-afterstate",
        "muzero2048/models/cells.py",
        "predicted = self.afterstate_dynamics(self.representation(cells), action)[0]",
        "predicted = self.representation(afterstate_cells)",
        ("muzero2048/models/test_cells.py",),
    ),
    Mutant(
        "cells-reward-of-one-line",
        "muzero2048/models/cells.py",
        "self.reward_hidden(hidden.sum(axis=1)",
        "self.reward_hidden(hidden[:, 0]",
        ("muzero2048/models/test_cells.py",),
    ),
    Mutant(
        "cells-psi-as-a-state",
        "muzero2048/models/cells.py",
        "x = self.trunk(afterstate, AFTERSTATE)",
        "x = self.trunk(afterstate, STATE)",
        ("muzero2048/models/test_cells.py",),
    ),
)
