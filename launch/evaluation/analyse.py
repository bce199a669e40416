"""`muzero2048 moves`: a player's analysis of one board."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from launch.evaluation.evaluate import load_baseline
from launch.evaluation.notation import format_position, parse_board, parse_position
from launch.evaluation.search_options import Options, resolve
from launch.learners import registry
from launch.learners.interfaces import Player
from launch.run import checkpoints
from ntuple.game.interfaces import Analysis

NAMES = ("up", "right", "down", "left")


class Analyst(NamedTuple):
    """The player that analyses a board."""

    player: Player
    name: str  # as it is printed
    rows: int  # H of its board
    columns: int  # W of its board


def load_analyst(path: Path, options: Options) -> Analyst:
    """Load the player of a checkpoint; UserError as in `prepare_path`."""
    checkpoint = checkpoints.find_checkpoint(path)
    experiment, _ = checkpoints.read_checkpoint(checkpoint)
    search = resolve(experiment, options, checkpoint)
    settings = experiment.settings
    player = registry.load_player(experiment.learner, checkpoint, settings, search.player, search.config)
    return Analyst(player, f"{experiment.run.name}, {search.name}", settings.rows, settings.columns)


def baseline_analyst(name: str, board: str, options: Options) -> Analyst:
    """Make a player that needs no training; UserError as in `load_baseline`."""
    player, search = load_baseline(name, board, options)
    return Analyst(player, name if search is None else f"{name}, {search.name}", *parse_board(board))


def print_moves(analyst: Analyst, position: str, as_json: bool) -> None:
    """Print the four moves of a position: reward, value, and depth or visits; and the line that a player expects.

    Args:
        analyst: the player.
        position: in the notation of `parse_position`.
        as_json: print the analysis as one JSON object in the last line, too.

    Raises:
        UserError: the position cannot be read.
    """
    levels = parse_position(position, analyst.rows, analyst.columns)
    analysis = analyst.player.analyse(levels[np.newaxis].astype(np.uint8), np.zeros(1, np.uint32))
    unit, chosen = analyst.player.effort_unit, int(analysis.action[0])
    print(f"{analyst.name}: {format_position(levels)}")
    print(f"{'':<7}{'reward':>8}{'value':>14}{unit:>8}")
    for action, name in enumerate(NAMES):
        print(_row(analysis, action, name) + ("  <- plays this" if action == chosen else ""))
    if chosen < 0:
        print("no move is legal: the game is over")
    line = _line(analysis, analyst.columns)
    if line:
        print(f"expects: {', '.join(line)}")
    if as_json:
        moves = {
            name: {
                "reward": int(analysis.reward[0, action]),
                "value": float(analysis.value[0, action]) if np.isfinite(analysis.value[0, action]) else None,
                unit: int(analysis.effort[0, action]),
            }
            for action, name in enumerate(NAMES)
            if analysis.reward[0, action] >= 0
        }
        action_name = NAMES[chosen] if chosen >= 0 else None
        found = {"position": format_position(levels), "action": action_name, "moves": moves}
        print(json.dumps(found | ({"line": line} if line else {})))


def _line(analysis: Analysis, columns: int) -> list[str]:
    """Return the moves of the line that the player expects, each with the spawn after it, such as "up 2@(1,3)"."""
    if analysis.variation is None:
        return []
    words = []
    for action, code in analysis.variation[0].tolist():
        if action >= 0:
            row, column = divmod(code // 2, columns)
            words.append(NAMES[action] + (f" {4 if code % 2 else 2}@({row + 1},{column + 1})" if code >= 0 else ""))
    return words


def _row(analysis: Analysis, action: int, name: str) -> str:
    reward, value, effort = (part[0, action] for part in (analysis.reward, analysis.value, analysis.effort))
    if reward < 0:
        return f"{name:<7}{'not legal':>8}"
    text = "unknown" if np.isnan(value) else f"{value:,.1f}"
    return f"{name:<7}{reward:>8,}{text:>14}{effort:>8,}"
