"""The games of a replay: those of a file of records, the one that --game names, those that fit on the page."""

from collections.abc import Sequence
from pathlib import Path

from launch.errors import UserError
from launch.evaluation.boards.notation import parse_named_board
from launch.evaluation.records.judge import Line, read_lines
from launch.evaluation.records.judgement import judge_line
from launch.evaluation.records.played import Game, game_of
from launch.evaluation.records.record import parse_record

BEST, WORST, MEDIAN = "best", "worst", "median"
CHOICES = (BEST, WORST, MEDIAN)


def read_games(path: Path, board: str | None, most: int | None) -> tuple[list[Game], str, str]:
    """Read at most `most` games of a file of records; without a board, that of the file's header, or 4x4.

    Returns the games, the board, and the text after the board in the file's header.

    Raises:
        UserError: the file cannot be read, has no game, or has a wrong game among those to read.
    """
    games: list[Game] = []
    line: Line | None = None
    for line in read_lines(path, board):
        kind, rows, columns = parse_named_board(line.board)
        mistake = judge_line(line.text, rows, columns, kind).mistake
        if mistake is not None:
            raise UserError(f"{path}, line {line.number}, {mistake}; `muzero2048 judge` lists all mistakes of a file")
        games.append(game_of(len(games) + 1, parse_record(line.text, kind), rows, columns))
        if len(games) == most:
            break
    if line is None:
        raise UserError(f"{path} holds no game; give a file with one game record a line")
    return games, line.board, line.note


def choose_game(games: Sequence[Game], choice: str) -> int:
    """Return the index of the game that --game names; UserError if there is none.

    A choice is a number from 1; or best, worst or median by the score (median: the lower one of two).
    """
    if choice in CHOICES:
        order = sorted(range(len(games)), key=lambda i: games[i].score)
        return order[{WORST: 0, MEDIAN: (len(games) - 1) // 2, BEST: len(games) - 1}[choice]]
    if not (choice.isascii() and choice.isdigit() and 1 <= int(choice) <= len(games)):
        raise UserError(f"--game is {choice}; give 1 to {len(games)}, or one of {', '.join(CHOICES)}")
    return int(choice) - 1


def shown_games(games: Sequence[Game], first: int, most: int) -> list[Game]:
    """Return the games that the page holds, in their order: that of index `first`, and others while there is room.

    All have at most `most` moves together, unless the first one has more.
    """
    left = most - games[first].moves
    chosen = {first}
    for i, game in enumerate(games):
        if i != first and game.moves <= left:
            left -= game.moves
            chosen.add(i)
    return [games[i] for i in sorted(chosen)]
