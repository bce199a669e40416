"""The faults of `python tests/mutants.py`: typical programming errors in all parts of the code.

An `old` text consists of code without comments, and occurs once in its file.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One fault, and the fast tests that must catch it."""

    name: str
    file: str  # path from the root of the repository
    old: str  # occurs once in the file
    new: str
    tests: tuple[str, ...]  # test files, paths from tests/


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

NTUPLE = (
    Mutant(
        "ntuple-view-mirrored-twice",
        "ntuple/tables/patterns.py",
        "grid[::-1], [row[::-1] for row in grid[::-1]]]",
        "grid[::-1], [row[::-1] for row in grid]]",
        ("ntuple/tables/test_entries.py",),
    ),
    Mutant(
        "tc-sums-decayed-error",
        "ntuple/td/step_sizes.py",
        "summed = moved if size.takes_steps else delta\n",
        "summed = moved if size.takes_steps else delta * decay\n",
        ("ntuple/td/test_step_sizes.py", "ntuple/td/test_targets.py"),
    ),
    Mutant(
        "autostep-rates-without-limit",
        "ntuple/td/step_sizes.py",
        "weights[at + U3] -= excess",
        "weights[at + U3] -= np.float32(0)",
        ("ntuple/td/test_step_sizes.py", "ntuple/td/test_targets.py"),
    ),
    Mutant(
        "otd-switch-one-report-late",
        "ntuple/learning/learner.py",
        "if env_steps >= config.adaptive_starts and not state.is_adaptive:",
        "if env_steps > config.adaptive_starts and not state.is_adaptive:",
        ("ntuple/learning/test_schedule.py",),
    ),
    Mutant(
        "delayed-last-moves-learned-too-few",
        "ntuple/td/targets.py",
        "range(max(first, last + 1 - target.horizon), last + 1)",
        "range(max(first, last + 2 - target.horizon), last + 1)",
        ("ntuple/td/test_targets.py",),
    ),
    Mutant(
        "lambda-return-weights-exchanged",
        "ntuple/td/targets.py",
        "returned = (UNDECAYED - target.decay) * value + target.decay * returned",
        "returned = target.decay * value + (UNDECAYED - target.decay) * returned",
        ("ntuple/td/test_targets.py",),
    ),
    Mutant(
        "stage-begins-above-threshold",
        "ntuple/tables/stages.py",
        "stage += np.uint64(number >= stages.thresholds[k])",
        "stage += np.uint64(number > stages.thresholds[k])",
        ("ntuple/tables/test_stages.py",),
    ),
    Mutant(
        "promotion-without-first-stage",
        "ntuple/tables/promotion.py",
        "or not network.promotion & INTER or base == ZERO:",
        "or not network.promotion & INTER or base <= network.stage_size:",
        ("ntuple/tables/test_stages.py",),
    ),
    Mutant(
        "expectimax-share-of-the-other-tile",
        "ntuple/expectimax/leaves.py",
        "share = share_two if k & 1 else share_four",
        "share = share_four if k & 1 else share_two",
        ("ntuple/expectimax/test_search.py",),
    ),
    Mutant(
        "expectimax-deeper-values-unasked",
        "ntuple/expectimax/search.py",
        "if remembered == plies or (search.takes_deeper and remembered > plies):",
        "if remembered >= plies:",
        ("ntuple/expectimax/test_search.py",),
    ),
    Mutant(
        "w-file-errors-not-scaled",
        "ntuple/files/tdl_network.py",
        "(part * _error_scale(stored) for part in sums)",
        "iter(sums)",
        ("ntuple/files/test_stored_network.py", "ntuple/files/test_tdl.py"),
    ),
    Mutant(
        "checkpoint-without-delayed-errors",
        "ntuple/learning/threads.py",
        'f"rewards.{i}": history.rewards, f"deltas.{i}": history.deltas}',
        'f"rewards.{i}": history.rewards}',
        ("ntuple/learning/test_training_state.py",),
    ),
    Mutant(
        "solver-worst-of-twos-alone",
        "ntuple/exact/solver.py",
        "worst = min(worst, of_twos.worst[two], of_fours.worst[four])",
        "worst = min(worst, of_twos.worst[two])",
        ("ntuple/exact/test_solver.py",),
    ),
)

MUZERO = (
    Mutant(
        "codec-one-bin-too-far",
        "muzero2048/networks/value_codec.py",
        "0.0, 1.0) * (self.bins - 1)\n",
        "0.0, 1.0) * self.bins\n",
        ("muzero2048/networks/test_value_codec.py",),
    ),
    Mutant(
        "lambda-return-value-of-this-state",
        "muzero2048/training/returns.py",
        "one_step = reward + continuation * (1.0 - td_lambda) * value[1:]",
        "one_step = reward + continuation * (1.0 - td_lambda) * value[:-1]",
        ("muzero2048/training/test_returns.py",),
    ),
    Mutant(
        "batch-last-move-counts-as-over",
        "muzero2048/muzero/targets.py",
        "jnp.cumsum(jnp.pad(sequence.done[:, :-1], ((0, 0), (1, 0))), axis=1) == 0",
        "jnp.cumsum(sequence.done, axis=1) == 0",
        ("muzero2048/muzero/test_targets.py",),
    ),
    Mutant(
        "consistency-gradient-not-stopped",
        "muzero2048/muzero/losses.py",
        "true_state = jax.lax.stop_gradient(model.representation(batch.cells[:, k + 1]))",
        "true_state = model.representation(batch.cells[:, k + 1])",
        ("muzero2048/muzero/test_losses.py",),
    ),
    Mutant(
        "loss-without-last-state",
        "muzero2048/muzero/losses.py",
        "        _state_losses(model, state, batch, num_moves, terms)\n",
        "        pass\n",
        ("muzero2048/muzero/test_losses.py",),
    ),
    Mutant(
        "replay-weight-sign",
        "muzero2048/training/replay.py",
        "weight = share**-sizes.importance_exponent",
        "weight = share**sizes.importance_exponent",
        ("muzero2048/training/test_replay.py",),
    ),
    Mutant(
        "halving-down-to-one-action",
        "muzero2048/search/root_rules.py",
        "left = max(2, left // 2)",
        "left = max(1, left // 2)",
        ("muzero2048/search/test_action_selection.py",),
    ),
    Mutant(
        "chance-rule-without-next-visit",
        "muzero2048/search/action_selection.py",
        "probabilities * (visits.sum(axis=-1, keepdims=True) + 1) - visits",
        "probabilities * visits.sum(axis=-1, keepdims=True) - visits",
        ("muzero2048/search/test_action_selection.py",),
    ),
    Mutant(
        "completed-q-by-network-value",
        "muzero2048/search/qtransforms.py",
        "return jnp.where(visited, q_values, mixed[..., None])",
        "return jnp.where(visited, q_values, value[..., None])",
        ("muzero2048/search/test_qtransforms.py",),
    ),
    Mutant(
        "unvisited-zero-before-normalisation",
        "muzero2048/search/action_selection.py",
        "unit = jnp.where(visits > 0, unit, 0.0)",
        "unit = jnp.where(visits > 0, unit, unit.min(axis=-1, keepdims=True))",
        ("muzero2048/search/test_action_selection.py",),
    ),
    Mutant(
        "expectimax-forgets-the-last-code",
        "muzero2048/search/expectimax.py",
        "jax.lax.fori_loop(0, most, add,",
        "jax.lax.fori_loop(0, most - 1, add,",
        ("muzero2048/search/test_expectimax.py",),
    ),
    Mutant(
        "views-mapped-back-by-the-inverse",
        "muzero2048/search/views.py",
        "symmetries(game.rows, game.columns).action_to[:count]",
        "symmetries(game.rows, game.columns).action_from[:count]",
        ("muzero2048/search/test_views.py",),
    ),
    Mutant(
        "temperature-of-the-first-round-for-ever",
        "muzero2048/search/root_rules.py",
        "jnp.where(share >= begin, later, temperature)",
        "jnp.where(share > 1, later, temperature)",
        ("muzero2048/search/test_policies.py",),
    ),
    Mutant(
        "back-up-without-reward",
        "muzero2048/search/tree_search.py",
        "value = jnp.where(on, reward + discount * value, value)",
        "value = jnp.where(on, discount * value, value)",
        ("muzero2048/search/test_tree_search.py",),
    ),
    Mutant(
        "read-out-value-of-unvisited",
        "muzero2048/search/policy_output.py",
        "best = jnp.max(jnp.where(found.visits > 0, found.q_values, -jnp.inf), axis=-1)",
        "best = jnp.max(found.q_values, axis=-1)",
        ("muzero2048/search/test_policy_output.py",),
    ),
    Mutant(
        "table-samples-add-up",
        "muzero2048/networks/value_tables.py",
        "mean = delta[:, None] / occurrences(entries)",
        "mean = jnp.broadcast_to(delta[:, None], entries.shape)",
        ("muzero2048/networks/test_value_tables.py",),
    ),
    Mutant(
        "reanalyse-value-of-this-state",
        "muzero2048/muzero/reanalyse.py",
        "returns = lambda_returns(reward, done, searched.T,",
        "returns = lambda_returns(reward, done, jnp.roll(searched.T, 1, axis=0),",
        ("muzero2048/muzero/test_reanalyse.py",),
    ),
    Mutant(
        "deep-td-forgets-discount",
        "muzero2048/deep_td/selfplay.py",
        "else (returns - moves.reward) / config.discount",
        "else returns - moves.reward",
        ("muzero2048/deep_td/test_selfplay.py",),
    ),
)

LEARNING = (
    Mutant(
        "unroll-gradient-not-halved",
        "muzero2048/muzero/losses.py",
        "lambda x: scale_gradient(x, 0.5), state)",
        "lambda x: scale_gradient(x, 1.0), state)",
        ("muzero2048/muzero/test_loss_gradients.py",),
    ),
    Mutant(
        "chance-target-learns",
        "muzero2048/muzero/losses.py",
        "target = jax.lax.stop_gradient(code)",
        "target = code",
        ("muzero2048/muzero/test_loss_gradients.py",),
    ),
    Mutant(
        "commitment-moves-the-code",
        "muzero2048/muzero/losses.py",
        "(jax.nn.softmax(logits) - jax.lax.stop_gradient(code)) ** 2",
        "(jax.nn.softmax(logits) - code) ** 2",
        ("muzero2048/muzero/test_loss_gradients.py",),
    ),
    Mutant(
        "values-without-sample-weight",
        "muzero2048/muzero/losses.py",
        "    weight = batch.weight\n",
        "    weight = jnp.ones_like(batch.weight)\n",
        ("muzero2048/muzero/test_loss_gradients.py",),
    ),
    Mutant(
        "consistency-without-sample-weight",
        "muzero2048/muzero/losses.py",
        "_mean_where(alive, weight * model.inconsistency(state, true_state))",
        "_mean_where(alive, model.inconsistency(state, true_state))",
        ("muzero2048/muzero/test_loss_gradients.py",),
    ),
    Mutant(
        "code-statistics-of-dead-boards",
        "muzero2048/muzero/losses.py",
        "2 * batch.cells.shape[-1]) * batch.alive[:, :-1, None]",
        "2 * batch.cells.shape[-1])",
        ("muzero2048/muzero/test_losses.py",),
    ),
    Mutant(
        "afterstate-target-without-discount",
        "muzero2048/muzero/targets.py",
        "afterstate_value=((value - reward) / discount)[:, :-1]",
        "afterstate_value=(value - reward)[:, :-1]",
        ("muzero2048/muzero/test_targets.py",),
    ),
    Mutant(
        "tables-learn-board-before-move",
        "muzero2048/muzero/table_learning.py",
        "cells = batch.afterstate_cells[:, 0]",
        "cells = batch.cells[:, 0]",
        ("muzero2048/muzero/test_table_learning.py",),
    ),
    Mutant(
        "tables-learn-the-reward-too",
        "muzero2048/muzero/table_learning.py",
        "to_centre(batch.afterstate_value[:, 0])",
        "to_centre(batch.afterstate_value[:, 0] + batch.reward[:, 0])",
        ("muzero2048/muzero/test_table_learning.py",),
    ),
    Mutant(
        "reanalysis-by-raw-parameters",
        "muzero2048/muzero/train_step.py",
        "model = nnx.merge(setup.graphdef, acting_params(state))",
        "model = nnx.merge(setup.graphdef, with_tables(state.params, state.tables))",
        ("muzero2048/muzero/test_train_step.py",),
    ),
    Mutant(
        "priority-of-the-next-position",
        "muzero2048/muzero/train_step.py",
        "jax.lax.stop_gradient(value) - batch.value[:, 0]",
        "jax.lax.stop_gradient(value) - batch.value[:, 1]",
        ("muzero2048/muzero/test_train_step.py",),
    ),
    Mutant(
        "batch-in-one-view",
        "muzero2048/muzero/train_step.py",
        "view_sequence(views, view, sequence)",
        "view_sequence(views, 0 * view, sequence)",
        ("muzero2048/muzero/test_train_step.py",),
    ),
    Mutant(
        "batch-without-sample-weight",
        "muzero2048/muzero/train_step.py",
        "._replace(weight=sample.weight), sample",
        ", sample",
        ("muzero2048/muzero/test_train_step.py",),
    ),
    Mutant(
        "reanalysis-with-noise",
        "muzero2048/muzero/reanalyse.py",
        "search_by_device(model, game, board, seeds, None, config, rows)",
        "search_by_device(model, game, board, seeds, key, config, rows)",
        ("muzero2048/muzero/test_reanalyse.py",),
    ),
    Mutant(
        "reanalysis-best-child-always",
        "muzero2048/muzero/reanalyse.py",
        "bootstrap_value(root, found, config.bootstrap)",
        "found.value",
        ("muzero2048/muzero/test_reanalyse.py",),
    ),
    Mutant(
        "selfplay-without-noise",
        "muzero2048/muzero/selfplay.py",
        "search_by_device(model, game, board, seeds, noise_key, config, rows, share)",
        "search_by_device(model, game, board, seeds, None, config, rows, share)",
        ("muzero2048/muzero/test_selfplay.py",),
    ),
    Mutant(
        "selfplay-policy-is-the-move",
        "muzero2048/muzero/selfplay.py",
        "policy=found.policy_target,",
        "policy=jax.nn.one_hot(found.action, 4) * (found.policy_target > 0),",
        ("muzero2048/muzero/test_selfplay.py",),
    ),
    Mutant(
        "selfplay-one-seed-for-all",
        "muzero2048/muzero/selfplay.py",
        "seeds = jax.random.bits(seed_key, (config.num_envs,), jnp.uint32)",
        "seeds = jnp.zeros((config.num_envs,), jnp.uint32)",
        ("muzero2048/muzero/test_selfplay.py",),
    ),
    Mutant(
        "selfplay-last-value-twice",
        "muzero2048/muzero/selfplay.py",
        "jnp.concatenate([record.value, last[None]])",
        "jnp.concatenate([record.value, record.value[-1:]])",
        ("muzero2048/muzero/test_selfplay.py",),
    ),
    Mutant(
        "start-reads-the-draw-of-the-mark",
        "muzero2048/training/actor.py",
        "starts.step(bits[STEP_DRAWS + 1 :], actor.starts, step)",
        "starts.step(bits[STEP_DRAWS:], actor.starts, step)",
        ("muzero2048/training/test_actor.py",),
    ),
    Mutant(
        "replay-place-from-the-oldest",
        "muzero2048/training/replay.py",
        "Sample(moves, Place(row, column), weight",
        "Sample(moves, Place(row, start), weight",
        ("muzero2048/training/test_replay.py",),
    ),
    Mutant(
        "one-batch-bounds-without-root",
        "muzero2048/search/policies.py",
        "jnp.stack([jnp.minimum(met.min(axis=-1), root.value), jnp.maximum(met.max(axis=-1), root.value)], axis=-1)",
        "jnp.stack([met.min(axis=-1), met.max(axis=-1)], axis=-1)",
        ("muzero2048/search/test_policies.py",),
    ),
    Mutant(
        "latent-encoder-without-action",
        "muzero2048/models/latent.py",
        "_append(inputs, jax.nn.one_hot(action, 4))",
        "_append(inputs, jnp.zeros((len(action), 4)))",
        ("muzero2048/models/test_base.py",),
    ),
    Mutant(
        "grounded-encoder-reads-board-before",
        "muzero2048/models/grounded.py",
        "- planes(afterstate_cells, self.tile_levels)",
        "- planes(cells, self.tile_levels)",
        ("muzero2048/models/test_base.py",),
    ),
)

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

LAUNCH = (
    Mutant(
        "config-base-wins-over-file",
        "launch/config/experiment.py",
        "return OmegaConf.merge(found, values)",
        "return OmegaConf.merge(values, found)",
        ("launch/config/test_experiment.py",),
    ),
    Mutant(
        "metrics-not-checked",
        "launch/run/tracking.py",
        "        metrics.check(row)\n",
        "",
        ("launch/run/test_metrics.py", "launch/run/test_tracking.py"),
    ),
    Mutant(
        "manifest-size-alone-checked",
        "launch/run/checkpoints.py",
        'if _digest(file) != expected["sha256"]:',
        'if size != expected["bytes"]:',
        ("launch/run/test_checkpoints.py",),
    ),
    Mutant(
        "resume-cuts-row-of-checkpoint",
        "launch/run/tracking.py",
        'if row["env_steps"] <= env_steps]',
        'if row["env_steps"] < env_steps]',
        ("launch/run/test_tracking.py",),
    ),
    Mutant(
        "interval-of-population-deviation",
        "launch/evaluation/intervals.py",
        "float(x.std(ddof=1))",
        "float(x.std())",
        ("launch/evaluation/test_intervals.py",),
    ),
    Mutant(
        "judge-numbers-from-two",
        "launch/evaluation/records.py",
        "at, number = whole.end(), 3 + 2 * len(turns)",
        "at, number = whole.end(), 2 + 2 * len(turns)",
        ("launch/evaluation/test_records.py",),
    ),
    Mutant(
        "signal-before-call-ignored",
        "launch/machine/signals.py",
        "return None if self.requested else call()",
        "return call()",
        ("launch/machine/test_signals.py",),
    ),
)

MUTANTS = (*RULES, *NTUPLE, *MUZERO, *LEARNING, *CELLS, *LAUNCH)
