"""Regret: the points that a player's moves lose against optimal play, by the exact solution of a small board.

    regret of a move = max over a of Q*(s, a) - Q*(s, chosen)
    regret of a game = sum over its moves

The mean regret of games estimates the optimum minus the player's expected score.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from launch.errors import UserError
from launch.evaluation.boards.notation import format_state
from launch.evaluation.records.game_log import LoggedGame
from launch.evaluation.records.record import ACTIONS, parse_record
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import board_name, find_game
from ntuple.core.opponents import CHANCE
from ntuple.exact.positions import LEVELS, words_of_states
from ntuple.exact.solution import Solution
from ntuple.exact.solver import MOST_CELLS
from ntuple.game.bitboard import Board
from ntuple.game.family_events import decode_state, draws_of
from ntuple.game.rollout import states_of


class Regret(NamedTuple):
    """Regret of some games, in points."""

    optimum: float  # expected score of optimal play
    a_game: float  # mean regret of a game
    a_move: float  # mean regret of a move
    worst: float  # largest regret of a move
    worst_position: str  # the board of that move, row by row
    worst_move: str  # U, R, D or L

    def line(self) -> str:
        """Return the figures as a line of text."""
        share = self.a_game / self.optimum
        return (
            f"regret {self.a_game:,.2f} points a game, {share:.2%} of the optimum {self.optimum:,.2f}; "
            f"{self.a_move:.3f} a move; the worst loses {self.worst:,.1f}: {self.worst_move} on {self.worst_position}"
        )

    def record(self) -> dict[str, Any]:
        """Return the figures as entries of a result file."""
        return {f"regret_{name}": value for name, value in self._asdict().items()}


def load_solution(path: Path, game: str, rows: int, columns: int, opponent: str = CHANCE) -> Solution:
    """Load the solution of a board's game played to its end; UserError if the file holds another one.

    `opponent` places the tiles of the games, a key of OPPONENTS.
    """
    board = board_name(rows, columns, game)
    try:
        solution = Solution.load(path)
    except ValueError as error:
        raise UserError(str(error)) from error
    is_same = solution.definition is find_game(game, rows, columns)
    if not is_same or (solution.rows, solution.columns) != (rows, columns):
        of_game = "" if find_game(game) is GAME_2048 else f" --game {game}"
        remedy = f"make one with: muzero2048 solve --board {rows}x{columns}{of_game} --out FILE"
        if rows * columns > MOST_CELLS:
            remedy = f"a board of more than {MOST_CELLS} cells cannot be solved to the end of the game"
        solved = board_name(solution.rows, solution.columns, solution.game)
        raise UserError(f"{path}: a solution of {solved}, but the games are of {board}; {remedy}")
    if solution.until <= LEVELS:
        end = solution.definition.tiles[solution.until]
        raise UserError(f"{path}: of a game that ends with {end}; solve again without --until")
    if solution.opponent != opponent:
        remedy = "solve without --against" if opponent == CHANCE else f"solve with --against {opponent}"
        raise UserError(f"{path}: {solution.opponent} places its tiles, and {opponent} those of the games; {remedy}")
    return solution


def regret_of(solution: Solution, games: Iterable[LoggedGame]) -> Regret:
    """Compute the regret of the moves of one or more games; UserError if a position is not in the solution."""
    rules, game_rules = solution.rules, solution.definition
    num_games, states, actions = 0, [], []
    for game in games:
        played = parse_record(game.record, game_rules)
        states.append(states_of(rules, played.opening, played.actions, played.spawns))
        actions.append(played.actions)
        num_games += 1
    boards, moves = np.concatenate(states), np.concatenate(actions)
    try:
        losses = solution.losses(words_of_states(boards[:, 0], draws_of(boards[:, 1])), moves)
    except ValueError as error:
        raise UserError(f"the solution does not know these games: {error}") from error
    worst = int(losses.argmax())
    return Regret(
        optimum=solution.start().expected,
        a_game=float(losses.sum()) / num_games,
        a_move=float(losses.mean()),
        worst=float(losses[worst]),
        worst_position=format_state(decode_state(rules, Board(*boards[worst])), game_rules),
        worst_move=ACTIONS[moves[worst]],
    )
