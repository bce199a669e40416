"""Stochastic + Gumbel MuZero in one file: it learns 2048 on a small board, with mctx, flax and optax.

    python examples/stochastic_muzero.py --board 2x3 --moves 1200000 --seed 1

SM: Antonoglou, Schrittwieser, Ozair, Hubert, Silver, "Planning in Stochastic Environments with a Learned Model"
(Stochastic MuZero), ICLR 2022. GM: Danihelka, Guez, Schrittwieser, Silver, "Policy improvement by planning with Gumbel"
(Gumbel MuZero), ICLR 2022.

The agent is told the legal moves of the board in front of it, and no other rule. It learns the functions of SM, sec. 4:

    s^0           = h(o_t)                        representation of the board o_t
    p^k, v^k      = f(s^k)                        policy and value of a state
    as^k, r^k     = phi(s^k, a^k)                 afterstate and reward of a move
    sigma^k, Q^k  = psi(as^k)                     distribution of the chance codes, and value, of an afterstate
    s^{k+1}       = g(as^k, c^k)                  state after the chance event with code c^k
    c^k           = e(as^k, h(o_{t+k+1}))         one-hot code of the chance event that was observed

Two conventions: the reward belongs to the move, so phi predicts it (g does in SM); the discount is 1. So

    q(s, a) = r(s, a) + Q(as),   Q(as) = sum_c sigma(c) v(g(as, c))

Shapes: B boards, N = H W cells, A = 4 actions, C chance codes, K unrolled moves, T moves in sequence.
"""

import argparse
import functools
import itertools
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import optax
from flax import nnx

from muzero2048 import Game2048

A = 4  # actions: up, right, down, left
LEVELS = 18  # a cell is the level of its tile, log2; 0 = empty
D = 16  # a latent state is one vector of D numbers for each cell
WIDTH, LINE_WIDTH = 256, 96  # hidden units
KINDS = 2  # a chance code names a cell and one of two learned vectors, so C = 2 N
BINS = 64  # of the distributions of values and rewards
SIMULATIONS = 8
NOISE = 2.0  # scale of the Gumbel noise in self-play; with 1 some good moves on 2x3 are hardly tried
ENVS, CHUNK = 128, 16  # games side by side; moves of each in a round of training
BUFFER = 64 * CHUNK  # moves of each game in the replay buffer
K = 3  # unrolled moves of the loss
HORIZON, LAMBDA = 6, 0.8  # of the value targets: the last of them looks HORIZON moves ahead
BATCH, RATIO = 256, 4  # sequences of an update; sequences sampled for each move that is played
NEVER = -1e9  # logit of what is not possible; finite, so that a softmax is never NaN


def mlp(rngs, *sizes):
    """Linear layers with relu between them."""
    layers = [nnx.Linear(*shape, rngs=rngs) for shape in itertools.pairwise(sizes)]
    return nnx.Sequential(layers[0], *(part for layer in layers[1:] for part in (nnx.relu, layer)))


def cosine_distance(x, y):
    """d(x, y) = 1 - x.y / (|x| |y|), over the last axis."""
    return 1.0 - jnp.sum(x * y, -1) * jax.lax.rsqrt(jnp.maximum(jnp.sum(x * x, -1) * jnp.sum(y * y, -1), 1e-8))


def move_lines(rows, columns):
    """Return the cells of each action's lines, wall first [A, L, L] (N: none), and the places of the cells [A, N]."""
    cells, side = np.arange(rows * columns).reshape(rows, columns), max(rows, columns)
    lines = np.full((A, side, side), cells.size)
    for frame, lane in zip(lines, (cells.T, cells[:, ::-1], cells[::-1].T, cells), strict=True):
        frame[: lane.shape[0], : lane.shape[1]] = lane
    return lines, np.argsort(lines.reshape(A, -1), axis=1, kind="stable")[:, : cells.size]


class Model(nnx.Module):
    """The functions h, f, phi, psi, g, e. Their form knows that a board has cells and that a move acts on its lines."""

    def __init__(self, game, rngs):
        n, side = game.num_cells, max(game.rows, game.columns)
        self.shape, self.codes = (game.rows, game.columns), KINDS * n
        self.embedding = nnx.Embed(LEVELS, D, rngs=rngs)
        self.norm = nnx.LayerNorm(D, use_bias=False, use_scale=False, rngs=rngs)
        self.line_hidden = nnx.Linear(side * D + side * side, LINE_WIDTH, rngs=rngs)
        self.line_out = nnx.Linear(LINE_WIDTH, side * D, rngs=rngs)
        self.reward_head = mlp(rngs, LINE_WIDTH, WIDTH, BINS)
        self.f_net = mlp(rngs, n * D, WIDTH, WIDTH, A + BINS)
        self.psi_net = mlp(rngs, n * D, WIDTH, WIDTH, self.codes + BINS)
        self.vectors = nnx.Param(0.5 * jax.random.normal(rngs.params(), (KINDS, D)))
        self.g_net = mlp(rngs, 2 * D, 2 * D, D)

    def h(self, cells):
        """Embed the tile of each cell: [B, N] -> [B, N, D]."""
        return self.norm(self.embedding(cells.astype(jnp.int32)))

    def f(self, state):
        """Return policy logits [B, A] and value logits [B, BINS]."""
        return jnp.split(self.f_net(state.reshape(len(state), -1)), [A], axis=-1)

    def phi(self, state, action):
        """Return afterstate [B, N, D] and reward logits [B, BINS]: one network for all lines and all actions."""
        lines, places = (jnp.asarray(table) for table in move_lines(*self.shape))
        batch, side = len(state), max(self.shape)
        padded = jnp.pad(state, ((0, 0), (0, 1), (0, 0)))  # cell N is 0
        x = jnp.take_along_axis(padded, lines.reshape(A, -1)[action][..., None], axis=1).reshape(batch, side, side, D)
        equal = jnp.einsum("blid,bljd->blij", x, x) / D  # 1 for equal tiles, since the vectors are normalised
        features = [part.reshape(batch, side, -1) for part in (x, equal)]
        hidden = nnx.relu(self.line_hidden(jnp.concatenate(features, axis=-1)))
        moved = (x + self.line_out(hidden).reshape(x.shape)).reshape(batch, -1, D)
        afterstate = self.norm(jnp.take_along_axis(moved, places[action][..., None], axis=1))
        return afterstate, self.reward_head(hidden.sum(axis=1))

    def psi(self, afterstate):
        """Return logits of the chance codes [B, C] and value logits [B, BINS]."""
        return jnp.split(self.psi_net(afterstate.reshape(len(afterstate), -1)), [self.codes], axis=-1)

    def write(self, x, vector):
        """Write a vector into cells."""
        return self.norm(x + self.g_net(jnp.concatenate([x, vector], axis=-1)))

    def g(self, afterstate, code):
        """Write the vector of the code into its cell: [B, N, D], [B, C] -> [B, N, D]."""
        return self.write(afterstate, code.reshape(*afterstate.shape[:2], KINDS) @ self.vectors[...])

    def e(self, afterstate, true, turn):
        """Name the chance event by what the afterstate does not explain of `true` = h(o_{t+k+1}): one-hot [B, C].

            cell = argmax_i d(as_i, true_i),   kind = argmin_j d(write(as_cell, vector_j), true_cell)

        In SM, e is a network with a straight-through gradient; docs/examples.md says how it did. An event that no
        vector explains yet goes to vector `turn` mod KINDS: else that of the 2s would get the rare 4s, too.
        """
        cell = jax.nn.one_hot(jnp.argmax(cosine_distance(afterstate, true), axis=-1), true.shape[1])
        here, wanted = (jnp.einsum("bn,bnd->bd", cell, x) for x in (afterstate, true))
        vectors = [jnp.broadcast_to(vector, here.shape) for vector in self.vectors[...]]
        distance = jnp.stack([cosine_distance(self.write(here, x), wanted) for x in vectors], axis=-1)
        kind = jnp.where(distance.min(axis=-1) > 0.5, turn % KINDS, jnp.argmin(distance, axis=-1))
        return jax.lax.stop_gradient(cell[:, :, None] * jax.nn.one_hot(kind, KINDS)[:, None]).reshape(len(true), -1)

    @property
    def support(self):
        """b_i in points, 0 to 2,233 on 2x3: finer for small values, as with the transform of MuZero (appendix F)."""
        return (self.codes**2 / KINDS**2 / 48 * jnp.arange(BINS)) ** 2

    def mean(self, logits):
        """Decode a number: sum_i p_i b_i."""
        return jax.nn.softmax(logits) @ self.support

    def cross_entropy(self, logits, x):
        """-sum_i w_i log p_i. The weights w of the two bins next to x have sum_i w_i b_i = x."""
        bins = jnp.arange(BINS, dtype=jnp.float32)
        place = jnp.interp(x, self.support, bins)
        return optax.softmax_cross_entropy(logits, jnp.maximum(0.0, 1.0 - jnp.abs(place[..., None] - bins)))


class Node(NamedTuple):
    """A decision node (slots 0 .. A-1 are its actions) or a chance node (the other C slots are its codes).

    mctx has one kind of node, so both kinds have A + C slots. Those that do not apply have the logit NEVER.
    """

    state: jax.Array  # [B, N, D]
    is_chance: jax.Array  # bool[B]


def expand(model, slot, node):
    """Follow the slot from the node: as, r = phi(s, a) to a chance node, or s' = g(as, c) to a decision node."""
    afterstate, reward = model.phi(node.state, jnp.minimum(slot, A - 1))
    chance, afterstate_value = model.psi(afterstate)
    state = model.g(node.state, jax.nn.one_hot(slot - A, model.codes))
    policy, value = model.f(state)
    policy = jnp.pad(policy, ((0, 0), (0, model.codes)), constant_values=NEVER)
    chance = jnp.pad(chance, ((0, 0), (A, 0)), constant_values=NEVER)
    output = mctx.RecurrentFnOutput(
        reward=jnp.where(node.is_chance, 0.0, model.mean(reward)),
        discount=jnp.ones(len(slot)),
        prior_logits=jnp.where(node.is_chance[:, None], policy, chance),
        value=jnp.where(node.is_chance, model.mean(value), model.mean(afterstate_value)),
    )
    return output, Node(jnp.where(node.is_chance[:, None, None], state, afterstate), ~node.is_chance)


def actions_of(tree):
    """Return the tree with the slots of the actions only."""
    slots = {name: getattr(tree, name)[..., :A] for name in tree.__dataclass_fields__ if name.startswith("children_")}
    return tree.replace(root_invalid_actions=tree.root_invalid_actions[..., :A], **slots)


def select_at_root(key, tree, node):
    """Sequential Halving over argmax_a g(a) + logits(a) + sigma(q(a)) (GM, sec. 3 and algorithm 2)."""
    return mctx.gumbel_muzero_root_action_selection(
        key, actions_of(tree), node, num_simulations=SIMULATIONS, max_num_considered_actions=A
    )


def select_inside(key, tree, node, depth):
    """Select a slot below the root.

    decision node: argmax_a pi'(a) - N(a) / (1 + sum_b N(b)),   pi' = softmax(logits + sigma(q))     (GM, sec. 5)
    chance node:   argmax_c sigma(c) (1 + sum_b N(b)) - N(c): the code whose visits are furthest below its share
    """
    action = mctx.gumbel_muzero_interior_action_selection(key, actions_of(tree), node, depth)
    visits = tree.children_visits[node, A:]
    deficit = jax.nn.softmax(tree.children_prior_logits[node, A:]) * (1 + visits.sum()) - visits
    return jnp.where(tree.embeddings.is_chance[node], A + jnp.argmax(deficit), action)


def search(model, cells, legal, gumbel):
    """Plan a move on each board; return the actions [B] and the policy targets [B, A]."""
    state = model.h(cells)
    policy, value = model.f(state)
    policy, no_code = jnp.where(legal, policy, NEVER), ((0, 0), (0, model.codes))
    tree = mctx.search(
        params=(),
        rng_key=jax.random.key(0),  # no rule draws: the noise is in `gumbel`
        root=mctx.RootFnOutput(
            prior_logits=jnp.pad(policy, no_code, constant_values=NEVER),
            value=model.mean(value),
            embedding=Node(state, jnp.zeros(len(cells), bool)),
        ),
        recurrent_fn=lambda params, key, slot, node: expand(model, slot, node),
        root_action_selection_fn=select_at_root,
        interior_action_selection_fn=select_inside,
        num_simulations=SIMULATIONS,
        invalid_actions=jnp.pad(~legal, no_code, constant_values=True).astype(jnp.float32),
        extra_data=mctx.GumbelMuZeroExtraData(root_gumbel=gumbel),
    )
    root = actions_of(tree)
    # sigma(q) = (50 + max_b N(b)) 0.1 q, with q in [0, 1] and unvisited q completed (GM, eq. 8 and appendix D)
    sigma_q = jax.vmap(mctx.qtransform_completed_by_mix_value, in_axes=(0, None))(root, 0)
    visits = root.children_visits[:, 0]
    most_visited = legal & (visits == visits.max(axis=-1, keepdims=True))
    action = jnp.argmax(jnp.where(most_visited, gumbel + policy + sigma_q, -jnp.inf), axis=-1)
    return action, jax.nn.softmax(jnp.where(legal, policy + sigma_q, NEVER))  # pi' (GM, eq. 11)


class Moves(NamedTuple):
    """Moves of games: [T, B] in self-play, [B, T] in a batch. A game may end, then the next one begins."""

    cells: jax.Array  # uint8[..., N], the board before the move
    next_cells: jax.Array  # uint8[..., N], the board after the chance event, also if that ends the game
    action: jax.Array
    reward: jax.Array
    done: jax.Array
    policy: jax.Array  # [..., A], the policy target


@functools.partial(jax.jit, static_argnums=(0, 1))
def play(game, graphdef, params, noise, games, key):
    """Play CHUNK moves; return the games (boards, scores so far), the moves, and the scores of games that end or -1."""
    model = nnx.merge(graphdef, params)

    def move(games, key):
        board, score = games
        noise_key, spawn_key, start_key = jax.random.split(key, 3)
        cells, legal = game.flat_cells(board), game.legal_actions(board)
        action, policy = search(model, cells, legal, noise * jax.random.gumbel(noise_key, legal.shape))
        afterstate, reward = game.afterstate(board, action)
        moved, _ = game.spawn(spawn_key, afterstate)
        done, score = game.is_over(moved), score + reward
        step = Moves(cells, game.flat_cells(moved), action, reward.astype(jnp.float32), done, policy)
        started = game.init(start_key, done.shape)
        board = tuple(jnp.where(done, new, old) for new, old in zip(started, moved, strict=True))
        return (board, jnp.where(done, 0, score)), (step, jnp.where(done, score, -1))

    games, (moves, scores) = jax.lax.scan(move, games, jax.random.split(key, CHUNK))
    return games, moves, scores


def evaluate(game, graphdef, params, key, games_each):
    """Return the scores of greedy games (no noise): the first `games_each` of each environment, [ENVS * games_each]."""
    games, scores = (game.init(key, (ENVS,)), jnp.zeros(ENVS, jnp.int32)), []
    while not scores or min(map(len, finished)) < games_each:
        games, _, ended = play(game, graphdef, params, 0.0, games, jax.random.fold_in(key, len(scores)))
        scores.append(ended)
        finished = [row[row >= 0][:games_each] for row in np.concatenate(scores).T]
    return np.concatenate(finished)


def sample(game, key, buffer, end):
    """Return BATCH sequences [B, T] of the newest BUFFER rows of moves before row `end`, each in a random view."""
    place_key, view_key = jax.random.split(key)
    first, last = jnp.array([jnp.maximum(end - BUFFER, 0), 0]), jnp.array([end - K - HORIZON + 1, ENVS])
    row, env = jnp.split(jax.random.randint(place_key, (BATCH, 2), first, last), 2, axis=1)
    moves = jax.tree.map(lambda x: x[(row + jnp.arange(K + HORIZON)) % BUFFER, env], buffer)
    # A board mirrored up-down or left-right is the same game with other names of cells and actions.
    grid = np.arange(game.num_cells).reshape(game.rows, game.columns)
    mirrors = [(grid[::v, ::h].ravel(), (1 - v, 2 - h, 1 + v, 2 + h)) for v in (1, -1) for h in (1, -1)]
    view = jax.random.randint(view_key, (BATCH,), 0, len(mirrors))
    cells, actions = (jnp.array(table)[view][:, None] for table in zip(*mirrors, strict=True))
    take = functools.partial(jnp.take_along_axis, axis=-1)
    moves = moves._replace(action=take(actions[:, 0], moves.action), policy=take(moves.policy, actions))
    return moves._replace(cells=take(moves.cells, cells), next_cells=take(moves.next_cells, cells))


def value_targets(model, moves):
    """z_t = r_t + (1 - LAMBDA) v(s_{t+1}) + LAMBDA z_{t+1}; v = z = 0 after the end, z = r + v at the last move."""
    batch, length = moves.done.shape
    logits = model.f(model.h(moves.next_cells.reshape(batch * length, -1)))[1]
    v, alive = model.mean(logits).reshape(batch, length), 1.0 - moves.done
    z = [moves.reward[:, -1] + alive[:, -1] * v[:, -1]]
    for t in reversed(range(length - 1)):
        z.append(moves.reward[:, t] + alive[:, t] * ((1 - LAMBDA) * v[:, t] + LAMBDA * z[-1]))
    return jnp.stack(z[::-1], axis=1)


def loss(params, graphdef, average, moves):
    """Unroll the model along K moves (SM, eq. 1 and 6). l: cross-entropy, d: mean cosine distance of the cells.

    L = 1/K sum_k  l(v^k, z_{t+k}) + l(p^k, pi_{t+k})                                        states, k = 0 .. K
                 + l(r^k, r_{t+k}) + l(Q^k, z_{t+k} - r_{t+k}) + l(sigma^k, c^k)             moves, k = 0 .. K-1
                 + 5 d(s^{k+1}, h(o_{t+k+1})) + 5 d'(as^k, h(o_{t+k+1}))                     consistency

    d is EfficientZero's (Ye et al. 2021, sec. 4.1), without gradient to h(o). In d' the farthest cell, usually that of
    the spawn, has the distance of the second farthest as its weight: with a constant one, phi learns likely spawns.
    """
    model = nnx.merge(graphdef, params)
    z = value_targets(nnx.merge(graphdef, average), moves)
    # reached[:, k]: move k belongs to the first game of the sequence
    reached = jnp.pad(jnp.cumprod(1.0 - moves.done, axis=1), ((0, 0), (1, 0)), constant_values=1.0)
    terms = dict.fromkeys(("value", "policy", "reward", "afterstate value", "chance", "consistency"), 0.0)
    state = model.h(moves.cells[:, 0])
    for k in range(K + 1):
        on = reached[:, k]
        policy, value = model.f(state)
        ended = reached[:, max(k - 1, 0)]  # at its end a game has the value 0
        terms["value"] += jnp.mean(ended * model.cross_entropy(value, on * z[:, k]))
        terms["policy"] += jnp.mean(on * optax.softmax_cross_entropy(policy, moves.policy[:, k]))
        if k == K:
            break
        state = (state + jax.lax.stop_gradient(state)) / 2  # half the gradient (MuZero, appendix G)
        afterstate, reward = model.phi(state, moves.action[:, k])
        chance, afterstate_value = model.psi(afterstate)
        true = jax.lax.stop_gradient(model.h(moves.next_cells[:, k]))
        code = model.e(afterstate, true, moves.cells[:, k].sum(axis=-1, dtype=jnp.int32) + moves.action[:, k])
        state = model.g(afterstate, code)
        apart, after_apart = cosine_distance(state, true), cosine_distance(afterstate, true)
        second, farthest = jnp.sort(after_apart, axis=-1)[:, -2:].T
        consistency = jnp.mean(apart + after_apart, -1) - (1 - jax.lax.stop_gradient(second)) * farthest / true.shape[1]
        terms["reward"] += jnp.mean(on * model.cross_entropy(reward, moves.reward[:, k]))
        terms["afterstate value"] += jnp.mean(on * model.cross_entropy(afterstate_value, z[:, k] - moves.reward[:, k]))
        terms["chance"] += jnp.mean(on * optax.softmax_cross_entropy(chance, code))
        terms["consistency"] += jnp.mean(on * consistency)
    return (sum(terms.values()) + 4.0 * terms["consistency"]) / K, {name: term / K for name, term in terms.items()}


@functools.partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=(3, 4))
def learn(game, graphdef, optimizer, learner, buffer, moves, end, key):
    """Write the moves of a round into the buffer and update: (parameters, their average, state of the optimizer)."""
    row = (end - CHUNK) % BUFFER
    buffer = jax.tree.map(lambda old, new: jax.lax.dynamic_update_slice_in_dim(old, new, row, 0), buffer, moves)

    def update(learner, key):
        params, average, state = learner
        batch = sample(game, key, buffer, end)
        gradients, report = jax.grad(loss, has_aux=True)(params, graphdef, average, batch)
        changes, state = optimizer.update(gradients, state)
        params = optax.apply_updates(params, changes)
        return (params, optax.incremental_update(params, average, 0.01), state), report

    learner, reports = jax.lax.scan(update, learner, jax.random.split(key, RATIO * ENVS * CHUNK // BATCH))
    return learner, buffer, jax.tree.map(jnp.mean, reports)


def train(game, total_moves, seed):
    """Train and return the model, as graphdef and parameters."""
    key, begin = jax.random.key(seed), time.perf_counter()
    graphdef, params = nnx.split(Model(game, nnx.Rngs(seed)))
    rounds = max(total_moves // (ENVS * CHUNK), 1)
    rate = optax.linear_schedule(2e-3, 1e-4, rounds * RATIO * ENVS * CHUNK // BATCH)
    optimizer = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(rate))
    learner = params, jax.tree.map(jnp.copy, params), optimizer.init(params)
    games, buffer, scores = (game.init(key, (ENVS,)), jnp.zeros(ENVS, jnp.int32)), None, []
    for i in range(1, rounds + 1):
        key, play_key, learn_key = jax.random.split(key, 3)
        games, moves, ended = play(game, graphdef, learner[1], NOISE, games, play_key)
        scores = [*scores, *ended[ended >= 0].tolist()][-1000:]
        buffer = buffer or jax.tree.map(lambda x: jnp.zeros((BUFFER, *x.shape[1:]), x.dtype), moves)
        learner, buffer, report = learn(game, graphdef, optimizer, learner, buffer, moves, i * CHUNK, learn_key)
        if i % max(rounds // 20, 1) == 0:
            terms = ", ".join(f"{name} {float(term):.3f}" for name, term in report.items())
            seconds = f"{time.perf_counter() - begin:.0f} s, {time.process_time():.0f} CPU s"
            print(f"{i * ENVS * CHUNK} moves, {seconds}, noisy score {np.mean(scores or 0.0):.1f}, {terms}", flush=True)
    return graphdef, learner[1]


def main():
    """Train, then play 2,048 greedy games."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--board", default="2x3", help="rows x columns, 2x2 to 3x3")
    parser.add_argument("--moves", type=int, default=1_200_000, help="of training")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    game = Game2048(*map(int, args.board.split("x")))
    scores = evaluate(game, *train(game, args.moves, args.seed), jax.random.key(args.seed + 1), 2048 // ENVS)
    print(f"greedy: {scores.mean():.1f} +- {1.96 * scores.std() / len(scores) ** 0.5:.1f} points, {len(scores)} games")


if __name__ == "__main__":
    main()
