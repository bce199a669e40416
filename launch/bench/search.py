"""Moves per second of the search, compared with mctx on the same small network.

The network has one MLP of three layers of 64 units for moves and one for spawns. It is small, so that a large part of
the time is that of the tree. The peers run the same network functions:

- `stochastic_muzero_policy` of mctx,
- the engine `mctx` (Gumbel root, composed of mctx's parts).

The searches of a call are one jitted scan with the noise of self-play.
"""

import functools
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx

from launch.bench.rows import BenchRow, best_seconds
from launch.progress import numbered
from muzero2048.game.env import NUM_ACTIONS, Board
from muzero2048.search.base import Afterstate, Decision, Dynamics, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.plan_move import plan
from muzero2048.search.root_rules import GUMBEL, ROOT_RULES
from muzero2048.search.tree import plant

BATCH = 256
CODES = 32
WIDTH, LAYERS = 64, 3
SEARCHES = 4  # searches of each board in one call
DISCOUNT = 0.999

STOCHASTIC, COMPOSED = "mctx stochastic", "engine mctx"  # the peers

Array = jax.Array
Search = Callable[["Parameters", Array, Array], Array]  # (parameters, key, root states) -> actions


class Parameters(NamedTuple):
    """Weights of the small network."""

    move: list[Array]
    spawn: list[Array]
    actions: Array  # by action: added to the first layer of moves
    codes: Array  # by chance code: added to the first layer of spawns
    move_head: Array  # value, reward, logits of the codes
    spawn_head: Array  # value, logits of the policy


def bench(simulations: tuple[int, ...] = (4, 16, 50)) -> list[BenchRow]:
    """Measure moves per second, the network's share of the time, and the memory of a tree."""
    key = jax.random.key(0)
    parameters, states = make_parameters(key), jax.random.normal(key, (BATCH, WIDTH))
    return [row for n in numbered(simulations, "N = {}".format) for row in _rows(n, parameters, key, states)]


def _rows(n: int, parameters: Parameters, key: Array, states: Array) -> list[BenchRow]:
    gumbel = SearchConfig(simulations=n, range_floor=1e-8)  # the floor of mctx, so that trees are equally deep
    puct, composed = replace(gumbel, root="puct"), replace(gumbel, engine="mctx")
    searches = {
        "gumbel": _ours(gumbel, SmallNetwork),
        "puct": _ours(puct, SmallNetwork),
        "gumbel, free network": _ours(gumbel, FreeNetwork),
        "puct, free network": _ours(puct, FreeNetwork),
        STOCHASTIC: lambda parameters, key, states: _mctx_policy(n, parameters, key, states).action,
    }
    if not GUMBEL.is_one_batch(gumbel):
        searches[COMPOSED] = _ours(composed, SmallNetwork)
    runs = {name: _compile(search, parameters, key, states) for name, search in searches.items()}
    seconds = {name: time / (SEARCHES * BATCH) for name, time in best_seconds(runs).items()}
    peers = [name for name in (STOCHASTIC, COMPOSED) if name in seconds]
    rows = []
    for root, config in (("gumbel", gumbel), ("puct", puct)):
        name = f"N = {n}, {root}" + (", one batch" if ROOT_RULES[root].is_one_batch(config) else "")
        rows.append(
            BenchRow(name, 1 / seconds[root], "moves/s", {peer: seconds[peer] / seconds[root] for peer in peers})
        )
        share = 1 - seconds[f"{root}, free network"] / seconds[root]
        rows.append(BenchRow(f"{name}: network", 100 * share, "%"))
    ours, theirs = _tree_bytes(puct, parameters, states), _mctx_tree_bytes(n, parameters, key, states)
    rows.append(BenchRow(f"N = {n}: a tree", ours, "bytes", {STOCHASTIC: ours / theirs}))
    return rows


class SmallNetwork:
    """The small network as the `Dynamics` of a search; its latents are not those of a game."""

    codes = CODES

    def __init__(self, parameters: Parameters):
        self._parameters = parameters

    def root(self, board: Board) -> Decision:
        """Not implemented: the benchmark starts from latents."""
        raise NotImplementedError

    def after(self, state: Array, action: Array) -> tuple[Array, Array, Array, Array]:
        """Return latent, value, reward and logits of the codes of an afterstate: three layers and a head."""
        state = _layers(self._parameters.move, state, self._parameters.actions[action])
        value, reward, logits = jnp.split(state @ self._parameters.move_head, (1, 2), axis=-1)
        return state, value[:, 0], reward[:, 0], logits

    def move(self, state: Array, action: Array) -> Afterstate:
        """Return the output of `after` with probabilities of the codes."""
        state, value, reward, logits = self.after(state, action)
        return Afterstate(state, value, reward, jax.nn.softmax(logits))

    def spawn(self, afterstate: Array, code: Array) -> Decision:
        """Return the next state with value and policy: three layers and a head."""
        return self.decide(_layers(self._parameters.spawn, afterstate, self._parameters.codes[code]))

    def decide(self, state: Array) -> Decision:
        """Return a state with value and policy logits."""
        value, logits = jnp.split(state @ self._parameters.spawn_head, (1,), axis=-1)
        return Decision(state, value[:, 0], logits)


class FreeNetwork(SmallNetwork):
    """A network with outputs of the same shapes and almost no cost, to measure the time of the tree alone."""

    def move(self, state: Array, action: Array) -> Afterstate:
        """Return the latent rolled by one place, and parts of it as value and reward."""
        state = jnp.roll(state, 1, axis=-1)
        return Afterstate(state, state[:, 0], state[:, 1], jnp.full((len(state), CODES), 1 / CODES))

    def spawn(self, afterstate: Array, code: Array) -> Decision:
        """Return the latent rolled by three places, and parts of it as value and logits."""
        state = jnp.roll(afterstate, 3, axis=-1)
        return Decision(state, state[:, 0], state[:, :NUM_ACTIONS])


def make_parameters(key: Array) -> Parameters:
    """Return random weights that keep the scale of the latent."""
    keys = iter(jax.random.split(key, 2 * LAYERS + 4))

    def matrix(fan_in: int, fan_out: int) -> Array:
        return jax.random.normal(next(keys), (fan_in, fan_out)) * (2 / fan_in) ** 0.5

    return Parameters(
        move=[matrix(WIDTH, WIDTH) for _ in range(LAYERS)],
        spawn=[matrix(WIDTH, WIDTH) for _ in range(LAYERS)],
        actions=matrix(NUM_ACTIONS, WIDTH),
        codes=matrix(CODES, WIDTH),
        move_head=matrix(WIDTH, 2 + CODES),
        spawn_head=matrix(WIDTH, 1 + NUM_ACTIONS),
    )


def _layers(weights: list[Array], state: Array, context: Array) -> Array:
    state = jax.nn.relu(state @ weights[0] + context)
    for weight in weights[1:]:
        state = jax.nn.relu(state @ weight)
    return state


def _root(network: SmallNetwork, key: Array, states: Array, config: SearchConfig) -> Root:
    decision = network.decide(states)
    logits, seeds = decision.policy_logits, jnp.zeros((len(states),), jnp.uint32)
    root = Root(states, logits, decision.value, jnp.ones(logits.shape, bool), jnp.zeros_like(logits), seeds)
    return ROOT_RULES[config.root].add_noise(key, root, 0.0, config)


def _ours(config: SearchConfig, network: type[SmallNetwork]) -> Search:
    def search(parameters: Parameters, key: Array, states: Array) -> Array:
        dynamics: Dynamics = network(parameters)
        return plan(dynamics, _root(network(parameters), key, states, config), config, DISCOUNT)[0].action

    return search


def _mctx_policy(simulations: int, parameters: Parameters, key: Array, states: Array) -> Any:
    network = SmallNetwork(parameters)

    def decision(params: None, key: Array, action: Array, state: Array) -> tuple[Any, Array]:
        state, value, _, logits = network.after(state, action)
        return mctx.DecisionRecurrentFnOutput(chance_logits=logits, afterstate_value=value), state

    def chance(params: None, key: Array, code: Array, afterstate: Array) -> tuple[Any, Array]:
        spawned = network.spawn(afterstate, code)
        value = spawned.value
        output = mctx.ChanceRecurrentFnOutput(
            action_logits=spawned.policy_logits,
            value=value,
            reward=0.0 * value,
            discount=jnp.full_like(value, DISCOUNT),
        )
        return output, spawned.state

    at_root = network.decide(states)
    root = mctx.RootFnOutput(prior_logits=at_root.policy_logits, value=at_root.value, embedding=states)
    return mctx.stochastic_muzero_policy(None, key, root, decision, chance, num_simulations=simulations)


def _compile(search: Search, parameters: Parameters, key: Array, states: Array) -> Callable[[], object]:
    """Compile a run of SEARCHES searches; the roots of each depend on the actions of the search before."""

    @jax.jit
    def run(parameters: Parameters, key: Array, states: Array) -> Array:
        def body(states: Array, key: Array) -> tuple[Array, None]:
            action = search(parameters, key, states)
            return states * (1 + 1e-6 * action[:, None]), None

        return jax.lax.scan(body, states, jax.random.split(key, SEARCHES))[0]

    compiled = run.lower(parameters, key, states).compile()
    return lambda: jax.block_until_ready(compiled(parameters, key, states))


def _tree_bytes(config: SearchConfig, parameters: Parameters, states: Array) -> float:
    def make_root(parameters: Parameters, states: Array) -> Root:
        return _root(SmallNetwork(parameters), jax.random.key(0), states, config)

    root = jax.eval_shape(make_root, parameters, states)
    return _bytes_a_board(jax.eval_shape(functools.partial(plant, simulations=config.simulations, codes=CODES), root))


def _mctx_tree_bytes(simulations: int, parameters: Parameters, key: Array, states: Array) -> float:
    # In mctx's search a node has A + C slots; the tree that the policy returns has only the A slots of the actions.
    tree = jax.eval_shape(functools.partial(_mctx_policy, simulations), parameters, key, states).search_tree
    edges = [getattr(tree, field.name) for field in fields(tree) if field.name.startswith("children_")]
    return _bytes_a_board(tree) + CODES / NUM_ACTIONS * _bytes_a_board(edges)


def _bytes_a_board(tree: Any) -> float:
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree)) / BATCH
