"""Many games as one gymnasium vector environment, on the JAX environments of muzero2048/game.

Observations, actions, rewards and info are those of game_env.py with a leading axis of B games, in arrays of numpy. As
gymnasium has it, "_score" in info says which games "score" is of: those that begin in this step.

Autoreset is NEXT_STEP, gymnasium's default: when a game ends, its last board is returned with terminated = True. The
next step ignores the action of this game and returns the first board of a new one, with reward 0. Until then its action
mask is all 1, so that a masked agent can draw an action.

The random numbers of game i depend on (seed i, number of the step) alone, not on the number of games.
A wrong argument is a ValueError of one line; a step before `reset` is gymnasium.error.ResetNeeded.
"""

import functools
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from jaxtyping import Array, Bool, Float32, Int, Int8, UInt8, UInt32
from numpy.typing import NDArray

from muzero2048.environments.checks import SEEDS, board_sides, many_actions, many_seeds, state_space, whole_number
from muzero2048.environments.drawing import board_picture
from muzero2048.game.env import NUM_ACTIONS, Board, BoardGame, where
from muzero2048.game.family_env import make_board_game
from ntuple.core.games.known import find_game


class _State(NamedTuple):
    """B games in progress."""

    board: Board  # words of [B]
    over: Bool[Array, "B"]  # whether the game ended in the last step
    seeds: UInt32[Array, "B"]
    steps: UInt32[Array, ""]


class _Seen(NamedTuple):
    """What a step returns to the caller."""

    observations: UInt8[Array, "B O"]
    begun: Bool[Array, "B"]  # whether the board is the first one of a game
    score: Int[Array, "B"]  # points of the first tiles; 0 where no game begins
    reward: Float32[Array, "B"]
    over: Bool[Array, "B"]
    mask: Int8[Array, "B 4"]


class GameVectorEnv(gymnasium.vector.VectorEnv[Any, NDArray[np.integer], NDArray[Any]]):
    """B games on boards of `rows` x `columns` cells, each side 2 to 4."""

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self, num_envs: int = 1, rows: int = 4, columns: int = 4, render_mode: str | None = None, game: str = "2048"
    ) -> None:
        """Make the environment.

        `render_mode` is None or "rgb_array"; `game` is a name of docs/games.md.
        """
        count = whole_number(num_envs)
        if count is None or count < 1:
            raise ValueError(f"num_envs is {num_envs!r}: give a whole number of 1 or more")
        rows, columns = board_sides(rows, columns)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"there is no render_mode {render_mode!r} of a vector; give rgb_array")
        self.game = find_game(game, rows, columns)
        self._board_game = make_board_game(game, rows, columns)
        self.num_envs, self.render_mode = count, render_mode
        self.single_observation_space = state_space(self.game, rows, columns)
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, count)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, count)
        self._state: _State | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start B games.

        `seed` is that of game 0, game i has seed + i; or there are B seeds; None: drawn from `np_random`. No options
        are known.
        """
        given = many_seeds(seed, self.num_envs)
        super().reset(seed=whole_number(seed), options=options)
        drawn = self.np_random.integers(SEEDS, size=self.num_envs)
        seeds = np.array(
            [drawn[i] if given_seed is None else given_seed for i, given_seed in enumerate(given)], np.uint32
        )
        self._state, seen = _begin(self._board_game, jnp.asarray(seeds))
        return self._observed(seen.observations), _info(seen)

    def step(
        self, actions: NDArray[np.integer]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Move in every game, then spawn; an illegal action changes nothing, and an ended game begins anew.

        Actions are int[B], 0..3. Returns boards uint8[B, H, W], in a game with hints in a dict, rewards float64[B],
        terminated bool[B], truncated bool[B], and info.
        """
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        moves = many_actions(actions, self.num_envs)
        self._state, seen = _step(self._board_game, self._state, jnp.asarray(moves))
        observed, over = self._observed(seen.observations), np.array(seen.over)
        return observed, np.array(seen.reward, np.float64), over, np.zeros_like(over), _info(seen)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return a picture uint8[height, width, 3] of each board, if `render_mode` is "rgb_array"."""
        if self.render_mode is None or self._state is None:
            return None
        seen = self._observed(self._board_game.observe(self._state.board))
        boards, hints = (seen["board"], seen["hint"]) if self.game.bag else (seen, [0] * self.num_envs)
        return tuple(board_picture(board, self.game, int(hint)) for board, hint in zip(boards, hints, strict=True))

    def _observed(self, in_bytes: UInt8[Array, "B O"]) -> Any:
        """Return the observation of B games."""
        observations, cells = np.array(in_bytes), self._board_game.num_cells
        boards = observations[:, :cells].reshape(-1, self._board_game.rows, self._board_game.columns)
        if self.game.bag is None:
            return boards
        return {"board": boards, "hint": observations[:, cells].astype(np.int64), "bag": observations[:, cells + 1 :]}


@functools.partial(jax.jit, static_argnums=0)
def _begin(game: BoardGame, seeds: UInt32[Array, "B"]) -> tuple[_State, _Seen]:
    steps = jnp.zeros((), jnp.uint32)
    board = game.init_from_bits(_bits(seeds, steps)[0])
    state = _State(board, jnp.zeros(seeds.shape, bool), seeds, steps)
    return state, _seen(game, state, jnp.zeros(seeds.shape), jnp.ones(seeds.shape, bool))


@functools.partial(jax.jit, static_argnums=0)
def _step(game: BoardGame, state: _State, action: Array) -> tuple[_State, _Seen]:
    steps = state.steps + 1
    bits = _bits(state.seeds, steps)
    after, reward = game.afterstate(state.board, action)
    is_legal = jnp.take_along_axis(game.legal_actions(state.board), action[:, None], axis=-1)[:, 0]
    spawned, code = game.spawn_from_bits(bits[0], after)
    moved = where(is_legal, spawned, state.board)
    reward = reward + jnp.where(is_legal, game.placed_points(code), 0)
    board = where(state.over, game.init_from_bits(bits[1]), moved)
    following = _State(board, game.is_over(board), state.seeds, steps)
    # A game that is over has no merge: reward 0.
    return following, _seen(game, following, reward.astype(jnp.float32), begun=state.over)


def _seen(game: BoardGame, state: _State, reward: Array, begun: Array) -> _Seen:
    mask = game.legal_actions(state.board) | state.over[:, None]
    score = jnp.where(begun, game.opening_points(state.board), 0)
    return _Seen(game.observe(state.board), begun, score, reward, state.over, mask.astype(jnp.int8))


def _bits(seeds: UInt32[Array, "B"], steps: UInt32[Array, ""]) -> UInt32[Array, "2 B"]:
    """Draw twice for this step of each game: for the spawn, and for the start of a new game."""

    def draw(seed: Array) -> Array:
        return jax.random.bits(jax.random.fold_in(jax.random.key(seed), steps), (2,), jnp.uint32)

    return jax.vmap(draw, out_axes=1)(seeds)


def _info(seen: _Seen) -> dict[str, Any]:
    """Return the masks, of all games, and the scores, of those that begin."""
    masks = {"action_mask": np.array(seen.mask), "_action_mask": np.ones(len(seen.mask), bool)}
    return masks | {"score": np.array(seen.score), "_score": np.array(seen.begun)}
