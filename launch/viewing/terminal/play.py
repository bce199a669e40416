"""`muzero2048 play`: checks before the screen takes the terminal, and the lines after it."""

import os
import random
import shlex
import sys
import tempfile
from multiprocessing import resource_tracker
from pathlib import Path

from launch.errors import UserError
from launch.evaluation.boards.notation import parse_board
from launch.evaluation.loading import BOARD, UNTRAINED, check_has_board, load_player
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.searches import resolve
from launch.evaluation.seeds import check_seed
from launch.experiment import checkpoints
from launch.viewing.agents import Agent
from launch.viewing.catalogue import Choice
from launch.viewing.terminal.played_game import PlayedGame
from launch.viewing.terminal.text import moves_text

SHORT_SEEDS = 10**6  # a seed that is drawn is short enough to type


def choose(path: str, board: str | None, options: SearchOptions) -> Choice:
    """Return the player of a command line.

    Args:
        path: a run folder, a checkpoint, or random, greedy or heuristic.
        board: "HxW" of a player without training; None: 4x4.
        options: of the search.

    Returns:
        The player, which is loaded later.

    Raises:
        UserError: as in `load_player`.
    """
    check_has_board([path], board)
    if path in UNTRAINED:
        load_player(path, options, board)
        return Choice(path, board or BOARD, options)
    checkpoint = checkpoints.find_checkpoint(Path(path))
    experiment, _ = checkpoints.read_checkpoint(checkpoint)
    resolve(experiment, options, checkpoint)
    return Choice(str(checkpoint), f"{experiment.settings.rows}x{experiment.settings.columns}", options)


def play(path: str | None, board: str | None, seed: int | None, options: SearchOptions) -> None:
    """Play a game in the terminal; at its end, print the score and the command of the same game.

    Args:
        path: of the player, see `choose`; None: the game alone.
        board: "HxW" of the game alone or of a player without training; None: 4x4.
        seed: of the spawns; None: a new one.
        options: of the player's search.

    Raises:
        UserError: there is no terminal, an option is out of range, or the player cannot be loaded.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
        raise UserError("play needs a terminal: do not redirect its input or output (over ssh: ssh -t)")
    check_seed(seed)
    if path is None and options.arguments():
        raise UserError(f"a search needs a player: give a RUN or leave out {' '.join(options.arguments())}")
    choice = None if path is None else choose(path, board, options)
    shape = choice.board if choice else board or BOARD
    game = PlayedGame(*parse_board(shape), random.randrange(SHORT_SEEDS) if seed is None else seed)
    from launch.viewing.terminal.screen import Terminal  # imports textual

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        log.touch()
        resource_tracker.ensure_running()  # it needs the stderr that the screen takes
        terminal = Terminal(game, Agent(choice, log) if choice else None)
        terminal.run(mouse=False)
        sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
    if terminal.return_code:
        raise UserError("the screen ended by an error")
    print(summary(terminal.game, path, board))


def summary(game: PlayedGame, path: str | None, board: str | None) -> str:
    """Return the lines that end the command.

    Args:
        game: as it was left.
        path: of the command line.
        board: of the command line.

    Returns:
        The result, and the command that opens the same game.
    """
    state = game.state
    words = ["muzero2048", "play", *([path] if path else []), *(["--board", board] if board else [])]
    return (
        f"score {state.score:,}, {moves_text(state.moves)}, largest tile {2 ** int(state.levels.max()):,}"
        f"{', the game is over' if game.is_over else ''}\n"
        f"the same spawns again: {shlex.join([*words, '--seed', str(game.seed)])}"
    )
