"""Grade a program that learns a model of a black box: 2048 on 2x2, whose cells, actions and tiles have other names.

    black box  REWARD OVER C0 C1 C2 C3   points of the last action, whether the game is over, the cells
    program    0, 1, 2 or 3              an action; while it learns, each is a sample
    program    ready                     once: a new game begins, and the graded games with it

After a line with OVER = 1 the program answers nothing; the first line of the next game follows. An action that changes
nothing earns nothing, and counts like any other. The names depend on the seed, so a program has to find them by
samples. REWARD is 0 at the start of a game, and in all graded games, so that these teach little.
"""

import random
from dataclasses import dataclass
from functools import cache

from launch.course.points import by_sample
from launch.course.report import Grade, Measured, Points
from launch.course.request import Project, Request, ask_in_all, line_program
from launch.evaluation.boards.notation import parse_named_board
from launch.progress import progress_line
from launch.tournament.program import Fault, Program, ProgramError
from ntuple.core.games.definition import Afterstate, Board, Game, State

WIN_LEVEL = 4  # of the tile 16
MOST_SAMPLES = 1_000_000
MOST_IDLE = 1_000  # actions of a graded game that change nothing, after which the game is lost
SYMBOLS = 100  # cells are named by different numbers below


class BlackBox:
    """The game under other names, and what is counted."""

    def __init__(self, game: Game, rows: int, columns: int, seed: int) -> None:
        self._game, self._shape, self._draws = game, (rows, columns), random.Random(seed)
        cells = [(row, column) for row in range(rows) for column in range(columns)]
        self._cells = self._draws.sample(cells, len(cells))
        self._actions = self._draws.sample(range(4), 4)
        self._symbols = self._draws.sample(range(SYMBOLS), len(game.tiles))
        self.tells_rewards = True  # while the program learns
        self.begin()

    def begin(self) -> None:
        """Begin a game."""
        self._state, _ = self._game.draw_opening(*self._shape, self._draws.random)
        self._reward, self.idle = 0, 0

    def line(self) -> str:
        """Return what the program sees."""
        board = self._state.board
        cells = [self._symbols[board[row][column]] for row, column in self._cells]
        reward = self._reward if self.tells_rewards else 0
        return " ".join(map(str, [reward, int(self.is_over), *cells]))

    @property
    def is_over(self) -> bool:
        """Whether no action changes the board."""
        return not any(self._game.move(self._state, action) for action in range(4))

    @property
    def is_won(self) -> bool:
        """Whether the tile of a win is on the board."""
        return max(map(max, self._state.board)) >= WIN_LEVEL

    def act(self, name: int) -> None:
        """Make the action with this name."""
        move = self._game.move(self._state, self._actions[name])
        self._reward, self.idle = 0, self.idle + (move is None)
        if move is not None:
            self._reward = move.points
            self._state, _ = self._game.draw(move.after, self._draws.random)


def best_win_rate(game: Game, rows: int, columns: int) -> float:
    """Return the largest probability of the tile of a win."""

    @cache
    def of_state(state: State) -> float:
        if max(map(max, state.board)) >= WIN_LEVEL:
            return 1.0
        moves = [move for action in range(4) if (move := game.move(state, action))]
        return max((of_afterstate(move.after) for move in moves), default=0.0)

    @cache
    def of_afterstate(after: Afterstate) -> float:
        return sum(float(event.chance) * of_state(event.state) for event in game.events(after))

    def of_opening(board: Board, tiles: int) -> float:
        if not tiles:
            return of_state(State(board))
        empty = Afterstate(board, tuple((r, c) for r in range(rows) for c in range(columns) if not board[r][c]))
        return sum(float(event.chance) * of_opening(event.state.board, tiles - 1) for event in game.events(empty))

    return of_opening(((0,) * columns,) * rows, game.initial_tiles)


@dataclass
class Counts:
    """What was counted so far."""

    samples: int = 0
    games: int = 0  # graded
    wins: int = 0
    idle: int = 0  # games that were lost by actions that change nothing


def _learn(program: Program, box: BlackBox, seconds: float, counts: Counts) -> None:
    """Let the program act until it is ready."""
    while counts.samples < MOST_SAMPLES:
        if box.is_over:
            program.tell(box.line())
            box.begin()
        answer = ask_in_all(program, box.line(), seconds)
        if answer == "ready":
            return
        box.act(_action(answer))
        counts.samples += 1
    raise ProgramError(program.name, Fault.OVER_TIME)


def _play(program: Program, box: BlackBox, seconds: float, counts: Counts, games: int) -> None:
    """Let the program play the graded games."""
    box.tells_rewards = False
    while counts.games < games:
        box.begin()
        while not box.is_over and box.idle < MOST_IDLE:
            box.act(_action(ask_in_all(program, box.line(), seconds)))
        if box.is_over:
            program.tell(box.line())
        counts.wins += box.is_won and box.idle < MOST_IDLE
        counts.idle += box.idle == MOST_IDLE
        counts.games += 1


def grade_learner(project: Project, request: Request) -> Grade:
    """Grade a program by its win rate and the samples that it took."""
    shape = parse_named_board(project.board)
    box = BlackBox(*shape, request.seed)
    counts, faults = Counts(), list[str]()
    with (
        line_program(project, request) as program,
        progress_line("the program learns and plays", lambda: f"{counts.samples:,} samples, {counts.games} games"),
    ):
        try:
            _learn(program, box, request.seconds, counts)
            _play(program, box, request.seconds, counts, request.number)
        except ProgramError as error:
            learned = f", after {counts.samples:,} samples and without `ready`" if box.tells_rewards else ""
            faults.append(f"{error}{learned}")
    if counts.idle:
        faults.append(f"{counts.idle} games were lost by {MOST_IDLE:,} actions that change nothing")
    games, seconds = f"{counts.games:,} of {request.number:,}", round(program.seconds, 1)
    measured: Measured = {"samples": counts.samples, "games": games, "seconds": seconds}
    if not counts.games:
        return Grade(measured, (Points(0, "no game was graded"),), tuple(faults))
    points = by_sample(counts.wins / request.number, best_win_rate(*shape), counts.samples)
    return Grade(measured, points, tuple(faults))


def _action(answer: str) -> int:
    if answer not in ("0", "1", "2", "3"):
        raise ProgramError("program", Fault.TEXT, f"{answer!r}; answer 0, 1, 2 or 3")
    return int(answer)
