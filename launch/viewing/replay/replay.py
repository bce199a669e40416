"""`muzero2048 replay`: one page of recorded games, with what a player and a judge say of their positions."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.errors import UserError
from launch.evaluation.boards.notation import parse_named_board
from launch.evaluation.boards.views import Positions, View, exact_view, spread, view_of
from launch.evaluation.loading import BASELINES, UNTRAINED, LoadedPlayer, is_player, load_player
from launch.evaluation.records.played import Game, gather, play_games, read_games
from launch.evaluation.records.regret import load_solution
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.seeds import check_seed
from launch.experiment.experiment import MOST_GAMES
from launch.viewing import one_file
from launch.viewing.catalogue import Choice, choose
from launch.viewing.replay.games import check_game, choose_game, shown_games
from launch.viewing.replay.page import ReplayContent, render
from launch.viewing.replay.summary import Bin, calibrate
from ntuple.exact.solution import Solution
from ntuple.exact.solver import MOST_CELLS

GAMES = 10  # played if --games is not given
MOST_SHOWN = 20_000  # moves of the games that the page holds, unless the first game has more
MOST_CALIBRATED = 20_000  # moves of all games whose values are compared with the rest of the score, about


class ReplayRequest(NamedTuple):
    """What the user asks for."""

    path: str  # a file of records, or a player as `load_player` takes it
    player: str | None  # of a file: whose values are shown
    board: str | None  # "HxW" of a file without header, or of a player without training
    games: int | None
    seed: int | None
    game: str  # number of the game that opens first; best, worst, median
    options: SearchOptions  # search of the player
    judge: str | None  # a solution or a player
    judge_options: SearchOptions
    judge_every: int
    out: Path


class _Replayed(NamedTuple):
    games: list[Game]
    board: str
    player: LoadedPlayer | None
    origin: str  # where the games are from, in words
    judge: Solution | Choice | None


def replay(request: ReplayRequest) -> None:
    """Make the page and print where it is.

    Raises:
        UserError: an option is wrong, a file cannot be read or written, or values are no numbers.
    """
    _check(request)
    source = _read(request) if _is_file(request.path) else _play(request)
    games, player = source.games, source.player
    first = choose_game(games, request.game)
    shown = shown_games(games, first, MOST_SHOWN)
    own, bins, stride = None, list[Bin](), 1
    if player is not None:
        own, bins, stride = _ask_player(player, games, shown)
    source = source._replace(player=None)  # its memory is free before the judge is loaded
    player = None
    content = ReplayContent(
        origin=source.origin,
        board=source.board,
        all_games=games,
        games=shown,
        first=shown.index(games[first]),
        own=own,
        judge=_ask_judge(request, source.judge, shown),
        judge_every=request.judge_every,
        bins=bins,
        stride=stride,
    )
    text = render(content)
    one_file.write("--out", request.out, text)
    moves = sum(game.moves for game in shown)
    print(
        f"{request.out}: {len(shown):,} of {len(games):,} games with {moves:,} moves, "
        f"game {games[first].number} first, {len(text.encode()) / 1e6:,.1f} MB"
    )


def _check(request: ReplayRequest) -> None:
    """Refuse options that cannot be served, before time is spent."""
    check_seed(request.seed)
    if request.games is not None and not 1 <= request.games <= MOST_GAMES:
        raise UserError(f"--games is {request.games}; give 1 to {MOST_GAMES}")
    if request.judge_every < 1:
        raise UserError(f"--judge-every is {request.judge_every}; give 1 or more")
    if request.judge is None and (request.judge_options.arguments() or request.judge_every > 1):
        raise UserError("the options of a judge need one; add --judge PATH")
    one_file.check_path("--out", request.out)


def _read(request: ReplayRequest) -> _Replayed:
    """Read the games of a file."""
    if request.seed is not None:
        raise UserError(f"--seed is for games that are played; {request.path} holds games, leave it out")
    if request.player is None and request.options.arguments():
        words = " ".join(request.options.arguments())
        raise UserError(f"{words} is the search of a player; add --player PATH, whose values are shown")
    games, board, note = read_games(Path(request.path), request.board, request.games)
    judge = _find_judge(request, board)
    player = None
    if request.player is not None:
        player = load_player(request.player, request.options, board if request.player in UNTRAINED else None)
        _check_same_board(request.player, player.board, board)
    origin = Path(request.path).name + (f" ({note})" if note else "")
    return _Replayed(games, board, player, origin, judge)


def _play(request: ReplayRequest) -> _Replayed:
    """Play games with the player of a path."""
    if request.player is not None:
        raise UserError(f"--player is for a file of records; {request.path} plays its own games, leave it out")
    if not is_player(request.path):
        raise UserError(f"there is no {request.path}; give a run, a checkpoint, or a file of game records")
    seed = request.seed or 0
    player = load_player(request.path, request.options, request.board)
    board = player.board
    judge = _find_judge(request, board)
    count = GAMES if request.games is None else request.games
    if request.game.isdecimal() and int(request.game) > count:
        raise UserError(f"--game is {request.game}, and {count} games are played; give more --games")
    check_game(request.game, count)
    with _numbers(player.name):
        games = play_games(player, count, seed)
    return _Replayed(games, board, player, f"played by {player.name}, seed {seed}", judge)


def _ask_player(player: LoadedPlayer, games: Sequence[Game], shown: Sequence[Game]) -> tuple[View, list[Bin], int]:
    """Return what the player says of the games on the page, the calibration, and the stride of its moves."""
    over = [game for game in games if game.is_over]
    stride = max(1, ceil(sum(game.moves for game in over) / MOST_CALIBRATED))
    others = [game for game in over if game not in shown]
    asked = [*((game, slice(None)) for game in shown), *((game, slice(0, game.moves, stride)) for game in others)]
    parts = [game.boards[moves] for game, moves in asked]
    draws = np.concatenate([game.draws[moves] for game, moves in asked])
    with _numbers(player.name):
        view = view_of(player, Positions(np.concatenate(parts), draws), "analysed")
    start, values = 0, {}
    for game, part in zip([*shown, *others], parts, strict=True):
        step = stride if game in shown else 1
        values[game] = view.value[start : start + len(part)][: game.moves : step]
        start += len(part)
    count = sum(len(game.boards) for game in shown)
    own = view._replace(action=view.action[:count], value=view.value[:count], effort=view.effort[:count])
    if (said := view.endgames) is not None:
        own = own._replace(endgames=said._replace(number=said.number[:count], probability=said.probability[:count]))
    return own, _calibration(over, values, stride), stride


def _calibration(over: Sequence[Game], values: dict[Game, NDArray[np.float64]], stride: int) -> list[Bin]:
    """Compare the values [T / stride, 4] of finished games with the rest of their scores."""
    if not over:
        return []
    predicted, actual, number = [], [], []
    for game in over:
        actions = game.actions[::stride]
        predicted.append(values[game][np.arange(len(actions)), actions])
        actual.append(game.rest[::stride])
        number.append(np.full(len(actions), game.number))
    return calibrate(np.concatenate(predicted), np.concatenate(actual), np.concatenate(number))


def _find_judge(request: ReplayRequest, board: str) -> Solution | Choice | None:
    """Check the judge before time is spent; return a solution, or a player that is loaded later."""
    name, options = request.judge, request.judge_options
    if name is None:
        return None
    if _is_file(name):
        game, rows, columns = parse_named_board(board)
        if words := options.arguments():
            raise UserError(f"{_for_judge(' '.join(words))}: {name} is a solution and does not search; leave it out")
        if rows * columns > MOST_CELLS:
            hint = "give a player that searches: --judge PATH --judge-search expectimax"
            raise UserError(f"--judge {name}: a board of {board} has no exact solution; {hint}")
        return load_solution(Path(name), game.name, rows, columns)
    if name in BASELINES:
        raise UserError(f"--judge {name}: it gives no values; give heuristic, a run, a checkpoint or a solution")
    if not is_player(name):
        raise UserError(f"--judge: there is no {name}; give a run, a checkpoint, a solution, or heuristic")
    try:
        choice = choose(name, board if name in UNTRAINED else None, options)
    except UserError as error:
        raise UserError(_for_judge(str(error))) from error
    _check_same_board(f"--judge {name}", choice.board, board)
    return choice


def _ask_judge(request: ReplayRequest, judge: Solution | Choice | None, shown: Sequence[Game]) -> View | None:
    """Return the values of the judge on the page's games, at every `judge_every`-th move."""
    if judge is None:
        return None

    def is_asked(game: Game) -> NDArray[np.bool_]:
        move = np.arange(len(game.boards))
        return (move % request.judge_every == 0) & (move < game.moves)

    asked = gather(shown, is_asked)
    places = np.flatnonzero(asked)
    boards = gather(shown, lambda game: game.boards)[places].astype(np.uint8)
    positions = Positions(boards, gather(shown, lambda game: game.draws)[places])
    with _numbers(str(request.judge)):
        if isinstance(judge, Solution):
            view = exact_view(judge, f"the exact solution {Path(str(request.judge)).name}", positions)
        else:
            view = view_of(judge.load(), positions, "judged")
    return spread(view, places, len(asked))


def _is_file(path: str) -> bool:
    """Return whether a path names a file and no player."""
    return path not in UNTRAINED and Path(path).is_file()


def _check_same_board(place: str, board: str, wanted: str) -> None:
    if board != wanted:
        raise UserError(f"{place} plays {board}, but the games are of {wanted}")


@contextlib.contextmanager
def _numbers(name: str) -> Iterator[None]:
    """Turn values that are no numbers, and positions that a solution does not know, into an error of the user."""
    try:
        yield
    except ValueError as error:
        raise UserError(f"{name}: {error}") from error


def _for_judge(text: str) -> str:
    """Let a message about the search of the judge name its own options."""
    return re.sub("--(search|plies|simulations)", r"--judge-\1", text)
