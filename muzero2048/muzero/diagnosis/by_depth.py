"""Errors by depth of a checkpoint's model on boards of its own play, and of a model in training on its buffer."""

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from muzero2048.game.env import Board, Game2048
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.diagnosis.depth_errors import Errors, depth_errors
from muzero2048.muzero.diagnosis.one_move import buffer_boards
from muzero2048.muzero.player import load_model, network_setting
from muzero2048.players.player import Params, SearchSetting, compile_play
from muzero2048.training.replay import ReplayState

SPAWN_BOARDS = 128  # boards whose afterstates are tried with all their spawns
REPORTED = 1, 5  # depths that a training reports
REPORTED_BOARDS, REPORTED_SPAWN_BOARDS = 256, 32
LANES = 32  # games that are played at a time; a board of each is taken every MOVES_A_CALL moves


def errors_of_checkpoint(
    folder: Path, config: MuZeroConfig, boards: int, depth: int, seed: int
) -> dict[str, np.ndarray]:
    """Measure the model of a checkpoint on boards of its own play.

    Returns for each name of launch/experiment/metrics.py the numbers at depths 0 ... `depth`. The search of `config`
    plays the games; `seed` is that of the games and of the spawns of the unroll.

    Raises:
        ValueError: the parameters are damaged or belong to another network.
    """
    graphdef, params = load_model(folder, config)
    setting = network_setting(config, graphdef)
    cells = played_boards(setting, params, boards, seed)
    board = setting.game.from_cells(jnp.asarray(cells))
    found = _measure(config, graphdef, depth, SPAWN_BOARDS, params, board, jax.random.key(seed))
    return {name: np.asarray(values) for name, values in found.items()}


def played_boards(setting: SearchSetting, params: Params, boards: int, seed: int) -> np.ndarray:
    """Return random boards uint8[boards, H, W] of games that the player plays, from all parts of the games.

    The games are played until as many have ended as are played at a time.

    The games are played until as many have ended as are played at a time. On each board a move is legal.
    """
    lanes = min(LANES, boards)
    program = compile_play(setting, lanes, params, lanes)
    seed_word = jnp.asarray(seed, jnp.uint32)
    state = program.open(seed_word)
    found: list[np.ndarray] = []
    while state.next_game < 2 * lanes or len(found) * lanes < boards:
        state = program.play(state, params, seed_word)
        found.append(np.asarray(setting.game.to_cells(state.board)))
    return np.random.default_rng(seed).permutation(np.concatenate(found))[:boards]


def errors_in_training(
    config: MuZeroConfig, graphdef: nnx.GraphDef[Any], params: Params, replay: ReplayState
) -> dict[str, float]:
    """Measure the model on boards from the whole replay buffer.

    Returns the metrics depth<k>/<name> at the depths REPORTED.
    """
    game = Game2048(config.rows, config.columns)
    cells = buffer_boards(replay, REPORTED_BOARDS)[0][:REPORTED_BOARDS]
    board = game.from_cells(cells.reshape(-1, game.rows, game.columns))
    found = _measure(config, graphdef, max(REPORTED), REPORTED_SPAWN_BOARDS, params, board, jax.random.key(0))
    return {f"depth{k}/{name}": float(values[k]) for name, values in found.items() for k in REPORTED}


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _measure(
    config: MuZeroConfig,
    graphdef: nnx.GraphDef[Any],
    depth: int,
    spawn_boards: int,
    params: Params,
    board: Board,
    key: jax.Array,
) -> Errors:
    game, model = Game2048(config.rows, config.columns), nnx.merge(graphdef, params)
    return depth_errors(model, game, config.discount, board, key, depth, spawn_boards)
