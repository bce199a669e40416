"""`muzero2048 play`: checks before the screen takes the terminal, and the lines after it."""

import os
import random
import shlex
import sys
import tempfile
from multiprocessing import resource_tracker
from pathlib import Path

from launch.errors import UserError
from launch.evaluation.boards.notation import DEFAULT_BOARD
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.seeds import check_seed
from launch.quantities import counted
from launch.viewing.agents import Agent
from launch.viewing.catalogue import choose
from launch.viewing.game import InteractiveGame

SHORT_SEEDS = 10**6  # a seed that is drawn is short enough to type


def play(path: str | None, board: str | None, seed: int | None, options: SearchOptions) -> None:
    """Play a game in the terminal, alone if there is no path; at its end, print the score and the same game's command.

    Raises:
        UserError: there is no terminal, an option is out of range, or the player cannot be loaded.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
        raise UserError("play needs a terminal: do not redirect its input or output (over ssh: ssh -t)")
    check_seed(seed)
    if path is None and options.arguments():
        raise UserError(f"a search needs a player: give a RUN or leave out {' '.join(options.arguments())}")
    choice = None if path is None else choose(path, board, options)
    shape = choice.board if choice else board or DEFAULT_BOARD
    game = InteractiveGame(shape, random.randrange(SHORT_SEEDS) if seed is None else seed)
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


def summary(game: InteractiveGame, path: str | None, board: str | None) -> str:
    """Return the result of a game as it was left, and the command that opens the same game."""
    state = game.state
    words = ["muzero2048", "play", *([path] if path else []), *(["--board", board] if board else [])]
    largest = game.game.tiles[max(map(max, state.state.board))]
    return (
        f"score {state.score:,}, {counted(state.moves, 'move')}, largest tile {largest:,}"
        f"{', the game is over' if game.is_over else ''}\n"
        f"the same spawns again: {shlex.join([*words, '--seed', str(game.seed)])}"
    )
