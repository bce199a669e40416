"""`muzero2048 play`: the game in a terminal, with the advice of a player. Keys and words are those of the page.

The player runs in a process of its own (agents.py), so a slow search stops neither the screen nor a move nor the end.
"""

import asyncio
import math
import time
from collections.abc import Iterator
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Resize
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from launch.errors import UserError
from launch.quantities import counted
from launch.viewing.agent_process import MOST_COUNT, SEEDS
from launch.viewing.agents import Agent, Ticket
from launch.viewing.game import InteractiveGame
from launch.viewing.terminal.text import ACCENT, CELLS, SOFT, advice_text, board_size, board_text

SPEEDS = (0.5, 1, 2, 5, 10, 30, 60, math.inf)  # moves a second
SPEED = 3  # place in SPEEDS of the first speed
AHEAD_SECONDS = 1.5  # moves that are asked for in one question

MOST_STEPS_A_FRAME = 40  # at the highest speed
FRAME_SECONDS = 0.03
REPORT_SECONDS = 0.1  # between two reports of a search that lasts
SHORT_SECONDS = 0.4  # a search that lasts less is not reported
ADVICE_WIDTH = 40  # least columns of the advice; in a narrower terminal it is under the board
OTHER_LINES = 5  # of the terminal, above and under the board

Place = tuple[int, str]  # a board of a game: the moves that were made, and its position

KEYS = "arrows or WASD move · u take back · r new game · q quit"
AGENT_KEYS = "space step · p play or pause · + - speed · v advice"


class Terminal(App[None]):
    """The screen of one game."""

    TITLE = "muzero2048 play"
    ENABLE_COMMAND_PALETTE = False
    CSS = f"""
    Screen {{ padding: 0 1; background: #16191d; color: #d5d9df; scrollbar-size: 0 0; }}
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

    def __init__(self, game: InteractiveGame, agent: Agent | None) -> None:
        """Make the screen of a game; without an agent, nobody gives advice or plays."""
        super().__init__()
        self.game, self.agent = game, agent
        self.known: dict[Place, dict[str, Any]] = {}  # what the player says of boards: steps of `answer`
        self.is_advising, self.is_playing, self.speed_place = True, False, SPEED
        self._agent_name, self._said, self._is_bad = "", "", False
        self._before: Place | None = None  # the board before the last move
        self._drawn: dict[str, Text] = {}  # by widget
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
        self._show(event.size)

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
        self.game = InteractiveGame(self.game.board, (self.game.seed + 1) % SEEDS)
        self._say("")
        self._show()
        self._ask_advice()

    def action_step(self) -> None:
        """Let the player make one move; while it plays, pause."""
        if self.is_playing:
            self.action_play()
        elif self.agent is not None and (self._worker is None or self._worker.is_finished):
            self._worker = self.run_worker(self._step())

    def action_play(self) -> None:
        """Let the player play, or pause."""
        was_playing = self.is_playing
        self._pause()
        if self.agent is not None and not was_playing and not self.game.is_over:
            self.is_playing = True
            self._worker = self.run_worker(self._play())
        else:
            self._ask_advice()
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

    @property
    def place(self) -> Place:
        """The board that is shown."""
        return self.game.state.moves, self.game.position

    def _make(self, name: str) -> None:
        """Make a legal move."""
        if self.place not in self.known:
            self._give_up()
        self._before = self.place
        reward = self.game.move(name)
        self._say(f"{name}, plus {reward:,}")
        if self.game.is_over:
            score, moves = self.game.state.score, counted(self.game.state.moves, "move")
            self._say(f"the game is over: score {score:,} in {moves}; u takes back, r opens a new game")

    async def _step(self) -> None:
        if not self.game.is_over and await self._know(0):
            self._make(self.known[self.place]["advice"]["action"])
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
            for moves in range(due):
                if self.game.is_over or self.place not in self.known:
                    due = moves
                    break
                self._make(self.known[self.place]["advice"]["action"])
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
        """Ask about the board that is shown if nothing is known of it, with `count` moves ahead, and wait.

        Returns whether the player said something of the board.
        """
        if self.place not in self.known:
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
        return self.place in self.known

    async def _ask(self, count: int) -> None:
        assert self.agent is not None
        (moves, position), seed = self.place, self.game.seed
        question = {"board": self.game.board, "position": position, "seed": seed, "moves": moves, "count": count}
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
            self.known |= {(moves + i, step["advice"]["position"]): step for i, step in enumerate(answer["steps"])}
        self._show()

    def _give_up(self) -> None:
        """Stop the search, if there is one. Its process ends if the search does not end by itself."""
        if self._request is not None:
            self.run_worker(_cancel_loaded(self._request, self._ticket))
        self._request = None

    # ---- the screen

    def _say(self, text: str, is_bad: bool = False) -> None:
        self._said, self._is_bad = text, is_bad

    def _show(self, screen: Size | None = None) -> None:
        """Draw everything; `screen` is the terminal after a change of its size, which `self.size` does not have yet."""
        if not self.is_running or not self.query("#keys"):
            return
        game, state = self.game, self.game.state
        name = f" · {self._agent_name}" if self._agent_name else ""
        title = f" · {game.board} · seed {game.seed}{name}"
        self._draw("title", Text.assemble(("muzero2048", "bold"), (title, SOFT)))
        width, height = screen or self.size
        width, height = width - 2, height - OTHER_LINES
        is_shown = self.agent is not None and self.is_advising
        sizes = [(cell, *board_size(game.rows, game.columns, cell)) for cell in CELLS]
        fitting = [size for size in sizes if size[1] + 2 + ADVICE_WIDTH * is_shown <= width and size[2] <= height]
        cell, taken, _ = fitting[0] if fitting else sizes[-1]
        is_narrow = taken + 2 + ADVICE_WIDTH > width
        self.query_one("#field").set_class(is_narrow, "narrow")
        self._draw("board", board_text(state.state.board, game.game.analysed_tiles, state.spawn, cell))
        self._draw("advice", self._advice(width if is_narrow else width - taken - 2) if is_shown else Text())
        self._show_numbers()
        self._show_state()

    def _advice(self, width: int) -> Text:
        """Return what is known of this board; while the player searches for its next move, of the board before."""
        place = self._before if self.is_playing and self.place not in self.known else self.place
        step = self.known.get(place) if place is not None else None
        if step is None:
            return Text()
        return advice_text(step["advice"], step["milliseconds"], width, is_made=place != self.place)

    def _show_numbers(self) -> None:
        state, speed = self.game.state, SPEEDS[self.speed_place]
        text = Text.assemble("score ", (f"{state.score:,}", "bold"), "   moves ", (f"{state.moves:,}", "bold"))
        if self.game.next:
            text.append("   next ").append(self.game.next, "bold")
        if self.agent is not None:
            pace = f"{speed:g} / s" if math.isfinite(speed) else "fastest"
            text.append(f"   speed {pace}", SOFT)
            text.append("   playing" if self.is_playing else "", ACCENT)
        self._draw("numbers", text)

    def _show_state(self) -> None:
        """Show what the player does if it lasts; otherwise what was said last."""
        report = self._ticket.report()
        is_busy = self._request is not None and report["seconds"] > SHORT_SECONDS
        text = Text(f"{report['state']} {report['seconds']:.1f} s") if is_busy else Text(self._said)
        text.stylize("bold" if self._is_bad or self.game.is_over else "")
        self._draw("state", text)

    def _draw(self, name: str, text: Text) -> None:
        """Draw a widget if its text is another one than before: over ssh each update counts."""
        if self._drawn.get(name) != text:
            self._drawn[name] = text
            self.query_one(f"#{name}", Static).update(text)


async def _cancel_loaded(request: "asyncio.Task[None]", ticket: Ticket) -> None:
    """Cancel a question, but not while its player is loaded: the next question would have to load it again."""
    while not request.done() and ticket.report()["state"] == "loading":
        await asyncio.sleep(REPORT_SECONDS)
    _cancel(request)


def _cancel(request: "asyncio.Task[None]") -> None:
    """Cancel a question once: `Agent.ask` takes care of its process meanwhile."""
    if not request.cancelling():
        request.cancel()
