"""Steps per second of the environments: of 2048 compared with pgx and jumanji, of the other games with that of 2048."""

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from launch.bench.rows import BenchRow, best_seconds
from launch.progress import numbered
from muzero2048.game.env import STEP_DRAWS, Board, BoardGame, Game2048
from muzero2048.game.family_env import FamilyGame
from ntuple.core.games.known import GAMES

MEASURED_SECONDS = 0.4  # target length of a repeat
OTHER_GAMES = ("2584", "threes")


class Environment(NamedTuple):
    """A batched environment with auto-reset, driven by uniformly random legal actions."""

    init: Callable[[Any, int], Any]  # (key, batch) -> state
    step: Callable[[Any, Any], tuple[Any, Any]]  # (key, state) -> (state, rewards)
    steps_a_call: int = 1  # moves of each environment in one call of `step`


def bench(batches: tuple[int, ...] = (64, 1024, 16384)) -> list[BenchRow]:
    """Measure steps per second of the JAX environments, pgx and jumanji."""
    peers = {"pgx": _pgx(), "jumanji": _jumanji()}
    others = {name: _ours(FamilyGame(GAMES[name])) for name in OTHER_GAMES}
    rows = []
    for batch in numbered(batches, "batch {:,}".format):
        environments = {"2048": _ours(Game2048()), **peers, **others}
        rollouts = {name: _make_rollout(environment, batch) for name, environment in environments.items()}
        seconds = best_seconds({name: rollout.run for name, rollout in rollouts.items()})
        speed = {name: batch * rollouts[name].steps / seconds[name] for name in rollouts}
        ours = speed["2048"]
        rows.append(BenchRow(f"env, batch {batch}", ours, "steps/s", {peer: ours / speed[peer] for peer in peers}))
        for name in others:
            ratio = {"2048": speed[name] / ours}
            rows.append(BenchRow(f"env of {name}, batch {batch}", speed[name], "steps/s", ratio))
    return rows


class Rollout(NamedTuple):
    """A compiled rollout of about MEASURED_SECONDS."""

    run: Callable[[], None]
    steps: int  # moves of each environment in a run


def _make_rollout(environment: Environment, batch: int) -> Rollout:
    @functools.partial(jax.jit, static_argnums=2)
    def rollout(key: Any, state: Any, steps: int) -> Any:
        def body(carry: tuple[Any, Any], key: Any) -> tuple[tuple[Any, Any], None]:
            state, total = carry
            state, rewards = environment.step(key, state)
            return (state, total + rewards), None

        keys = jax.random.split(key, steps // environment.steps_a_call)
        (_, total), _ = jax.lax.scan(body, (state, jnp.zeros((batch,))), keys)
        return total

    state = environment.init(jax.random.key(0), batch)

    def run(steps: int) -> None:
        jax.block_until_ready(rollout(jax.random.key(1), state, steps))

    trial = 64
    run(trial)  # compiles
    began = time.perf_counter()
    run(trial)
    steps = max(trial, int(MEASURED_SECONDS * trial / (time.perf_counter() - began)))
    steps -= steps % environment.steps_a_call
    run(steps)  # compiles for this length
    return Rollout(functools.partial(run, steps), steps)


def _ours(game: BoardGame) -> Environment:
    draws = 1 + STEP_DRAWS

    def two_steps(key: Any, board: Board) -> tuple[Board, Any]:
        # One call of threefry for both steps: its ten small kernels take a third of the time at 64 boards.
        bits = jax.random.bits(key, (2 * draws, *board[0].shape), jnp.uint32)
        rewards = jnp.zeros(board[0].shape)
        for first in (0, draws):
            action = game.random_action_from_bits(bits[first], board)
            board, transition = game.step_from_bits(bits[first + 1 : first + draws], board, action)
            rewards += transition.reward.astype(jnp.float32)
        return board, rewards

    return Environment(lambda key, batch: game.init(key, (batch,)), two_steps, steps_a_call=2)


def _pgx() -> Environment:
    import pgx
    from pgx.experimental import auto_reset

    game = pgx.make("2048")
    reset_step = jax.vmap(auto_reset(game.step, game.init))

    def init(key: Any, batch: int) -> Any:
        return jax.vmap(game.init)(jax.random.split(key, batch))

    def step(key: Any, state: Any) -> tuple[Any, Any]:
        action_key, step_key = jax.random.split(key)
        mask = state.legal_action_mask
        action = _random_legal(action_key, mask)
        state = reset_step(state, action, jax.random.split(step_key, len(mask)))
        return state, state.rewards[:, 0]

    return Environment(init, step)


def _jumanji() -> Environment:
    import jumanji
    from jumanji.wrappers import AutoResetWrapper

    game = AutoResetWrapper(jumanji.registration.make("Game2048-v1"))

    def init(key: Any, batch: int) -> Any:
        state, timestep = jax.vmap(game.reset)(jax.random.split(key, batch))
        return state, timestep.observation.action_mask

    def step(key: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        state, mask = carry
        state, timestep = jax.vmap(game.step)(state, _random_legal(key, mask))
        return (state, timestep.observation.action_mask), timestep.reward

    return Environment(init, step)


def _random_legal(key: Any, mask: Any) -> Any:
    """Draw a uniformly random legal action for each board, in the cheapest way for the peers."""
    chosen = jax.random.uniform(key, (len(mask), 1)) * mask.sum(axis=-1, keepdims=True)
    return jnp.argmax(jnp.cumsum(mask, axis=-1) > chosen, axis=-1)
