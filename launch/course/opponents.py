"""Grade a program by games against the standard players of the course (Guei 2023, table 35), by the arena's protocol.

In project 5 it places the tiles and the standard players slide; in project 6 it does both, in pairings of two games.
"""

import itertools
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from launch.course.games import played_of
from launch.course.points import Formula, rank
from launch.course.report import Grade, Measured, Points, less_if_slow
from launch.course.request import Project, Request
from launch.errors import UserError
from launch.evaluation.boards.notation import parse_named_board
from launch.progress import progress_line
from launch.tournament import processes
from launch.tournament.program import Fault, programs_of
from launch.tournament.referee import Match, play_match
from launch.tournament.standings import pairings, points_of
from launch.tournament.tournament import commands_of, limits_of
from ntuple.core.games.definition import Game
from ntuple.game.any_game import make_game_rules

STUDENT = "program"  # its name in the games
FAULTS_IN_A_ROW = 5  # after which no more games are played: they count as lost

LINES, AXES_RECTS = "runs/standard-lines", "runs/standard-axes-rects"  # docs/adversary.md has their trainings
SEARCH = "--search expectimax --plies 2 search.opponent="


def standard_players(game: Game) -> list[str]:
    """Return the five players of table 35; the second and the fourth take the tiles for drawn ones, on purpose."""
    second, fourth = f"{LINES} {SEARCH}chance", f"{AXES_RECTS} {SEARCH}chance"
    return [LINES, second, AXES_RECTS, fourth, f"{AXES_RECTS} {SEARCH}{game.adversary}"]


def adversary_grader(formula: Formula) -> Callable[[Project, Request], Grade]:
    """Return the function that grades an adversary; a game with a fault of the program counts as won by the player."""

    def grade(project: Project, request: Request) -> Grade:
        arena = _Arena(project, request)
        arena.play_all([(rival, STUDENT, opening) for opening, rival in arena.schedule()])
        fair = [(match.score, match.max_tile) for match in arena.matches if not match.fault]
        played = played_of(arena.game, fair, request.number)
        played = played._replace(win_rate=played.win_rate + 1 - played.share)
        scores = [match.score for match in arena.matches]
        mean: Measured = {"mean score of the players": round(sum(scores) / max(1, len(scores)), 1)}
        return arena.grade(formula(played), request.number, mean)

    return grade


def grade_tournament(project: Project, request: Request) -> Grade:
    """Grade a program by pairings with the standard players; the points are those of `muzero2048 tournament`."""
    arena = _Arena(project, request)
    sides = [((STUDENT, rival, opening), (rival, STUDENT, opening)) for opening, rival in arena.schedule()]
    arena.play_all(list(itertools.chain.from_iterable(sides)))
    gained = sum(points_of(*pairing)[pairing[0].player != STUDENT] for pairing in pairings(arena.matches))
    fair = sum(not match.fault for match in arena.matches) / (2 * request.number)
    return arena.grade(rank(gained, request.number, fair), 2 * request.number, {})


class _Arena:
    """The program and the standard players, and the games that they have played."""

    def __init__(self, project: Project, request: Request) -> None:
        """Prepare the programs; UserError if a player is not there."""
        self._project, self._request = project, request
        self.game, rows, columns = parse_named_board(project.board)
        self._rules = make_game_rules(self.game.name, rows, columns)
        players = list(request.players) or standard_players(self.game)
        if not request.players and not all(map(Path.exists, map(Path, (LINES, AXES_RECTS)))):
            raise UserError(
                f"the standard players are {LINES} and {AXES_RECTS}, which are not both there; train them as "
                "docs/adversary.md says, or name others with --players"
            )
        named = [f"player-{number}={player}" for number, player in enumerate(players, 1)]
        self._commands = commands_of([*named, f"{STUDENT}={shlex.join(request.command)}"], project.board)
        self._rivals = [name for name in self._commands if name != STUDENT]
        self._names = dict(zip(self._rivals, players, strict=True))
        self.matches: list[Match] = []
        self._seconds = 0.0
        processes.adopt_orphans()

    def schedule(self) -> Iterator[tuple[int, str]]:
        """Yield (opening, standard player), one after the other."""
        return zip(range(self._request.number), itertools.cycle(self._rivals), strict=False)

    def play_all(self, games: Sequence[tuple[str, str, int]]) -> None:
        """Play games of (player, adversary, opening).

        They end before the last one if the program does not start, after FAULTS_IN_A_ROW, and at the limit of time.
        """
        in_a_row = 0
        limits = {
            name: limits_of(self._commands[name], self._project.limits._replace(cores=0)) for name in self._rivals
        }
        limits[STUDENT] = self._project.limits
        with (
            programs_of(self._commands, limits) as programs,
            progress_line("games", lambda: f"{len(self.matches):,} of {len(games):,}"),
        ):
            for player, adversary, opening in games:
                sides, seed = (programs[player], programs[adversary]), self._request.seed
                match = play_match(*sides, self.game, self._rules, seed, opening, self._project.limits)
                if match.fault and match.at_fault != STUDENT:
                    text = f"the standard player {self._names[match.at_fault]} {match.fault}"
                    raise UserError(f"{text}; give --players that play {self._project.board}")
                self.matches.append(match)
                self._seconds += programs[STUDENT].seconds
                in_a_row = in_a_row + 1 if match.fault else 0
                is_broken = in_a_row == FAULTS_IN_A_ROW or match.fault.startswith(Fault.START)
                if is_broken or self._seconds > self._request.seconds:
                    return

    def grade(self, points: tuple[Points, ...], asked: int, more: Measured) -> Grade:
        """Return the grade; `asked` is the number of games without faults, `more` what else was measured."""
        moves = sum(match.moves for match in self.matches)
        speed = moves / self._seconds if self._seconds else 0.0
        faults = tuple(f"game {number}: {match.fault}" for number, match in enumerate(self.matches, 1) if match.fault)
        games = f"{len(self.matches):,} of {asked:,}"
        measured: Measured = {"games": games, "moves": moves, "moves/s": round(speed, 1), **more}
        if not moves:
            return Grade(measured, (Points(0, "no move was made"),), faults)
        return Grade(measured, less_if_slow(points, speed, self._project.speed(self._request), "moves/s of"), faults)
