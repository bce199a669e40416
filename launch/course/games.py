"""Grade a program that plays games in its own environment and writes their records.

It is run as `PROGRAM --total=N --save=FILE --seed=S`. Its games are replayed by the rules, and their spawns are tested
by the law of the game, as in `muzero2048 judge`.
"""

import itertools
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from launch.course.points import Formula, Played
from launch.course.report import Grade, Measured, Points, less_if_slow
from launch.course.request import Project, Request
from launch.errors import UserError
from launch.evaluation.records.judge import Judged, Line, judge_lines, read_lines
from launch.progress import progress_line
from launch.tournament import processes
from launch.tournament.program import Limits, confined, last_line
from ntuple.core.games.definition import Game

FALSE_ALARM = 1e-6  # chance that right spawns are called wrong
MOST_OUTPUT = 16 << 20  # bytes on stdout and stderr
MOST_RECORDS = 512 << 20  # bytes of records
LOOK_SECONDS = 0.2  # between two looks at a running program


class Run(NamedTuple):
    """A program that has ended."""

    seconds: float
    fault: str  # why it did not end well; "": it did


def grader(formula: Formula) -> Callable[[Project, Request], Grade]:
    """Return the function that grades a program by its games."""

    def grade(project: Project, request: Request) -> Grade:
        processes.adopt_orphans()
        with tempfile.TemporaryDirectory(prefix="grade-") as folder:
            records, output = Path(folder, "records.txt"), Path(folder, "output.txt")
            options = [f"--total={request.number}", f"--save={records}", f"--seed={request.seed}"]
            limits = Limits(most_bytes=project.most_bytes, cores=1)
            run = run_to_end([*request.command, *options], limits, request.seconds, records, output)
            try:
                lines = _lines(records, project.board, request.number)
            except UserError as error:  # such as a header of another board
                return Grade({}, (Points(0, "the records cannot be read"),), (str(error),))
            with progress_line("judging the games", ""):
                return _grade(project, request, formula, run, lines)

    return grade


def run_to_end(command: list[str], limits: Limits, seconds: float, records: Path, output: Path) -> Run:
    """Run a program until it ends or breaks a limit; its output goes into a file."""
    begun = time.monotonic()

    def text() -> str:
        written = records.stat().st_size if records.exists() else 0
        return f"{written / 1e6:,.1f} MB of records after {time.monotonic() - begun:.0f} s"

    with output.open("wb") as log, progress_line("the program plays", text):
        process = subprocess.Popen(
            confined(command, limits), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        fault = ""
        try:
            while not fault and not _has_ended(process):
                fault = _broken(process.pid, limits, time.monotonic() - begun, seconds, records, output)
        finally:
            elapsed = time.monotonic() - begun
            processes.end(process.pid, [])
            process.wait()
    if not fault and process.returncode:
        told = last_line(output.read_bytes()) if output.is_file() else ""
        fault = f"it ended with exit code {process.returncode}" + (f": {told}" if told else "")
    return Run(elapsed, fault)


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Wait for a short time; return whether the program has ended."""
    try:
        process.wait(LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _broken(pid: int, limits: Limits, elapsed: float, seconds: float, records: Path, output: Path) -> str:
    """Return the limit that a running program breaks; "": none."""
    if elapsed > seconds:
        return f"it was ended after {seconds:g} s"
    if len(processes.below([pid])) > limits.most_processes:
        return f"it started more than {limits.most_processes} processes"
    for path, most in ((output, MOST_OUTPUT), (records, MOST_RECORDS)):
        if path.exists() and path.stat().st_size > most:
            return f"it wrote more than {most >> 20} MiB"
    return ""


def _lines(records: Path, board: str, count: int) -> list[Line]:
    """Return the lines of the first games; the last line counts only if it is complete."""
    if records.is_symlink() or not records.is_file():
        return []
    text = records.read_bytes()
    complete = records.with_name("complete.txt")
    complete.write_bytes(text[: text.rfind(b"\n") + 1])
    return list(itertools.islice(read_lines(complete, board), count))


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
    mistakes = tuple(_mistakes(judged, lines))
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


def _mistakes(judged: Judged, lines: Sequence[Line]) -> Iterator[str]:
    """Yield what is wrong in games: a rule, the law of the spawns, a game that comes twice."""
    for number, mistake in judged.wrong:
        yield f"game {number}, {mistake}"
    for finding in judged.law.findings() if judged.correct else []:
        if finding.broken:
            came = f"{finding.unlikely} came in {finding.seen:.2%} of the spawns"
            yield f"the spawns break the law, {finding.name}: {came}, the law expects {finding.expected:.2%}"
    first: dict[str, int] = {}
    for line in lines:
        if first.setdefault(line.text, line.number) != line.number:
            yield f"game {line.number} is game {first[line.text]} again"
