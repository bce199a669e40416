"""`muzero2048 play`: the game in a terminal, with the advice of a player. Keys and words are those of the page.

The player runs in a process of its own (agents.py), so a slow search stops neither the screen nor a move nor the end.
"""

import asyncio
import math
import os
import random
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from launch.errors import UserError
from launch.evaluation.loading import BOARD, UNTRAINED, check_has_board, load_player
from launch.evaluation.notation import parse_board
from launch.evaluation.search_options import Options, resolve
from launch.evaluation.seeds import check_seed
from launch.run import checkpoints
from launch.viewing.agent_process import SEEDS
from launch.viewing.agents import Agent, Ticket
from launch.viewing.catalogue import Choice
from launch.viewing.played_game import PlayedGame
from launch.viewing.terminal_text import ACCENT, CELLS, SOFT, advice_text, board_size, board_text

SPEEDS = (0.5, 1, 2, 5, 10, 30, 60, math.inf)  # moves a second
SPEED = 3  # place in SPEEDS of the first speed
AHEAD_SECONDS = 1.5  # moves that are asked for in one question
MOST_COUNT = 120  # moves of one answer
MOST_STEPS_A_FRAME = 40  # at the highest speed
FRAME_SECONDS = 0.03
REPORT_SECONDS = 0.1  # between two reports of a search that lasts
SHORT_SECONDS = 0.4  # a search that lasts less is not reported
ADVICE_WIDTH = 40  # least columns of the advice; in a narrower terminal it is under the board
OTHER_LINES = 5  # of the terminal, above and under the board
SHORT_SEEDS = 10**6  # a seed that is drawn is short enough to type

KEYS = "arrows or WASD move · u take back · r new game · q quit"
AGENT_KEYS = "space step · p play or pause · + - speed · v advice"


class Terminal(App[None]):
    """The screen of one game."""

    TITLE = "muzero2048 play"
    ENABLE_COMMAND_PALETTE = False
    CSS = f"""
    Screen {{ padding: 0 1; background: #16191d; color: #d5d9df; }}
    Static {{ height: auto; }}
    #field {{ layout: horizontal; height: auto; }}
    #field.narrow {{ layout: vertical; }}
    #board {{ width: auto; margin-right: 2; }}
    #advice {{ width: 1fr; }}
    #keys {{ dock: bottom; color: {SOFT}; }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,w,W", "move('up')"),
        Binding("right,d,D", "move('right')"),
        Binding("down,s,S", "move('down')"),
        Binding("left,a,A", "move('left')"),
        Binding("u,U", "take_back"),
        Binding("space", "step"),
        Binding("p,P", "play"),
        Binding("plus,equals_sign", "speed(1)"),
        Binding("minus", "speed(-1)"),
        Binding("v,V", "advice"),
        Binding("r,R", "new_game"),
        Binding("q,Q,ctrl+c", "quit", priority=True),
    ]

    def __init__(self, game: PlayedGame, agent: Agent | None) -> None:
        """Make the screen.

        Args:
            game: is played.
            agent: gives advice and plays; None: the game alone.
        """
        super().__init__()
        self.game, self.agent = game, agent
        self.known: dict[int, dict[str, Any]] = {}  # by number of moves: what the player says of that board
        self.is_advising, self.is_playing, self.speed_place = True, False, SPEED
        self._agent_name, self._said, self._is_bad = "", "", False
        self._request: asyncio.Task[None] | None = None  # the question about the board that is shown
        self._ticket = Ticket()
        self._requests: set[asyncio.Task[None]] = set()  # with those that were given up and have not ended
        self._worker: Worker[None] | None = None  # makes the moves of the player

    def compose(self) -> Iterator[Widget]:
        """Lay out the screen."""
        yield Static(id="title")
        yield Static(id="numbers")
        with Container(id="field"):
            yield Static(id="board")
            yield Static(id="advice")
        yield Static(id="state")
        yield Static(f"{KEYS}\n{AGENT_KEYS}" if self.agent else KEYS, id="keys")

    def on_mount(self) -> None:
        """Show the opening, and ask for advice."""
        self.set_interval(REPORT_SECONDS, self._show_state)
        self._show()
        self._ask_advice()

    def on_resize(self, event: Resize) -> None:
        """Draw anew, with cells that fit."""
        self._show()

    async def on_unmount(self) -> None:
        """End the process of the player, whatever it does."""
        if self.agent is not None:
            self.agent.end()
        for request in self._requests:
            _cancel(request)
        if self._requests:
            await asyncio.wait(self._requests)

    # ---- keys

    def action_move(self, name: str) -> None:
        """Make a move by hand."""
        self._pause()
        if name in self.game.legal:
            self._make(name)
        else:
            self._say("the game is over" if self.game.is_over else f"{name} is not legal")
        self._show()
        self._ask_advice()

    def action_take_back(self) -> None:
        """Take back the last move, of whomever."""
        self._pause()
        if self.game.take_back():
            self._give_up()
            self._say("taken back")
        self._show()
        self._ask_advice()

    def action_new_game(self) -> None:
        """Open the game of the next seed."""
        self._pause()
        self._give_up()
        self.known.clear()
        self.game = PlayedGame(self.game.rows, self.game.columns, (self.game.seed + 1) % SEEDS)
        self._say("")
        self._show()
        self._ask_advice()

    def action_step(self) -> None:
        """Let the player make one move; while it plays, pause."""
        if self.is_playing or self.agent is None:
            self._pause()
        elif self._worker is None or self._worker.is_finished:
            self._worker = self.run_worker(self._step())
        self._show_state()

    def action_play(self) -> None:
        """Let the player play, or pause."""
        was_playing = self.is_playing
        self._pause()
        if self.agent is not None and not was_playing and not self.game.is_over:
            self.is_playing = True
            self._worker = self.run_worker(self._play())
        self._show()

    def action_speed(self, change: int) -> None:
        """Choose the next higher or lower speed."""
        self.speed_place = max(0, min(len(SPEEDS) - 1, self.speed_place + change))
        self._show_numbers()

    def action_advice(self) -> None:
        """Show the advice, or hide it."""
        self.is_advising = not self.is_advising
        self._show()
        self._ask_advice()

    # ---- the game

    def _make(self, name: str) -> None:
        """Make a legal move; what is known of later boards holds only if it is the move of the player."""
        moves = self.game.state.moves
        if moves not in self.known:
            self._give_up()
        elif self.known[moves]["advice"]["action"] != name:
            self.known = {number: step for number, step in self.known.items() if number <= moves}
        reward = self.game.move(name)
        self._say(f"{name}, plus {reward:,}")
        if self.game.is_over:
            score, moves = self.game.state.score, self.game.state.moves
            self._say(f"the game is over: score {score:,} in {moves:,} moves; u takes back, r opens a new game")

    async def _step(self) -> None:
        state = self.game.state
        if not self.game.is_over and await self._know(0) and self.game.state is state:
            self._make(self.known[state.moves]["advice"]["action"])
            self._show()
            self._ask_advice()

    async def _play(self) -> None:
        last = time.monotonic()  # when the last move was due
        while not self.game.is_over:
            speed = SPEEDS[self.speed_place]
            count = min(MOST_COUNT, math.ceil(AHEAD_SECONDS * min(speed, MOST_COUNT)))
            if not await self._know(count):
                break
            if not math.isfinite(speed):
                last = time.monotonic() - 1
            due = min(MOST_STEPS_A_FRAME, math.floor(min((time.monotonic() - last) * speed, MOST_STEPS_A_FRAME)))
            for made in range(due):
                if self.game.is_over or self.game.state.moves not in self.known:
                    due = made
                    break
                self._make(self.known[self.game.state.moves]["advice"]["action"])
            last = max(last + due / speed, time.monotonic() - 1 / speed)
            self._show()
            await asyncio.sleep(FRAME_SECONDS)
        self.is_playing = False
        self._show()

    def _pause(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        self.is_playing = False

    # ---- the player

    def _ask_advice(self) -> None:
        if self.agent is not None and self.is_advising and not self.game.is_over:
            self.run_worker(self._know(0))

    async def _know(self, count: int) -> bool:
        """Ask about the board that is shown if nothing is known of it, and wait.

        Args:
            count: moves that are asked for ahead.

        Returns:
            Whether the player said something of the board.
        """
        moves = self.game.state.moves
        if moves not in self.known:
            if self._request is None:
                self._ticket = Ticket()
                self._request = asyncio.create_task(self._ask(count))
                self._requests.add(self._request)
                self._request.add_done_callback(self._requests.discard)
            request = self._request
            await asyncio.wait({request})  # unlike `await request`, it does not cancel the question with this worker
            if request.cancelled():
                return False
            request.result()
        return moves in self.known

    async def _ask(self, count: int) -> None:
        assert self.agent is not None
        moves = self.game.state.moves
        board = f"{self.game.rows}x{self.game.columns}"
        position, seed = self.game.position, self.game.seed
        question = {"board": board, "position": position, "seed": seed, "moves": moves, "count": count}
        answer, trouble = None, ""
        try:
            answer = await self.agent.ask(question, self._ticket)
        except UserError as error:
            trouble = str(error)
        if self._request is not asyncio.current_task():
            return  # it was given up
        self._request = None
        if answer is None:
            self._say(trouble, is_bad=True)
        else:
            self._agent_name = answer["name"]
            self.known |= {moves + i: step for i, step in enumerate(answer["steps"])}
        self._show()

    def _give_up(self) -> None:
        """Stop the search, if there is one. Its process ends if the search does not end by itself."""
        if self._request is not None:
            self.run_worker(_cancel_loaded(self._request, self._ticket))
        self._request = None

    # ---- the screen

    def _say(self, text: str, is_bad: bool = False) -> None:
        self._said, self._is_bad = text, is_bad

    def _show(self) -> None:
        if not self.is_running or not self.query("#keys"):
            return
        game, state = self.game, self.game.state
        name = f" · {self._agent_name}" if self._agent_name else ""
        self.query_one("#title", Static).update(
            Text.assemble(("muzero2048", "bold"), (f" · {game.rows}x{game.columns} · seed {game.seed}{name}", SOFT))
        )
        width, height = self.size.width - 2, self.size.height - OTHER_LINES
        is_shown = self.agent is not None and self.is_advising
        sizes = [(cell, *board_size(game.rows, game.columns, cell)) for cell in CELLS]
        fitting = [one for one in sizes if one[1] + 2 + ADVICE_WIDTH * is_shown <= width and one[2] <= height]
        cell, taken, _ = fitting[0] if fitting else sizes[-1]
        is_narrow = taken + 2 + ADVICE_WIDTH > width
        self.query_one("#field").set_class(is_narrow, "narrow")
        self.query_one("#board", Static).update(board_text(state.levels, state.spawn, cell))
        self.query_one("#advice", Static).update(
            self._advice(width if is_narrow else width - taken - 2) if is_shown else ""
        )
        self._show_numbers()
        self._show_state()

    def _advice(self, width: int) -> Text:
        """Return what is known of this board; while the player searches for its next move, of the board before."""
        moves = self.game.state.moves
        place = moves if moves in self.known or not self.is_playing else moves - 1
        if place not in self.known:
            return Text()
        step = self.known[place]
        return advice_text(step["advice"], step["milliseconds"], width, is_made=place != moves)

    def _show_numbers(self) -> None:
        state, speed = self.game.state, SPEEDS[self.speed_place]
        text = Text.assemble("score ", (f"{state.score:,}", "bold"), "   moves ", (f"{state.moves:,}", "bold"))
        if self.agent is not None:
            pace = f"{speed:g} / s" if math.isfinite(speed) else "fastest"
            text.append(f"   speed {pace}", SOFT)
            text.append("   playing" if self.is_playing else "", ACCENT)
        self.query_one("#numbers", Static).update(text)

    def _show_state(self) -> None:
        """Show what the player does if it lasts; otherwise what was said last."""
        report = self._ticket.report()
        is_busy = self._request is not None and report["seconds"] > SHORT_SECONDS
        text = Text(f"{report['state']} {report['seconds']:.1f} s") if is_busy else Text(self._said)
        text.stylize("bold" if self._is_bad or self.game.is_over else "")
        self.query_one("#state", Static).update(text)


async def _cancel_loaded(request: "asyncio.Task[None]", ticket: Ticket) -> None:
    """Cancel a question, but not while its player is loaded: the next question would have to load it again."""
    while not request.done() and ticket.report()["state"] == "loading":
        await asyncio.sleep(REPORT_SECONDS)
    _cancel(request)


def _cancel(request: "asyncio.Task[None]") -> None:
    """Cancel a question once: `Agent.ask` takes care of its process meanwhile."""
    if not request.cancelling():
        request.cancel()


def choose(path: str, board: str | None, options: Options) -> Choice:
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


def play(path: str | None, board: str | None, seed: int | None, options: Options) -> None:
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
    if path is None and options.words():
        raise UserError(f"a search needs a player: give a RUN or leave out {' '.join(options.words())}")
    choice = None if path is None else choose(path, board, options)
    shape = choice.board if choice else board or BOARD
    game = PlayedGame(*parse_board(shape), random.randrange(SHORT_SEEDS) if seed is None else seed)
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
        f"score {state.score:,}, {state.moves:,} moves, largest tile {2 ** int(state.levels.max()):,}"
        f"{', the game is over' if game.is_over else ''}\n"
        f"the same spawns again: {shlex.join([*words, '--seed', str(game.seed)])}"
    )
