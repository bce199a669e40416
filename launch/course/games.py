"""Grade a program that plays games in its own environment and writes their records.

It is run as `PROGRAM --total=N --save=FILE --seed=S`. Its games are replayed by the rules, and their spawns are tested
by the law of the game, as in `muzero2048 judge`.
"""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from launch.course.points import Formula, Played
from launch.course.report import Grade, Measured, Points, less_if_slow
from launch.course.request import Project, Request
from launch.course.run import Run, copy_complete_lines, run_to_end
from launch.errors import UserError
from launch.evaluation.records.judge import SAME_MOVES, Judged, Line, judge_lines, read_lines
from launch.progress import progress_line
from launch.tournament import processes
from ntuple.core.games.definition import Game

FALSE_ALARM = 1e-6  # chance that right spawns are called wrong


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Yield a new folder, and delete it as far as that is possible."""
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def grader(formula: Formula) -> Callable[[Project, Request], Grade]:
    """Return the function that grades a program by its games."""

    def grade(project: Project, request: Request) -> Grade:
        processes.adopt_orphans()
        with _folder() as given, _folder() as own:  # the program may do anything to the first one
            records, output, complete = given / "records.txt", own / "output.txt", own / "complete.txt"
            options = [f"--total={request.number}", f"--save={records}", f"--seed={request.seed}"]
            run = run_to_end([*request.command, *options], project.limits, request.seconds, records, output)
            try:
                copy_complete_lines(records, complete)
                lines = list(itertools.islice(read_lines(complete, project.board), request.number))
            except UserError as error:  # such as a header of another board
                faults = (*filter(None, [run.fault]), str(error).replace(str(complete), "the records"))
                return Grade({}, (Points(0, "the records cannot be read"),), faults)
            with progress_line("judging the games", ""):
                return _grade(project, request, formula, run, lines)

    return grade


def _grade(project: Project, request: Request, formula: Formula, run: Run, lines: list[Line]) -> Grade:
    judged = judge_lines(lines, whole=True, false_alarm=FALSE_ALARM)
    faults = (run.fault,) if run.fault else ()
    if judged is None:
        return Grade({"games": f"0 of {request.number:,}"}, (Points(0, "no game was written"),), faults)
    moves = sum(judgement.moves for judgement in judged.correct)
    speed = moves / run.seconds
    measured: Measured = {
        "games": f"{judged.games:,} of {request.number:,}",
        "moves": moves,
        "moves/s": round(speed, 1),
    }
    mistakes = tuple(_mistakes(judged))
    if mistakes:
        return Grade(measured, (Points(0, "the environment is wrong"),), (*faults, *mistakes))
    played = played_of(judged.game, [(game.score, game.max_tile) for game in judged.correct], request.number)
    measured |= {"mean score": round(played.mean_score, 1), "largest tile": judged.game.tiles[played.largest]}
    return Grade(measured, less_if_slow(formula(played), speed, project.speed(request), "moves/s"), faults)


def played_of(game: Game, games: Sequence[tuple[int, int]], count: int) -> Played:
    """Summarize (score, largest tile) of the games that were played, of `count` games in all."""
    return Played(
        mean_score=sum(score for score, _ in games) / count,
        win_rate=sum(tile >= game.goals[0] for _, tile in games) / count,
        largest=game.tiles.index(max((tile for _, tile in games), default=0)),
        share=len(games) / count,
    )


def _mistakes(judged: Judged) -> Iterator[str]:
    """Yield what is wrong in games: a rule, the law of the spawns, a game that comes twice."""
    for number, mistake in judged.wrong:
        yield f"game {number}, {mistake}"
    for finding in judged.law.findings() if judged.correct else []:
        if finding.broken:
            came = f"{finding.unlikely} came in {finding.seen:.2%} of the spawns"
            yield f"the spawns break the law, {finding.name}: {came}, the law expects {finding.expected:.2%}"
    for number, earlier in judged.same:
        yield f"game {number} is game {earlier} again, or its mirror image, in the first {SAME_MOVES} moves"
