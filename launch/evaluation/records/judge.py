"""`muzero2048 judge`: replay a file of game records by the rules, print every wrong game and statistics of the others.

A file has one game a line (launch/evaluation/records/record.py). Blank lines and lines that begin with % are ignored,
except for a header before the first game that gives the board: `% board 3x4`, or in another game than 2048
`% board threes 4x4`, with any text after it. Without a header the game is 2048, and the board 4x4.
"""

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from launch.errors import UserError
from launch.evaluation.boards.notation import DEFAULT_BOARD, named_board, parse_named_board
from launch.evaluation.records.judgement import Judgement, Spawned, judge_with_spawns
from launch.evaluation.records.record import Kind, Mistake
from launch.evaluation.records.spawn_law import Finding, SpawnLaw
from launch.evaluation.result import read_result
from launch.evaluation.summary import statistics_block, summarize, summary_line
from launch.experiment.machine_info import project_version
from launch.files import write_json
from launch.output import print_json
from ntuple import Games
from ntuple.core.games.definition import Game
from ntuple.core.games.known import GAMES
from ntuple.tables.patterns import view_cells

COMMENT = "%"
RESULT_KEYS = ("board", "games", "score_mean")  # of an evaluation, by which its games are known
WRONG = 2  # exit code: a wrong record is a mistake of the user
SAME_MOVES = 40  # at the start of a game, by which a game is known again: chance does not repeat so many spawns

_GAMES = "|".join(map(re.escape, sorted(GAMES, key=len, reverse=True)))
_HEADER = re.compile(rf"%[ \t]*board[ \t]+((?:(?:{_GAMES})[ \t]+(?=\S))?\S+)")


class Line(NamedTuple):
    """The line of a game."""

    number: int  # line number in the file, from 1
    text: str
    board: str  # its name, such as "4x4" or "threes 4x4"
    note: str  # the text after the board in the file's header; "": none


class Judged(NamedTuple):
    """The games of a file."""

    game: Game
    board: str  # its name
    correct: list[Judgement]
    wrong: list[tuple[int, Mistake]]  # number of the line, and its first mistake
    not_over: int  # games without a mistake that stop before their end
    law: SpawnLaw  # the tests, over the spawns of the correct games
    same: list[tuple[int, int]]  # lines of a correct game and of an earlier one that begins alike, or mirrored

    @property
    def games(self) -> int:
        """Return the number of games."""
        return len(self.correct) + len(self.wrong)


def judge(
    path: Path, board: str | None, game: str | None, whole: bool, result: Path | None, false_alarm: float, as_json: bool
) -> int:
    """Print a line for each wrong game, then the statistics of the correct games and the tests of their spawns.

    The exit code is 2 if a game is wrong or the spawns break the law (spawn_law.py) at this chance of a false alarm.
    With `whole`, a game that stops before it is over is wrong. Board and game None are those of the file's header.
    If the games are those of the evaluation in the file `result` and nothing is wrong, this is noted there.
    """
    if not 0 < false_alarm < 1:
        raise UserError(f"--false-alarm is {false_alarm:g}; give a chance above 0 and below 1, such as 1e-6")
    evaluation = None if result is None else read_result(result, RESULT_KEYS)
    judged = judge_lines(read_lines(path, named_board(board, game)), whole, false_alarm)
    if judged is None:
        raise UserError(f"{path} holds no game; give a file with one game record a line")
    for number, mistake in judged.wrong:
        print(f"{path}, line {number}, {mistake}")
    counts = f"correct {len(judged.correct):,}, without mistake but not over {judged.not_over:,}"
    print(f"{path}: board {judged.board}, games {judged.games:,}, {counts}")
    statistics = _report(judged.correct, judged.game) if judged.correct else {}
    findings = judged.law.findings() if judged.correct else []
    if judged.correct:
        _report_spawns(judged.law, findings)
    if as_json:
        counted = {"file": str(path), "board": judged.board, "games": judged.games, "correct": len(judged.correct)}
        wrong = [{"line": number, **mistake._asdict()} for number, mistake in judged.wrong]
        counted |= {"not_over": judged.not_over, "wrong": wrong, **statistics}
        print_json(counted | {"spawns": [finding._asdict() for finding in findings]})
    if judged.wrong or any(finding.broken for finding in findings):
        return WRONG
    if result is not None and evaluation is not None:
        _note_in(result, evaluation, judged, statistics["score_mean"], path)
    return 0


def read_right_games(path: Path, board: str | None) -> Iterator[tuple[Line, Spawned]]:
    """Yield the games of a file with their spawns; without a board, that of the file's header, or 4x4.

    Raises:
        UserError: the file cannot be read or has no game; or at the first game that is wrong.
    """
    line: Line | None = None
    for line in read_lines(path, board):
        kind, rows, columns = parse_named_board(line.board)
        judgement, spawned = judge_with_spawns(line.text, rows, columns, kind)
        if judgement.mistake is not None:
            mistake = f"{path}, line {line.number}, {judgement.mistake}"
            raise UserError(f"{mistake}; `muzero2048 judge` lists all mistakes of a file")
        yield line, spawned
    if line is None:
        raise UserError(f"{path} holds no game; give a file with one game record a line")


def _note_in(file: Path, evaluation: dict[str, Any], judged: Judged, mean: float, records: Path) -> None:
    """Note in an evaluation that its games were judged; UserError if they are not the games of the records."""
    if judged.not_over:
        raise UserError(f"{records}: {judged.not_over:,} games stop before they are over; {file} is left as it is")
    found = {"board": judged.board, "games": judged.games, "score_mean": mean}
    for key, value in found.items():
        if evaluation[key] != value:
            raise UserError(f"{file}: its {key} is {evaluation[key]}, that of {records} is {value}: other games")
    noted = {"spawns": judged.law.spawns, "false_alarm": judged.law.alpha, "version": project_version()}
    try:
        write_json(file, evaluation | {"judged": noted})
    except OSError as error:
        raise UserError(f"cannot write to {file}: {error.strerror}") from error
    print(f"{file}: noted that its {judged.games:,} games are judged")


def judge_lines(lines: Iterable[Line], whole: bool, false_alarm: float) -> Judged | None:
    """Replay games by the rules and test their spawns; None if there are no games. All are on the same board."""
    judged, starts = None, dict[bytes, int]()
    for line in lines:
        if judged is None:
            game, rows, columns = parse_named_board(line.board)
            judged = Judged(game, line.board, [], [], 0, SpawnLaw(game, rows, columns, false_alarm), [])
        judgement, spawned = judge_with_spawns(line.text, rows, columns, game)
        mistake = judgement.mistake
        if mistake is None and not judgement.is_over:
            judged = judged._replace(not_over=judged.not_over + 1)
            if whole:
                mistake = Mistake(Kind.NOT_OVER, game.initial_tiles + 2 * judgement.moves, "a move is legal after it")
        if mistake is None:
            judged.law.add(spawned)
            judged.correct.append(judgement)
            earlier = starts.setdefault(_start(spawned, rows, columns), line.number)
            if earlier != line.number:
                judged.same.append((line.number, earlier))
        else:
            judged.wrong.append((line.number, mistake))
    return judged


def _start(spawned: Spawned, rows: int, columns: int) -> bytes:
    """Return the first afterstates of a game: of all views of the board, the one whose bytes are the smallest."""
    boards = spawned.afterstates[:SAME_MOVES]
    return min(boards[:, view].tobytes() for view in map(list, view_cells(rows, columns)))


def _report_spawns(law: SpawnLaw, findings: list[Finding]) -> None:
    """Print a row for each test of the spawns, and a line for each that the law does not pass."""
    if min(finding.smallest for finding in findings) >= 1:
        print(f"spawns after a move {law.spawns:,}: too few to test their law")
        return
    print(f"spawns after a move {law.spawns:,}, {len(findings)} tests, chance of a false alarm {law.alpha:g}")
    print(f"{'':28}{'stake':>9}  {'seen, expected; most unlike':32}reveals")
    for finding in findings:
        where = f"{finding.unlikely}: {finding.seen:.2%}, {finding.expected:.2%}"
        reveals = f"{finding.smallest:.0%}" if finding.smallest < 1 else "-"
        print(f"{finding.name:28}{'10^' + format(finding.stake, '.1f'):>9}  {where:32}{reveals}")
    for finding in findings:
        if finding.broken:
            print(f"the spawns break the law, {finding}")


def read_lines(path: Path, board: str | None) -> Iterator[Line]:
    """Yield the lines of games, with the named board of the options or the header; UserError if the two differ."""
    note = ""
    if board is not None:
        parse_named_board(board)
    try:
        # Bytes that are not UTF-8 become U+FFFD, which no record has, so the mistake has the right column.
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            for number, text in enumerate(file, 1):
                if text.startswith(COMMENT):
                    if header := _HEADER.match(text):
                        board = _agreed(board, " ".join(header[1].split()), f"{path}, line {number}")
                        note = text[header.end() :].strip()
                elif text.strip(" \t\r\n"):
                    board = board or DEFAULT_BOARD
                    yield Line(number, text, board, note)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; give a file of game records") from error


def _agreed(board: str | None, header: str, place: str) -> str:
    """Return the board of a header; raise UserError if another board is known already."""
    try:
        parse_named_board(header)
    except UserError as error:
        raise UserError(f"{place}: {error}") from error
    if board not in (None, header):
        raise UserError(f"{place}: the header says {header}, the games are judged on {board}; leave out one of the two")
    return header


def _report(correct: list[Judgement], game: Game) -> dict[str, Any]:
    """Print and return the statistics of correct games. Speed needs times; an interval needs two games."""
    times = [judgement.seconds for judgement in correct]
    seconds = math.fsum(time for time in times if time is not None)
    is_timed = None not in times and seconds > 0
    score, max_tile, moves = (
        np.array([getattr(judgement, name) for judgement in correct], np.int64)
        for name in ("score", "max_tile", "moves")
    )
    result: dict[str, Any] = {
        "score_mean": float(score.mean()),
        "score_median": float(np.median(score)),
        "score_max": int(score.max()),
        "max_tile": int(max_tile.max()),
        "moves_mean": float(moves.mean()),
        "seconds": seconds if is_timed else None,
    }
    if len(correct) == 1:
        print(f"score {score[0]:,}, largest tile {max_tile[0]}, moves {moves[0]:,}")
        return result
    games = Games(score, max_tile, moves, seconds if is_timed else math.nan, goals=game.goals)
    summary = summarize(games)
    block = statistics_block(games)
    print(block if is_timed else block.partition("\n")[2])  # without the first line, which has the time
    print(summary_line(summary).rpartition(", ")[0])  # without the speed, which the block has
    interval = {"score_low": summary.score_low, "score_high": summary.score_high}
    return result | interval | {"reach": {str(tile): rate for tile, rate in summary.reach.items()}}
