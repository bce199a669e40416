"""A player's view of a board as plain data, and as the text that `muzero2048 moves` prints."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from launch.evaluation.boards.notation import format_state
from launch.output import print_json
from ntuple.core.games.definition import Game, State
from ntuple.core.games.event_codes import event_text
from ntuple.core.interfaces import Analysis

NAMES = ("up", "right", "down", "left")
LEAST_PROBABILITY = 1e-3  # of an outcome that is listed without a visit


class Move(NamedTuple):
    """What a player says of one legal move."""

    reward: int  # points of the move
    value: float | None  # expected points of the game from here, the reward included; None: unknown
    effort: int  # search effort in `Advice.unit`


class Chance(NamedTuple):
    """What a search knows of one outcome of the chance event after the chosen move."""

    spawn: str  # `event_text`; "code 5" of a learned model, whose codes name no spawns
    probability: float
    visits: int
    value: float | None  # expected points after it; None: not visited


class TableAdvice(NamedTuple):
    """The table of an endgame that the board fits."""

    table: str  # its pattern and target
    probabilities: dict[str, float]  # of the target after each legal move


class Advice(NamedTuple):
    """What a player says of one board."""

    position: str  # in the notation of `parse_state`
    action: str | None  # the move that the player makes, such as "up"; None: no move is legal
    moves: dict[str, Move]  # the legal moves
    unit: str  # of the effort: "ply" or "visits"
    line: list[str]  # the moves that the player expects, each with the spawn after it: "up 2@(1,3)"
    policy: dict[str, float] | None = None  # the search's probability of each legal move; None: the player has none
    chances: Sequence[Chance] = ()  # after the chosen move, the most visited and most probable first
    endgame: TableAdvice | None = None  # the table that removes moves; None: there is none for this board

    @property
    def action_index(self) -> int | None:
        """The move that the player makes, as the number that environments take: 0 up, 1 right, 2 down, 3 left."""
        return None if self.action is None else NAMES.index(self.action)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `moves --json`; `line` to `endgame` only if the player has them."""
        moves = {
            name: {"reward": move.reward, "value": move.value, self.unit: move.effort}
            for name, move in self.moves.items()
        }
        values: dict[str, Any] = {
            "position": self.position, "action": self.action, "action_index": self.action_index, "moves": moves,
        }  # fmt: skip
        if self.line:
            values["line"] = self.line
        if self.policy is not None:
            values["policy"] = self.policy
        if self.chances:
            values["chances"] = [chance._asdict() for chance in self.chances]
        if self.endgame is not None:
            values["endgame"] = self.endgame._asdict()
        return values


def advices_of(states: Sequence[State], analysis: Analysis, unit: str, game: Game) -> list[Advice]:
    """Return the analysis of B states of a game as plain data; `unit` is `Player.effort_unit`."""
    return [_advice(state, analysis, i, unit, game) for i, state in enumerate(states)]


def print_moves(player: str, advice: Advice, as_json: bool) -> None:
    """Print the four moves of a board: reward, value, and depth or visits; and the line that a player expects."""
    print(f"{player}: {advice.position}")
    print(f"{'':<7}{'reward':>8}{'value':>14}{advice.unit:>8}")
    for name in NAMES:
        print(_row(name, advice.moves.get(name)) + ("  <- plays this" if name == advice.action else ""))
    if advice.action is None:
        print("no move is legal: the game is over")
    if advice.line:
        print(f"expects: {', '.join(advice.line)}")
    if advice.endgame is not None:
        print(endgame_text(*advice.endgame))
    if as_json:
        print_json(advice.to_json())


def endgame_text(table: str, probabilities: Mapping[str, float]) -> str:
    """Return the fields of a `TableAdvice` in words."""
    return f"{table}: {', '.join(f'{name} {chance:.4f}' for name, chance in probabilities.items())}"


def _advice(state: State, analysis: Analysis, i: int, unit: str, game: Game) -> Advice:
    """Return the advice on state i of an analysis."""
    chosen, columns = int(analysis.action[i]), len(state.board[0])
    outcome = functools.partial(event_text, game, columns=columns) if analysis.names_spawns else "code {}".format
    moves = {name: _move(analysis, i, a) for a, name in enumerate(NAMES) if analysis.reward[i, a] >= 0}
    return Advice(
        position=format_state(state, game),
        action=NAMES[chosen] if chosen >= 0 else None,
        moves=moves,
        unit=unit,
        line=_line(analysis, i, outcome),
        policy=_policy(analysis, i, moves),
        chances=_chances(analysis, i, outcome),
        endgame=_endgame(analysis, i, moves),
    )


def _move(analysis: Analysis, i: int, action: int) -> Move:
    value = float(analysis.value[i, action])
    known = value if np.isfinite(value) else None
    return Move(int(analysis.reward[i, action]), known, int(analysis.effort[i, action]))


def _policy(analysis: Analysis, i: int, moves: Iterable[str]) -> dict[str, float] | None:
    if analysis.policy is None:
        return None
    return {name: float(analysis.policy[i, NAMES.index(name)]) for name in moves}


def _endgame(analysis: Analysis, i: int, moves: Iterable[str]) -> TableAdvice | None:
    if analysis.endgames is None or (number := int(analysis.endgames.number[i])) < 0:
        return None
    probabilities = {name: float(analysis.endgames.probability[i, NAMES.index(name)]) for name in moves}
    return TableAdvice(analysis.endgames.names[number], probabilities)


def _line(analysis: Analysis, i: int, outcome: Callable[[int], str]) -> list[str]:
    """Return the moves of the line that the player expects, each with the spawn after it, such as "up 2@(1,3)"."""
    if analysis.variation is None:
        return []
    steps = []
    for action, code in analysis.variation[i].tolist():
        if action >= 0:
            steps.append(NAMES[action] + (f" {outcome(code)}" if code >= 0 else ""))
    return steps


def _chances(analysis: Analysis, i: int, outcome: Callable[[int], str]) -> list[Chance]:
    """Return the outcomes that were visited or have a probability of LEAST_PROBABILITY."""
    if analysis.outcomes is None:
        return []
    values = [
        Chance(outcome(code), probability, int(visits), value if np.isfinite(value) else None)
        for code, (probability, visits, value) in enumerate(analysis.outcomes[i].tolist())
        if visits > 0 or probability >= LEAST_PROBABILITY
    ]
    return sorted(values, key=lambda chance: (-chance.visits, -chance.probability))


def _row(name: str, move: Move | None) -> str:
    if move is None:
        return f"{name:<7}{'not legal':>8}"
    text = "unknown" if move.value is None else f"{move.value:,.1f}"
    return f"{name:<7}{move.reward:>8,}{text:>14}{move.effort:>8,}"
