"""The processes of the players: started when a player is first asked, ended when a search is stopped or room is needed.

A search can take minutes within one call of a kernel or of a device, which no thread of Python can stop. So each player
has a process, and a search whose page went away, or that was stopped on the page, ends with its process. The next
question starts the process again. The same limit on processes keeps the memory bounded, because a loaded player can
hold gigabytes. A question is that of `answer` in agent_process.py.
"""

import asyncio
import json
import multiprocessing
import signal
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.viewing.agent_process import run_agent
from launch.viewing.catalogue import Choice

MOST_AGENTS = 3  # players in memory: two side by side, and the one before
MOST_WAITING = 128  # questions of all pages that wait or are being answered
GRACE_SECONDS = 1.0  # a stopped search that ends within this time does not cost the loaded player


class BusyError(Exception):
    """More questions wait than the server takes."""


class Ticket:
    """Where a question stands: waiting, loading or searching."""

    def __init__(self) -> None:
        self.enter("waiting")

    def enter(self, state: str) -> None:
        """Note that the next state begins."""
        self._state, self._since = state, time.monotonic()

    def report(self) -> dict[str, Any]:
        """Return the state and the seconds that it lasts."""
        return {"state": self._state, "seconds": round(time.monotonic() - self._since, 1)}


class Agents:
    """All processes of players, at most MOST_AGENTS."""

    def __init__(self) -> None:
        self._agents: dict[Choice, Agent] = {}  # in the order of their last use
        self._waiting = 0
        self._is_free = asyncio.Condition()

    async def ask(self, choice: Choice, question: dict[str, Any], ticket: Ticket) -> dict[str, Any]:
        """Return a player's answer; its questions are answered in the order in which they came.

        When the caller cancels, the search is given up.

        Raises:
            BusyError: too many questions wait.
            UserError: the player cannot be loaded or cannot answer.
        """
        if self._waiting >= MOST_WAITING:
            raise BusyError(f"{MOST_WAITING} questions wait already; ask again in a moment")
        self._waiting += 1
        try:
            agent = await self._place(choice)
            try:
                return await agent.ask(question, ticket)
            finally:
                agent.users -= 1
                async with self._is_free:
                    self._is_free.notify_all()
        finally:
            self._waiting -= 1

    async def _place(self, choice: Choice) -> "Agent":
        """Return the agent of a choice, with this caller as a user; wait until there is room for it."""
        async with self._is_free:
            while choice not in self._agents and len(self._agents) >= MOST_AGENTS:
                unused = next((other for other, agent in self._agents.items() if agent.users == 0), None)
                if unused is None:
                    await self._is_free.wait()
                else:
                    self._agents.pop(unused).end()
            agent = self._agents.pop(choice, None) or Agent(choice)
            self._agents[choice] = agent
            agent.users += 1
            return agent

    def end(self) -> None:
        """End all processes."""
        for agent in self._agents.values():
            agent.end()
        self._agents.clear()


class Agent:
    """One player and its process, which starts with the first question. `log` is that of `run_agent`."""

    def __init__(self, choice: Choice, log: Path | None = None) -> None:
        self._choice, self._log = choice, log
        self._turn = asyncio.Lock()
        self._guard = threading.Lock()  # of the process: `end` comes from another thread than `_load`
        self._process: Any = None
        self._connection: Connection | None = None
        self.users = 0  # questions that wait for it or are being answered

    async def ask(self, question: dict[str, Any], ticket: Ticket) -> dict[str, Any]:
        """Load the player if it is not loaded, and ask it."""
        async with self._turn:
            task = asyncio.create_task(asyncio.to_thread(self._answer, question, ticket))
            task.add_done_callback(read_error)
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                await asyncio.wait({task}, timeout=GRACE_SECONDS)
                if not task.done():
                    self.end()
                    await asyncio.wait({task})
                raise

    def end(self) -> None:
        """End the process, if there is one."""
        with self._guard:
            if self._process is not None:
                self._process.kill()
                self._process.join()
            self._process = None

    def _answer(self, question: dict[str, Any], ticket: Ticket) -> dict[str, Any]:
        if self._process is None or not self._process.is_alive():
            ticket.enter("loading")
            self._load()
        ticket.enter("searching")
        connection = self._connection
        assert connection is not None
        try:
            connection.send_bytes(json.dumps(question).encode())
            return _receive(connection)
        except OSError as error:
            raise UserError("the search was stopped") from error

    def _load(self) -> None:
        context = multiprocessing.get_context("spawn")
        if self._connection is not None:
            self._connection.close()
        with self._guard:
            self._connection, other = context.Pipe()
            self._process = context.Process(target=run_agent, args=(other, self._choice, self._log), daemon=True)
            # The process inherits the mask: Ctrl-C is for the server alone, which ends its processes.
            old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, old)
            other.close()
        try:
            _receive(self._connection)
        except UserError:
            self.end()
            raise


def read_error(task: "asyncio.Task[Any]") -> None:
    """Read the error of a task that nobody waits for any more, so that asyncio does not print it."""
    if not task.cancelled():
        task.exception()


def _receive(connection: Connection) -> dict[str, Any]:
    """Return the next message; UserError if it is an error, or if the process ended."""
    try:
        message = json.loads(connection.recv_bytes())
    except (EOFError, OSError) as error:
        raise UserError("the process of the player ended; ask again to start it anew") from error
    if "error" in message:
        raise UserError(message["error"])
    return message
