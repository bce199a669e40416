"""Monte Carlo tree search by plain recursion (Guei 2023, sec. 4.3.2), with the two rules of ntuple/mcts/search.py."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from reference import rules
from reference.rules import Board

Draw = Callable[[Board], int]  # afterstate -> code of a spawn


@dataclass
class Move:
    """A legal move of a state."""

    after: Board
    reward: int
    value: float  # V(as)
    returns: list[float] = field(default_factory=list)  # from the afterstate on, one for each visit
    spawns: dict[int, "State"] = field(default_factory=dict)


class State:
    """A state of the tree with its legal moves, by action."""

    def __init__(self, board: Board, value: Callable[[Board], float]) -> None:
        moved = {action: rules.afterstate(board, action) for action in rules.ACTIONS}
        self.board = board
        self.moves = {a: Move(after, reward, value(after)) for a, (after, reward) in moved.items() if after != board}


@dataclass
class Search:
    """A search; `is_mean` selects the rule of Q."""

    value: Callable[[Board], float]
    draw: Draw
    c: float
    v_norm: float | None  # None: the largest r + V at the root, at least 1
    is_mean: bool

    def run(self, board: Board, simulations: int) -> State:
        """Return the root after the simulations."""
        root = State(board, self.value)
        self.scale = self.v_norm or max([1.0, *(move.reward + move.value for move in root.moves.values())])
        for _ in range(simulations - 1 if root.moves else 0):
            self._simulate(root)
        return root

    def q(self, move: Move) -> float:
        """Return Q of a move in points."""
        if not self.is_mean:
            return move.reward + self._expectation(move)
        return move.reward + (sum(move.returns) / len(move.returns) if move.returns else move.value)

    def _expectation(self, move: Move) -> float:
        """Return the value of an afterstate by expectimax; spawns that were not visited have its own value."""
        probabilities = rules.chance_probabilities(move.after)
        inside = sum(float(probabilities[code]) * self._best(state) for code, state in move.spawns.items())
        return inside + (1 - sum(float(probabilities[code]) for code in move.spawns)) * move.value

    def _best(self, state: State) -> float:
        return max((move.reward + self._expectation(move) for move in state.moves.values()), default=0.0)

    def _simulate(self, state: State) -> float:
        """Make one simulation from a state on and return its return."""
        if not state.moves:
            return 0.0
        action = self._select(state)
        move = state.moves[action]
        if not move.returns:
            result = move.value
        else:
            code = self._code(move)
            if code in move.spawns:
                result = self._simulate(move.spawns[code])
            else:
                move.spawns[code] = State(rules.spawn(move.after, code), self.value)
                below = move.spawns[code].moves.values()
                result = max((one.reward + one.value for one in below), default=0.0)
        move.returns.append(result)
        return move.reward + result

    def _code(self, move: Move) -> int:
        drawn, visits = self.draw(move.after), len(move.returns)
        codes = sorted(rules.chance_probabilities(move.after), key=lambda code: (code % 2, code))  # each 2 before a 4
        return codes[visits - 1] if not self.is_mean and visits <= len(codes) else drawn

    def _select(self, state: State) -> int:
        total = sum(len(move.returns) for move in state.moves.values())

        def bound(action: int) -> float:
            move = state.moves[action]
            exploration = math.sqrt(math.log(max(total, 1)) / max(len(move.returns), 1))
            return self.q(move) / self.scale + self.c * exploration

        return max(state.moves, key=bound)
