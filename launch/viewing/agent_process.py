"""The process of one player: it loads the player, and then answers questions about boards, one at a time.

Questions and answers are JSON objects. The process is ended from outside, also within a kernel that runs for minutes.
"""

import json
import multiprocessing
import os
import threading
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launch.errors import LaunchError
from launch.evaluation.boards.notation import parse_named_board, parse_state
from launch.viewing import game

if TYPE_CHECKING:
    from launch.evaluation.loading import LoadedPlayer
    from launch.viewing.catalogue import Choice

BATCH_SECONDS = 0.25  # of one answer to "play": it ends after the move in which this time is over
MOST_COUNT = 120  # moves in one answer
SEEDS = 2**32


def run_agent(connection: Connection, choice: "Choice", log: Path | None = None) -> None:
    """Load a player and answer questions until the other end of the connection is closed.

    The first message is `{"name": ...}` of the loaded and compiled player, or `{"error": ...}`, after which the process
    ends. An answer is the result of `answer`, or `{"error": ...}`. What libraries print goes to the file `log`; None:
    to the terminal.
    """
    if log is not None:
        with log.open("ab") as file:
            for descriptor in (1, 2):
                os.dup2(file.fileno(), descriptor)
    threading.Thread(target=_end_with_server, daemon=True).start()
    try:
        player = choice.load()
        _compile(player)
    except (LaunchError, ValueError) as error:  # ValueError: the values of the player are no numbers
        _send(connection, {"error": str(error)})
        return
    _send(connection, {"name": player.name})
    while True:
        try:
            question = json.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            _send(connection, answer(player, question))
        except (LaunchError, ValueError) as error:
            _send(connection, {"error": str(error)})


def answer(player: "LoadedPlayer", question: dict[str, Any]) -> dict[str, Any]:
    """Answer a question: `board`, `position`, `seed`, `moves`, and `count`, the moves to make, 0 for advice alone.

    The answer is `name` of the player and `steps`: what the player says of each board and, if a move was made, the move
    and the board after it. There is one step for the advice alone, or if the game is over.
    """
    kind, rows, columns = parse_named_board(question["board"])
    state = parse_state(question["position"], rows, columns, kind)
    seed, moves, began = question["seed"], question["moves"], time.perf_counter()
    steps: list[dict[str, Any]] = []
    while True:
        asked = time.perf_counter()
        advice = player.advise(state, (seed + moves) % SEEDS)
        milliseconds = round(1000 * (time.perf_counter() - asked), 3)
        steps.append({"advice": advice.to_json(), "milliseconds": milliseconds})
        if question["count"] == 0 or advice.action is None:
            break
        step = game.make_move(state, kind, advice.action, seed, moves)
        steps[-1] |= step.to_json(kind)
        state, moves = step.state, moves + 1
        if len(steps) == question["count"] or time.perf_counter() - began > BATCH_SECONDS:
            break
    return {"name": player.name, "steps": steps}


def _compile(player: "LoadedPlayer") -> None:
    """Ask about the empty board, so that the time of the first answer is that of its search.

    No move is legal there: numba's searches end at once. JAX compiles for a shape, and searches once.
    """
    player.advise(player.empty_state)


def _end_with_server() -> None:
    """End this process when the server was killed, also in the middle of a search: kernels do not hold the GIL."""
    server = multiprocessing.parent_process()
    if server is not None:
        wait([server.sentinel])
        os._exit(0)


def _send(connection: Connection, message: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(message, allow_nan=False).encode())
