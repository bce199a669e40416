"""Self-play: a chunk of moves in all environments as one jitted scan."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import NamedSharding
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from muzero2048.game.env import STEP_DRAWS, Board, Game2048, Transition
from muzero2048.game.starts import Starts, StartState, Step, make_starts
from muzero2048.models.base import Model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.targets import Sequence, lambda_returns
from muzero2048.search.base import Dynamics, Plan, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import make_dynamics
from muzero2048.search.policies import make_root, plan
from muzero2048.search.policy_output import bootstrap_value
from muzero2048.training.calibration import Mark, Pairs, add_pairs, count_pairs, follow, init_mark
from muzero2048.training.config import TrainingConfig
from muzero2048.training.devices import by_device


class ActorState(NamedTuple):
    """E environments and the games in progress in them."""

    board: Board  # words of [E]
    score: Int[Array, "E"]  # since the game began, wherever it began
    moves: Int[Array, "E"]
    normal: Bool[Array, "E"]  # the game began at a normal start
    starts: StartState
    mark: Mark


class GameStatistics(NamedTuple):
    """Sums over the games from normal starts that ended in a chunk, and what concerns all games."""

    games: Int[Array, ""]
    score_sum: Float[Array, ""]
    score_max: Int[Array, ""]
    moves_sum: Float[Array, ""]
    reached: Int[Array, "levels"]  # games that ended with a largest tile of at least 2^level
    normal: Float[Array, ""]  # share of positions in games from normal starts
    pairs: Pairs  # of value and return, of all games that ended


class PlayStatistics(NamedTuple):
    """Of a chunk: the games that ended in it, and means over its moves."""

    ended: GameStatistics
    target_entropy: Float[Array, ""]  # mean entropy of the policy targets, nats
    q_range: Float[Array, ""]  # mean of max q - min q over the visited actions, points
    late: Float[Array, ""]  # share of positions that hold a tile of 2048 or more


REACH_LEVELS = 18


class Outcome(NamedTuple):
    """The games right after a move, before a finished one is replaced."""

    score: Int[Array, "*B"]
    moves: Int[Array, "*B"]
    normal: Bool[Array, "*B"]
    level: Int[Array, "*B"]  # log2 of the largest tile of the afterstate
    mark: Mark


def init_actor(game: Game2048, key: PRNGKeyArray, config: TrainingConfig) -> ActorState:
    """All environments at the start of a game, as if one of a single move had just ended."""
    num_envs = config.num_envs
    starts = make_starts(game, config.start)
    opening_key, start_key = jax.random.split(key)
    # Arrays of their own, not one several times: training donates them, and a buffer can be given away once.
    score, moves, number = (jnp.zeros((num_envs,), jnp.int32) for _ in range(3))
    opening = game.init(opening_key, (num_envs,))
    bits = jax.random.bits(start_key, (starts.draws, num_envs), jnp.uint32)
    state, board, special = starts.step(
        bits, starts.init(num_envs), Step(opening, number, opening, jnp.ones((num_envs,), bool))
    )
    return ActorState(board, score, moves, ~special, state, init_mark(num_envs))


def draws(starts: Starts) -> int:
    """Random draws of `step_actor` for an environment."""
    return STEP_DRAWS + 1 + starts.draws


def step_actor(
    game: Game2048,
    starts: Starts,
    bits: UInt32[Array, "D E"],
    actor: ActorState,
    action: Int[Array, "E"],
    value: Float[Array, "E"],
    discount: float,
) -> tuple[ActorState, Transition, Outcome]:
    """One move in all environments; a finished game is replaced by one that begins where the rule of starts says.

    Args:
        game: the rules.
        starts: the rule of starts.
        bits: `draws(starts)` random draws an environment.
        actor: the games.
        action: the moves.
        value: V of the positions before them, to be held against the returns.
        discount: gamma.
    """
    board, transition = game.step_from_bits(bits[:STEP_DRAWS], actor.board, action)
    score, moves = actor.score + transition.reward, actor.moves + 1
    step = Step(actor.board, actor.moves, board, transition.done)
    start_state, board, special = starts.step(bits[STEP_DRAWS + 1 :], actor.starts, step)
    mark = follow(actor.mark, bits[STEP_DRAWS], moves, value, transition.reward, discount)
    after, _ = game.afterstate(actor.board, action)  # shared with the step by the compiler
    level = game.to_cells(after).max(axis=(-2, -1)).astype(jnp.int32)
    going_on = jnp.where(transition.done, 0, 1)
    normal = jnp.where(transition.done, ~special, actor.normal)
    following = ActorState(board, score * going_on, moves * going_on, normal, start_state, mark)
    return following, transition, Outcome(score, moves, actor.normal, level, mark)


def search_move(
    dynamics: Dynamics,
    game: Game2048,
    board: Board,
    seeds: UInt32[Array, "B"],
    key: PRNGKeyArray | None,
    config: SearchConfig,
    discount: float,
) -> tuple[Root, Plan]:
    """Plan one move on each board, with the noise of self-play drawn from `key`, or without (None)."""
    root = make_root(dynamics, game, board, seeds, key, config)
    return root, plan(dynamics, root, config, discount)


def search_by_device(
    model: Model,
    game: Game2048,
    board: Board,
    seeds: UInt32[Array, "B"],
    key: PRNGKeyArray | None,
    config: MuZeroConfig,
    rows: NamedSharding,
) -> tuple[Root, Plan]:
    """`search_move` where the boards are cut among devices, by `rows`: each searches its own."""
    graphdef, params = nnx.split(model)

    def search(params: Any, root: Root) -> Plan:
        dynamics = make_dynamics(nnx.merge(graphdef, params), game, config.search)
        return plan(dynamics, root, config.search, config.discount)

    root = make_root(make_dynamics(model, game, config.search), game, board, seeds, key, config.search)
    return root, by_device(search, rows)(params, root)


def play_chunk(
    model: Model,
    key: PRNGKeyArray,
    game: Game2048,
    actor: ActorState,
    config: MuZeroConfig,
    rows: NamedSharding,
) -> tuple[ActorState, Sequence, Float[Array, "T E"], PlayStatistics]:
    """Play `chunk` moves; the sequence is time-major [T, E, ...] and carries finished value targets.

    Beside it the errors of the search: its value less the target, in points. The environments are cut by `rows`.
    """
    starts = make_starts(game, config.start)

    def search(key: PRNGKeyArray, board: Board) -> tuple[Plan, Float[Array, "E"]]:
        noise_key, seed_key = jax.random.split(key)
        seeds = jax.random.bits(seed_key, (config.num_envs,), jnp.uint32)
        root, found = search_by_device(model, game, board, seeds, noise_key, config, rows)
        return found, bootstrap_value(root, found, config.bootstrap)

    def move(actor: ActorState, key: PRNGKeyArray) -> tuple[ActorState, tuple[Sequence, Outcome, Float[Array, "E"]]]:
        search_key, step_key = jax.random.split(key)
        found, value = search(search_key, actor.board)
        bits = jax.random.bits(step_key, (draws(starts), *actor.score.shape), jnp.uint32)
        following, transition, outcome = step_actor(game, starts, bits, actor, found.action, value, config.discount)
        record = Sequence(
            cells=game.to_cells(actor.board).reshape(*actor.score.shape, game.num_cells),
            action=found.action.astype(jnp.int8),
            reward=transition.reward.astype(jnp.float32),
            done=transition.done,
            spawn_code=transition.spawn_code.astype(jnp.int8),
            policy=found.policy_target,
            value=value,
        )
        visited = found.visits > 0
        highest = jnp.max(found.q_values, axis=-1, where=visited, initial=-jnp.inf)
        lowest = jnp.min(found.q_values, axis=-1, where=visited, initial=jnp.inf)
        return following, (record, outcome, highest - lowest)

    keys = jax.random.split(key, config.chunk + 1)
    actor, (record, outcome, q_range) = jax.lax.scan(move, actor, keys[:-1])
    _, last = search(keys[-1], actor.board)
    values = jnp.concatenate([record.value, last[None]])
    returns = lambda_returns(record.reward, record.done, values, config.discount, config.td_lambda, config.td_steps)
    entropy = -jnp.sum(record.policy * jnp.log(jnp.maximum(record.policy, 1e-30)), axis=-1)
    statistics = PlayStatistics(
        ended=game_statistics(record.done, outcome),
        target_entropy=entropy.mean(),
        q_range=q_range.mean(),
        late=jnp.mean(outcome.level >= 11),
    )
    return actor, record._replace(value=returns), record.value - returns, statistics


def game_statistics(done: Bool[Array, "T E"], outcome: Outcome) -> GameStatistics:
    """Statistics of the moves of a chunk, some of which ended a game."""
    ended = done & outcome.normal
    levels = jnp.arange(REACH_LEVELS)
    return GameStatistics(
        games=ended.sum(),
        score_sum=jnp.sum(jnp.where(ended, outcome.score, 0).astype(jnp.float32)),
        score_max=jnp.max(jnp.where(ended, outcome.score, 0)),
        moves_sum=jnp.sum(jnp.where(ended, outcome.moves, 0).astype(jnp.float32)),
        reached=jnp.sum(ended[..., None] & (outcome.level[..., None] >= levels[None, None]), axis=(0, 1)),
        normal=outcome.normal.mean(),
        pairs=count_pairs(outcome.mark, done),
    )


def add_games(one: GameStatistics, other: GameStatistics) -> GameStatistics:
    """Both added up, the share of chunks too; of the two best scores the better."""
    total = jax.tree.map(jnp.add, one, other)
    best = jnp.maximum(one.score_max, other.score_max)
    return total._replace(score_max=best, pairs=add_pairs(one.pairs, other.pairs))


def add_play(one: PlayStatistics, other: PlayStatistics) -> PlayStatistics:
    """Both added up, the means of chunks too."""
    return jax.tree.map(jnp.add, one, other)._replace(ended=add_games(one.ended, other.ended))
