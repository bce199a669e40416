"""Grade a program that answers questions about exact values on 2x3: the small solver, and value iteration.

Each question is a line on its standard input; the answer is the question, " = " and the values. The truth is the exact
solution (ntuple.exact), for value iteration plain recursion over the definition of the game.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from launch.course.points import answers
from launch.course.report import Grade, Measured
from launch.course.request import Project, Request, ask_in_all, line_program
from launch.evaluation.boards.notation import parse_named_board
from launch.evaluation.boards.solve import solve_board
from launch.progress import progress_line
from launch.tournament.program import ProgramError
from ntuple.core.games.definition import Afterstate, Board, Game, State
from ntuple.exact.solution import Solution, Worth

TOLERANCE = 1e-3  # of a value
UNREACHABLE_SHARE = 0.1  # of the questions
FEW_SWEEPS = 4  # V_k for k up to this is computed by recursion
MANY_SWEEPS = 400  # more moves than a game on 2x3 has, so V_k is the exact value
STATE, AFTERSTATE = "b", "a"  # before a move, after it


class Question(NamedTuple):
    """A question, and what answers it."""

    text: str
    values: list[tuple[float, ...]]  # each of them is right


def grade_answers(ask: Callable[[Game, int, int, random.Random], Iterator[Question]]) -> Callable[..., Grade]:
    """Return the function that grades a program by its answers; `ask` yields questions without end."""

    def grade(project: Project, request: Request) -> Grade:
        with progress_line("computing the exact values", ""):
            source = ask(*parse_named_board(project.board), random.Random(request.seed))
            asked = [next(source) for _ in range(request.number)]
        right, faults = 0, list[str]()
        with (
            line_program(project, request) as program,
            progress_line("the program answers", lambda: f"{right} right of {len(asked)}"),
        ):
            try:
                for question in asked:
                    answer = ask_in_all(program, question.text, request.seconds)
                    if _is_right(question, answer):
                        right += 1
                    else:
                        truth = " or ".join(dict.fromkeys(map(_text, question.values)))
                        faults.append(f"{answer or 'nothing'}; right is {question.text} = {truth}")
            except ProgramError as error:
                faults.append(f"{error}, at the question {question.text}")
        measured: Measured = {"right answers": f"{right} of {len(asked)}", "seconds": round(program.seconds, 2)}
        return Grade(measured, answers(right, len(asked)), tuple(faults))

    return grade


def _is_right(question: Question, answer: str) -> bool:
    begin, _, text = answer.partition("=")
    try:
        given = [float(word) for word in text.split()]
    except ValueError:
        return False
    if begin.split() != question.text.split():
        return False
    return any(
        len(given) == len(values) and all(abs(x - y) <= TOLERANCE for x, y in zip(given, values, strict=True))
        for values in question.values
    )


def _text(values: Sequence[float]) -> str:
    return " ".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in values)


@cache
def _solution(board: str, game: str) -> Solution:
    return solve_board(board, game=game)


def exact_values(game: Game, rows: int, columns: int, draws: random.Random) -> Iterator[Question]:
    """Yield questions of project 3: positions of random games, and a few that play cannot reach."""
    solution = _solution(f"{rows}x{columns}", game.name)
    while True:
        state, _ = game.draw_opening(rows, columns, draws.random)
        positions = [(STATE, state.board, state.hint)]
        while moves := [move for action in range(4) if (move := game.move(state, action))]:
            move = draws.choice(moves)
            positions.append((AFTERSTATE, move.after.board, move.after.hint))
            state, _ = game.draw(move.after, draws.random)
            positions.append((STATE, state.board, state.hint))
        kind, board, hint = draws.choice(positions)
        if draws.random() < UNREACHABLE_SHARE:
            board = _changed(board, draws)
        yield _exact_question(solution, game, kind, board, hint)


def _changed(board: Board, draws: random.Random) -> Board:
    """Return a board with the same tiles and one more, in another order: seldom one that play can reach."""
    tiles = [level for line in board for level in line]
    tiles[draws.randrange(len(tiles))] = draws.randrange(1, max(max(tiles), 2) + 1)
    draws.shuffle(tiles)
    width = len(board[0])
    return tuple(tuple(tiles[at : at + width]) for at in range(0, len(tiles), width))


def _exact_question(solution: Solution, game: Game, kind: str, board: Board, hint: int) -> Question:
    levels = np.array(board, np.int8)
    tiles = [str(game.tiles[level]) for line in board for level in line]
    text = " ".join([kind, *tiles, *([f"+{game.tiles[hint]}"] if hint else [])])
    if kind == STATE:
        worths = [solution.look_up(levels, hint).state]
    else:  # the last move is not told
        worths = [solution.look_up(levels, hint, last).afterstate for last in range(4)]
    return Question(text, [_values(game, worth) for worth in worths if worth is not None] or [(-1.0,)])


def _values(game: Game, worth: Worth) -> tuple[float, ...]:
    """Return what is asked: in 2584 the expected points, in Threes! worst, expected and best (table 29)."""
    return (worth.worst, worth.expected, worth.best) if game.bag else (worth.expected,)


def sweeps(game: Game, rows: int, columns: int, draws: random.Random) -> Iterator[Question]:
    """Yield questions of the project on value iteration: V_k, the points of the next k moves of best play."""
    solution = _solution(f"{rows}x{columns}", game.name)

    @cache
    def value(state: State, moves: int) -> float:
        if not moves:
            return 0.0
        outcomes = [move for action in range(4) if (move := game.move(state, action))]
        return max((move.points + after_value(move.after, moves) for move in outcomes), default=0.0)

    @cache
    def after_value(after: Afterstate, moves: int) -> float:
        events = game.events(after)
        return sum(float(event.chance) * (event.points + value(event.state, moves - 1)) for event in events)

    while True:
        state, _ = game.draw_opening(rows, columns, draws.random)
        states = [state]
        while moves := [move for action in range(4) if (move := game.move(state, action))]:
            state, _ = game.draw(draws.choice(moves).after, draws.random)
            states.append(state)
        state, count = draws.choice(states), draws.choice([*range(1, FEW_SWEEPS + 1), MANY_SWEEPS])
        exact = solution.look_up(np.array(state.board, np.int8)).state
        assert exact is not None
        tiles = [str(game.tiles[level]) for line in state.board for level in line]
        truth = exact.expected if count == MANY_SWEEPS else value(state, count)
        yield Question(" ".join([str(count), *tiles]), [(truth,)])
