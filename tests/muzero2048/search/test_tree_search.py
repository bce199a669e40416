"""Tests of the tree against the plain search and by hand, of single rows, rows in blocks, and the expectimax sweep."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.search import Tables

from muzero2048.game.env import Board
from muzero2048.models.base import Model
from muzero2048.search.base import ILLEGAL, Plan, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.expansion import BLOCKS, LEAST_BLOCK, sort_into_blocks
from muzero2048.search.plan_move import make_root, plan
from muzero2048.search.root_rules import read_out
from muzero2048.search.tree import UNVISITED, Trees, expectimax_q, plant, root_statistics
from muzero2048.search.tree_search import grow_tree
from tests.muzero2048.toy_model import (
    GAME,
    ToyModel,
    assert_same_plan,
    boards_with,
    network_dynamics,
    plain_plans,
    random_model,
    random_tables,
    roots_of,
    small_config,
    toy_dynamics,
)
from tests.settings import configured

DISCOUNT = 0.9
BASE = SearchConfig(simulations=40, value_scale=10.0)
READ_OUTS = ("mean", "expectimax")


@functools.partial(jax.jit, static_argnums=2)
def tree_and_plans(model: ToyModel, root: Root, config: SearchConfig) -> tuple[Trees, list[Plan]]:
    """Return the tree that `plan` grows, and its plans with both read-outs."""
    tree = grow_tree(toy_dynamics(model), root, config, DISCOUNT)
    configs = [dataclasses.replace(config, read_out=name) for name in READ_OUTS]
    return tree, [read_out(root, root_statistics(tree, config, DISCOUNT), config) for config in configs]


# Options that mctx lacks, and others. test_mctx_engine.py compares the remaining ones with the plain search.
@pytest.mark.parametrize(("root_rule", "inside", "chance", "normalization", "considered", "knows_the_rules"), [
    ("gumbel", "puct", "weighted", "node", 4, True),
    ("puct", "gumbel", "weighted", "tree", 4, False),
    ("gumbel", "gumbel", "deficit", "tree", 3, True),
    ("puct", "puct", "sampled", "tree", 4, True),
    ("gumbel", "gumbel", "ratio", "node", 2, True),
    ("gumbel", "puct", "quasi_random", "fixed", 3, False),
])  # fmt: skip
def test_the_tree_equals_the_plain_search(
    root_rule: str, inside: str, chance: str, normalization: str, considered: int, knows_the_rules: bool
) -> None:
    # The rule of Stochastic MuZero (appendix I): it draws the codes, and Q of unvisited actions is 0.
    config = configured(
        BASE, root=root_rule, inside=inside, chance=chance, normalization=normalization,
        gumbel={"considered_actions": considered, "completion": "value" if chance == "deficit" else "mixed"},
        puct={"unvisited": "zero" if chance == "sampled" else "node_value"},
    )  # fmt: skip
    for seed, scale in ((5, 10.0), (6, 1e6)):
        tables = random_tables(seed, scale=scale, knows_the_rules=knows_the_rules)
        root = roots_of(tables)
        tree, plans = jax.device_get(tree_and_plans(ToyModel(tables), root, config))
        check_tree(tree, config)
        live = np.asarray(root.legal).any(axis=1)
        for name, found in zip(READ_OUTS, plans, strict=True):
            assert all(np.isfinite(field).all() for field in found)
            plain = plain_plans(tables, root, dataclasses.replace(config, read_out=name), DISCOUNT)
            # The Q-values of a root that is over have no meaning.
            assert_same_plan(*(p._replace(q_values=p.q_values[live]) for p in (found, plain)), scale)


def check_tree(tree: Trees, config: SearchConfig) -> None:
    """Check that parents precede children, that nodes count all visits through them, and that edges are possible."""
    nodes = config.simulations + 1
    for row in range(len(tree.seeds)):
        parents = {}
        for node in range(nodes):
            for slot in np.flatnonzero(tree.children[node, row] != UNVISITED):
                parents[int(tree.children[node, row, slot])] = (node, slot)
        for child, (node, slot) in parents.items():
            assert child > node
            assert tree.is_chance[child, row] != tree.is_chance[node, row]
            assert tree.counts[child, row] == tree.visits[node, row, slot]
            prior = tree.prior[node, row, slot]
            assert prior > (0.0 if tree.is_chance[node, row] else ILLEGAL / 2)
        reached = [0, *parents]
        assert (tree.counts[reached, row] == 1 + tree.visits[reached, row].sum(axis=-1)).all()
        over = tree.is_over[:, row]
        assert set(range(nodes)) - set(reached) == set() or over.any()  # a visit of an ended game adds no node
        assert not tree.values[over, row].any() or over[0]


def chain() -> Tables:
    """Return the tables of a chain of states 0, 1, 2, 3.

    Action 2 of states 0, 1, 2 has reward 4, 8, 16 and leads from state i to afterstate i; the only code leads on to
    state i + 1. All other actions lead to afterstate 3, which is much worse and leads to state 3.
    """
    afterstate = np.full((4, 4), 3, np.int32)
    afterstate[:3, 2] = [0, 1, 2]
    reward = np.zeros((4, 4), np.float32)
    reward[:3, 2] = [4.0, 8.0, 16.0]
    return Tables(
        policy_logits=np.tile(np.array([0.0, 0.0, 5.0, 0.0], np.float32), (4, 1)),
        value=np.array([1.0, 30.0, 80.0, -100.0], np.float32),
        afterstate=afterstate,
        reward=reward,
        afterstate_value=np.array([20.0, 60.0, 100.0, -100.0], np.float32),
        chance_logits=np.zeros((4, 1), np.float32),
        next_state=np.array([[1], [2], [3], [3]], np.int32),
    )


def test_one_discount_a_move() -> None:
    # Four evaluations: V(as_0); V(s_1), as the chance event has no reward and no discount; r_1 + gamma V(as_1);
    # r_1 + gamma V(s_2).
    mean = 4 + 0.5 * (20 + 30 + (8 + 0.5 * 60) + (8 + 0.5 * 80)) / 4
    expectimax = 4 + 0.5 * (8 + 0.5 * 80)
    only = jnp.array([[False, False, True, False]])
    tables = chain()
    root = Root(
        state=jnp.array([0]), policy_logits=jnp.where(only, 5.0, ILLEGAL), value=jnp.array([1.0]), legal=only,
        gumbel=jnp.zeros((1, 4)), seeds=jnp.zeros(1, jnp.uint32),
    )  # fmt: skip
    config = SearchConfig(simulations=4)

    @jax.jit
    def q_values(model: ToyModel, root: Root) -> list[jax.Array]:
        tree = grow_tree(toy_dynamics(model), root, config, 0.5)
        configs = [dataclasses.replace(config, read_out=name) for name in READ_OUTS]
        return [root_statistics(tree, config, 0.5).q_values[0, 2] for config in configs]

    np.testing.assert_allclose(q_values(ToyModel(tables), root), [mean, expectimax], rtol=1e-6)


@functools.partial(jax.jit, static_argnums=(3, 4))
def plan_boards(model: Model, board: Board, noise: tuple, config: SearchConfig, simulator: bool) -> Plan:
    dynamics = network_dynamics(model, simulator)
    gumbel, seeds = noise
    root = make_root(dynamics, GAME, board, seeds, None, config)._replace(gumbel=gumbel)
    return plan(dynamics, root, config, DISCOUNT)[0]


@pytest.mark.parametrize(("simulator", "config"), [
    (False, SearchConfig(simulations=24, chance="sampled")),
    pytest.param(
        True, SearchConfig(simulations=24, root="puct", inside="gumbel", chance="weighted", read_out="expectimax"),
        marks=pytest.mark.slow,
    ),
])  # fmt: skip
def test_a_row_is_the_search_of_its_board_alone(simulator: bool, config: SearchConfig) -> None:
    """The 38 boards do not fill whole blocks; some are over, some have one legal move, from nearly empty to full."""
    boards = boards_with(range(1), range(1, 2), range(2, 4), range(4, 5), count=10)
    words, (batch, _) = boards.words, boards.legal.shape
    words = tuple(word[:-2] for word in words)
    batch -= 2
    assert batch % LEAST_BLOCK
    rng = np.random.default_rng(0)
    noise = (jnp.asarray(rng.gumbel(size=(batch, 4)), jnp.float32), jnp.arange(batch, dtype=jnp.uint32))
    model = random_model(small_config(), seed=1)
    together = jax.device_get(plan_boards(model, words, noise, config, simulator))
    for row in range(batch):
        alone = jax.tree.map(lambda x, row=row: x[row : row + 1], (words, noise))
        found = jax.device_get(plan_boards(model, *alone, config, simulator))
        assert found.action[0] == together.action[row]
        assert found.visits[0].tolist() == together.visits[row].tolist()
        for field in ("value", "q_values", "policy_target"):
            np.testing.assert_allclose(
                getattr(found, field)[0],
                getattr(together, field)[row],
                rtol=1e-4 if field[0] == "p" else 1e-5,
                atol=1e-5,
            )
    assert all(np.isfinite(field).all() for field in together)
    assert len(np.unique(together.visits, axis=0)) > 10


@pytest.mark.parametrize("batch", [1, 5, 32, 33, 70, 300])
def test_blocks_hold_every_row_once_and_one_kind_each(batch: int, rng: np.random.Generator) -> None:
    for share in (0.0, 0.1, 0.5, 1.0):
        is_move = rng.random(batch) < share
        blocks = sort_into_blocks(jnp.asarray(is_move))
        rows, moves, total, size = np.asarray(blocks.rows), int(blocks.moves), int(blocks.total), blocks.size
        assert size == min(batch, max(LEAST_BLOCK, -(-batch // BLOCKS)))
        assert moves == -(-is_move.sum() // size)
        assert total == moves - (-(~is_move).sum() // size)
        assert np.sort(rows[rows < batch]).tolist() == list(range(batch))
        assert (rows[total * size :] == batch).all()
        assert len(rows) >= total * size
        kind = np.append(is_move, False)[rows] == np.asarray(blocks.is_move)
        assert kind[rows < batch].all()


@pytest.mark.parametrize("considered", [pytest.param(4, marks=pytest.mark.slow), 2])
def test_an_accelerator_grows_the_trees_of_a_cpu(considered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run both ways of evaluation on this machine, with more boards than a block holds; some of them are over."""
    config = configured(BASE, simulations=12, considered_actions=considered)
    boards = boards_with(range(1), range(1, 2), range(2, 4), count=20)
    model = random_model(small_config(), seed=2)

    @jax.jit
    def grow(model: Model, board: Board) -> Trees:
        dynamics = network_dynamics(model, simulator=False)
        root = make_root(dynamics, GAME, board, jnp.arange(len(boards.legal), dtype=jnp.uint32), None, config)
        return grow_tree(dynamics, root, config, DISCOUNT)

    on_cpu = grow(model, boards.words)
    jax.clear_caches()
    calls = []

    def elsewhere(*arguments, cpu, default):
        calls.append(cpu)
        return default(*arguments)

    monkeypatch.setattr(jax.lax, "platform_dependent", elsewhere)
    at_once = grow(model, boards.words)
    assert calls
    assert len(boards.legal) > LEAST_BLOCK
    assert 0 < on_cpu.is_chance[1:].mean() < 1
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4), at_once, on_cpu)


def test_the_sweep_by_hand() -> None:
    """Root 0 has the afterstates 1 and 2; afterstate 1 has the states 3 (leaf) and 4; state 4 has the afterstate 5."""
    tree = plant(jax.tree.map(lambda x: x[:1], roots_of(random_tables(0))), simulations=5, codes=3)
    slots = jnp.full((6, 4), UNVISITED)
    children = slots.at[0, 1].set(1).at[0, 3].set(2).at[1, 0].set(3).at[1, 2].set(4).at[4, 0].set(5)
    prior = tree.prior[:, 0].at[1].set(jnp.array([0.5, 0.2, 0.3, 0.0]))
    tree = tree._replace(
        children=children[:, None].astype(tree.children.dtype),
        prior=prior[:, None],
        rewards=jnp.array([0.0, 4.0, 8.0, 0.0, 0.0, 16.0])[:, None],
        raw_values=jnp.array([1.0, 10.0, 20.0, 30.0, 40.0, 50.0])[:, None],
        values=jnp.full((6, 1), 999.0),  # means over visits, which expectimax does not use
        is_chance=jnp.array([False, True, True, False, False, True])[:, None],
    )
    # State 4: 16 + 50 / 2 = 41 by its visited move, not the model's 40. Afterstate 1: its code 1 was not visited and
    # counts with the model's 10.
    q = expectimax_q(tree, 0.5)[0]
    np.testing.assert_allclose(q[1], 4 + 0.5 * (0.5 * 30 + 0.2 * 10 + 0.3 * 41), rtol=1e-6)
    np.testing.assert_allclose(q[3], 8 + 0.5 * 20, rtol=1e-6)
