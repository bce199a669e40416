"""Regret: what a player's moves lose against the optimum of a small board, as the exact solution has it.

The regret of a move is max over a of Q*(s, a) - Q*(s, chosen), in points; that of a game is the sum over its moves. Its
mean over games estimates how far the player's expected score is below the optimum.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from launch.errors import UserError
from launch.evaluation.game_log import LoggedGame
from launch.evaluation.notation import format_position
from launch.evaluation.records import ACTIONS, parse_record
from ntuple import make_rules
from ntuple.exact.solution import Solution
from ntuple.exact.solver import LEVELS
from ntuple.game.bitboard import Board, decode
from ntuple.game.rollout import states_of


class Regret(NamedTuple):
    """Points lost, over some games."""

    optimum: float  # the expected score of the best play
    a_game: float  # mean
    a_move: float  # mean
    worst: float  # of one move
    worst_position: str  # the board of that move, row by row
    worst_move: str  # U, R, D or L

    def line(self) -> str:
        """The figures for people."""
        share = self.a_game / self.optimum
        return (
            f"regret {self.a_game:,.2f} points a game, {share:.2%} of the optimum {self.optimum:,.2f}; "
            f"{self.a_move:.3f} a move; the worst loses {self.worst:,.1f}: {self.worst_move} on {self.worst_position}"
        )

    def record(self) -> dict[str, Any]:
        """The figures for files."""
        return {f"regret_{name}": value for name, value in self._asdict().items()}


def load_solution(path: Path, rows: int, columns: int) -> Solution:
    """The solution of a board in a file, played to its end; UserError if it is damaged, missing, or of another game."""
    try:
        solution = Solution.load(path)
    except ValueError as error:
        raise UserError(str(error)) from error
    if (solution.rows, solution.columns) != (rows, columns):
        raise UserError(
            f"{path}: a solution of {solution.rows}x{solution.columns}, but the games are of {rows}x{columns}; "
            f"make one with: muzero2048 solve --board {rows}x{columns} --out FILE"
        )
    if solution.until <= LEVELS:
        raise UserError(f"{path}: of a game that ends with {1 << solution.until}; solve again without --until")
    return solution


def regret_of(solution: Solution, games: Iterable[LoggedGame]) -> Regret:
    """What the moves of one or more games lose."""
    rules = make_rules(solution.rows, solution.columns)
    num_games, states, actions = 0, [], []
    for game in games:
        played = parse_record(game.record)
        states.append(states_of(rules, played.opening, played.actions, played.spawns)[:, 0])
        actions.append(played.actions)
        num_games += 1
    words, moves = np.concatenate(states), np.concatenate(actions)
    try:
        losses = solution.losses(words, moves)
    except ValueError as error:
        raise UserError(f"the solution does not know these games: {error}") from error
    worst = int(losses.argmax())
    return Regret(
        optimum=solution.start().expected,
        a_game=float(losses.sum()) / num_games,
        a_move=float(losses.mean()),
        worst=float(losses[worst]),
        worst_position=format_position(decode(rules, Board(words[worst], np.uint64(0)))),
        worst_move=ACTIONS[moves[worst]],
    )
