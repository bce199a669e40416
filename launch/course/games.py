"""Grade a program that plays games in its own environment and writes their records.

It is run as `PROGRAM --total=N --save=FILE --seed=S`. Its games are replayed by the rules, and their spawns are tested
by the law of the game, as in `muzero2048 judge`. Then it is run again for one game with another seed, which must be
another game.
"""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from launch.course.points import Formula, Played
from launch.course.report import Grade, Measured, Points, less_if_slow
from launch.course.request import Project, Request
from launch.course.run import copy_complete_lines, run_to_end
from launch.errors import UserError
from launch.evaluation.records.judge import SAME_MOVES, Judged, Line, judge_lines, read_lines
from launch.progress import progress_line
from launch.tournament import processes
from ntuple.core.games.definition import Game

FALSE_ALARM = 1e-6  # chance that right spawns are called wrong


class Written(NamedTuple):
    """What a program has written in a run."""

    seconds: float
    faults: tuple[str, ...]
    lines: list[Line]  # of games
    is_readable: bool = True


def grader(formula: Formula) -> Callable[[Project, Request], Grade]:
    """Return the function that grades a program by its games."""

    def grade(project: Project, request: Request) -> Grade:
        processes.adopt_orphans()
        written = _run(project, request)
        if not written.is_readable:
            return Grade({}, (Points(0, "the records cannot be read"),), written.faults)
        other = Written(0, (), [])
        if written.lines:  # also after a fault: these games count
            other = _run(project, request._replace(number=1, seed=request.seed ^ 1))
        with progress_line("judging the games", ""):
            return _grade(project, request, formula, written, other)

    return grade


def _run(project: Project, request: Request) -> Written:
    """Run a program and read its games."""
    with _folder() as given, _folder() as own:  # the program may do anything to the first one
        records, output, complete = given / "records.txt", own / "output.txt", own / "complete.txt"
        options = [f"--total={request.number}", f"--save={records}", f"--seed={request.seed}"]
        run = run_to_end([*request.command, *options], project.limits, request.seconds, records, output)
        faults = (run.fault,) if run.fault else ()
        try:
            copy_complete_lines(records, complete)
            lines = list(itertools.islice(read_lines(complete, project.board), request.number))
        except UserError as error:  # such as a header of another board
            faults = (*faults, str(error).replace(str(complete), "the records"))
            return Written(run.seconds, faults, [], is_readable=False)
    return Written(run.seconds, faults, lines)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Yield a new folder, and delete it as far as that is possible."""
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _grade(project: Project, request: Request, formula: Formula, written: Written, other: Written) -> Grade:
    """Grade the games of a run; `other` is that with another seed, for one game."""
    judged = judge_lines(written.lines, whole=True, false_alarm=FALSE_ALARM)
    measured: Measured = {"games": f"{judged.games if judged else 0:,} of {request.number:,}", "seed": request.seed}
    if judged is None:
        faults = written.faults or ("it ended without an error and wrote no complete game into the file of --save",)
        return Grade(measured, (Points(0, "no game was written"),), faults)
    moves = sum(judgement.moves for judgement in judged.correct)
    speed = moves / written.seconds
    if judged.games < request.number:
        measured["missing games"] = f"{request.number - judged.games:,}, each counts as one of 0 points"
    if judged.correct:
        measured |= {"moves": moves, "moves/s": round(speed, 1)}
    faults = (*written.faults, *(f"with another --seed {fault}" for fault in other.faults))
    mistakes = [*_mistakes_of_seeds(written.lines[0], other.lines), *_mistakes(judged)]
    again = judge_lines(other.lines, whole=True, false_alarm=FALSE_ALARM)
    if again is None or again.wrong:
        mistakes.append("with another --seed it wrote no right game, which has to be another one")
    if mistakes:
        return Grade(measured, (Points(0, "games are wrong"),), (*faults, *mistakes))
    played = played_of(judged.game, [(game.score, game.max_tile) for game in judged.correct], request.number)
    measured |= {"mean score": round(played.mean_score, 1), "largest tile": judged.game.tiles[played.largest]}
    unit = f"moves/s with the start of the program; {request.language} has to make"
    return Grade(measured, less_if_slow(formula(played), speed, project.speed(request), unit), faults)


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
    for number, earlier in judged.same:
        yield f"game {number} is game {earlier} again, or its mirror image, in the first {SAME_MOVES} moves"
    for number, mistake in judged.wrong:
        yield f"game {number}, {mistake}"
    for finding in judged.law.findings() if judged.correct else []:
        if finding.broken:
            yield f"the spawns break the law, {finding}"


def _mistakes_of_seeds(first: Line, other: Sequence[Line]) -> Iterator[str]:
    """Yield what is wrong with the first games of two seeds: that they are the same."""
    judged = judge_lines([first._replace(number=0), *other], whole=True, false_alarm=FALSE_ALARM)
    if judged and judged.same:
        yield "the first game of another --seed is the same: the program has to use the number that it is given"
