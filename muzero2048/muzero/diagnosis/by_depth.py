"""Errors by depth of a checkpoint's model on boards of its own play, and of a model in training on its buffer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.diagnosis.depth_errors import depth_errors
from muzero2048.muzero.diagnosis.one_move import buffer_boards
from muzero2048.muzero.network_player import load_model, network_setting
from muzero2048.players.search_player import Params, SearchSetting, compile_play
from muzero2048.training.devices import local_part
from muzero2048.training.replay import ReplayState

SPAWN_BOARDS = 128  # boards whose afterstates are tried with all their spawns
REPORTED = 1, 5  # depths that a training reports
REPORTED_BOARDS, REPORTED_SPAWN_BOARDS = 256, 32
LANES = 32  # games that are played at a time; a board of each is taken every MOVES_A_CALL moves

_measure = jax.jit(depth_errors, static_argnums=(1, 2, 5, 6))


def errors_of_checkpoint(
    folder: Path, config: MuZeroConfig, boards: int, depth: int, seed: int, say: Callable[[str], None]
) -> dict[str, np.ndarray]:
    """Measure the model of a checkpoint on boards of its own play.

    Returns for each name of launch/experiment/metrics.py the numbers at depths 0 ... `depth`. The search of `config`
    plays the games; `seed` is that of the games and of the spawns of the unroll. `say` gets what is done now.
    """
    graphdef, params = load_model(folder, config)
    setting = network_setting(config, graphdef)
    cells = played_boards(setting, params, boards, seed, say)
    board = setting.game.from_observation(jnp.asarray(cells))
    model, key = nnx.merge(graphdef, params), jax.random.key(seed)
    say(f"compiling, and measuring depths 0 to {depth} ...")
    errors = _measure(model, setting.game, config.discount, board, key, depth, SPAWN_BOARDS)
    return {name: np.asarray(values) for name, values in errors.items()}


def played_boards(
    setting: SearchSetting, params: Params, boards: int, seed: int, say: Callable[[str], None]
) -> np.ndarray:
    """Return observations uint8[boards, O] of random boards, from all parts of games that the player plays.

    The games are played until as many have ended as are played at a time. On each board a move is legal.
    """
    lanes = min(LANES, boards)
    program = compile_play(setting, lanes, params, lanes)
    seed_word = jnp.asarray(seed, jnp.uint32)
    state = program.open(seed_word)
    played: list[np.ndarray] = []
    while state.next_game < 2 * lanes or len(played) * lanes < boards:
        state = program.play(state, params, seed_word)
        played.append(np.asarray(setting.game.observe(state.board)))
        ended = max(0, int(state.next_game) - lanes)
        say(f"playing: {min(ended, lanes)} of {lanes} games, {min(len(played) * lanes, boards)} of {boards} boards")
    return np.random.default_rng(seed).permutation(np.concatenate(played))[:boards]


def errors_in_training(
    config: MuZeroConfig, graphdef: nnx.GraphDef[Any], params: Params, replay: ReplayState
) -> dict[str, float]:
    """Measure the model on boards of all ages, from the part of the buffer on the first device of this process.

    Returns the metrics depth<k>/<name> at the depths REPORTED.
    """
    game, cells = config.board_game, buffer_boards(local_part(replay), REPORTED_BOARDS)[0]
    board = game.from_observation(cells)
    model, key = nnx.merge(graphdef, params), jax.random.key(0)
    errors = _measure(model, game, config.discount, board, key, max(REPORTED), REPORTED_SPAWN_BOARDS)
    return {f"depth{k}/{name}": float(values[k]) for name, values in errors.items() for k in REPORTED}
