"""A judge of game records in plain Python. It splits a record into tokens by hand, and replays it by the plain rules.

Spawns and moves are numbered together from 1. The first mistake is (number, kind), where kind is one of text, tile,
missing spawn, missing move, illegal, after end, off board, occupied, reward.
"""

from dataclasses import dataclass

from reference import rules

LETTERS = {"U": rules.UP, "R": rules.RIGHT, "D": rules.DOWN, "L": rules.LEFT}
HEX = "0123456789ABCDEF"
DIGITS = "0123456789"
TILES = DIGITS + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass
class Verdict:
    mistake: tuple[int, str] | None
    score: int
    max_tile: int
    moves: int
    is_over: bool


def is_whole_number(text: str, most_digits: int) -> bool:
    return 1 <= len(text) <= most_digits and all(character in DIGITS for character in text)


def is_time(text: str) -> bool:
    whole, point, decimals = text.partition(".")
    return is_whole_number(whole, 15) and (not point or is_whole_number(decimals, len(text)))


def tokens(line: str) -> list[str]:
    """Return spawns, moves, (times) and [rewards] in order; other text becomes the last token, "?"."""
    line = line.rstrip(" \t\r\n")
    found = []
    while line := line.lstrip(" \t"):
        if line[0] == "(" and is_time(line[1:].partition(")")[0]) and ")" in line:
            size = line.index(")") + 1
        elif line[0] == "[" and is_whole_number(line[1:].partition("]")[0], 18) and "]" in line:
            size = line.index("]") + 1
        elif (line[0] == "#" and line[1:2] in tuple(LETTERS)) or (line[0] in HEX and line[1:2] in tuple(TILES)):
            size = 2
        else:
            return [*found, "?"]
        found.append(line[:size])
        line = line[size:]
    return found


def plies(line: str) -> tuple[list[tuple[str, int | None]], str | None]:
    """Return spawns and moves in turn, each with its reward or None, up to the first mistake; and its kind or None."""
    words = tokens(line)
    found: list[tuple[str, int | None]] = []
    while True:
        is_move = len(found) >= 2 and len(found) % 2 == 0
        if not words:
            return found, None if is_move else "missing spawn"
        word, reward = words.pop(0), None
        if is_move and word[0] != "#":
            return found, "missing move" if word[0] in HEX and word[1] in "12" else "text"
        if not is_move and word[0] not in HEX:
            return found, "missing spawn" if word[0] == "#" else "text"
        if not is_move and word[1] not in "12":
            return found, "tile"
        if is_move and words and words[0][0] == "[":
            reward = int(words.pop(0)[1:-1])
        if words and words[0][0] == "(":
            words.pop(0)
        found.append((word, reward))


def judge(line: str, rows: int, columns: int) -> Verdict:
    """Return the first mistake of a record or None, what was played up to it, and whether the game is over."""
    game, wrong_text = plies(line)
    gives_rewards = any(reward is not None for _, reward in game)
    board: rules.Board = ((0,) * columns,) * rows
    score = moves = 0

    def verdict(mistake: tuple[int, str] | None) -> Verdict:
        largest = max(rules.cells(board))
        is_over = mistake is None and rules.is_over(board)
        return Verdict(mistake, score, 2**largest if largest else 0, moves, is_over)

    for number, (word, reward) in enumerate(game, 1):
        if word[0] == "#":
            after, points = rules.afterstate(board, LETTERS[word[1]])
            if after == board:
                return verdict((number, "after end" if rules.is_over(board) else "illegal"))
            if gives_rewards and (reward or 0) != points:
                return verdict((number, "reward"))
            board, score, moves = after, score + points, moves + 1
        else:
            cell, tile = HEX.index(word[0]), int(word[1])
            if cell >= rows * columns:
                return verdict((number, "off board"))
            if rules.cells(board)[cell] != 0:
                return verdict((number, "occupied"))
            board = rules.spawn(board, 2 * cell + tile - 1)
    return verdict(None if wrong_text is None else (len(game) + 1, wrong_text))
