"""The games of a replay: the one that --game names, and those that fit on the page."""

from collections.abc import Sequence

from launch.errors import UserError
from launch.evaluation.records.played import Game

BEST, WORST, MEDIAN = "best", "worst", "median"
CHOICES = (BEST, WORST, MEDIAN)


def choose_game(games: Sequence[Game], choice: str) -> int:
    """Return the index of the game that --game names; UserError if there is none.

    A choice is a number from 1; or best, worst or median by the score (median: the lower one of two).
    """
    if choice in CHOICES:
        order = sorted(range(len(games)), key=lambda i: games[i].score)
        return order[{WORST: 0, MEDIAN: (len(games) - 1) // 2, BEST: len(games) - 1}[choice]]
    check_game(choice, len(games))
    return int(choice) - 1


def check_game(choice: str, count: int) -> None:
    """Refuse a --game that is none of `count` games."""
    if choice not in CHOICES and not (choice.isascii() and choice.isdigit() and 1 <= int(choice) <= count):
        raise UserError(f"--game is {choice}; give 1 to {count}, or one of {', '.join(CHOICES)}")


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
