"""`muzero2048 serve`: a page on this machine that plays 2048 with the players of runs.

| route | answer |
|---|---|
| GET / and its files | the page |
| GET /api/agents | players and boards: `Catalogue.listing` |
| POST /api/new | the opening of a seed |
| POST /api/position | a board that was pasted or edited |
| POST /api/move | a move and its spawn |
| POST /api/ask | what a player says of a board, and its next moves: a stream of events, see `_events` |

The page holds the game and sends the board with each request. The server keeps the loaded players, and nothing of the
games.

What a person can mistype on the page is answered with status 200 and `error`, one line, because a browser reports other
statuses on its console: a position in /api/position, the options of a search in /api/ask. Every other request that the
page does not send is refused with a status from 400 on, and a JSON object with `error`. The page itself checks numbers.
"""

import asyncio
import contextlib
import json
import socket
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from launch.errors import UserError, warn
from launch.evaluation.boards.analyse import NAMES
from launch.evaluation.boards.notation import parse_named_board, parse_state
from launch.evaluation.search_options import SearchOptions
from launch.viewing import BASE_STYLE, BOARD_SCRIPT, BOARD_STYLE, CONTROLS, GAME_STYLE, game
from launch.viewing.agent_process import MOST_COUNT, SEEDS
from launch.viewing.agents import Agents, BusyError, Ticket, read_error
from launch.viewing.catalogue import MOST, PLIES, SIMULATIONS, Catalogue, NotOfferedError
from launch.viewing.serve.connections import BoundedConnection
from launch.viewing.serve.guard import HEADERS, MOST_BYTES, Field, RefusedError, check_source, is_loopback, read_fields

HERE = Path(__file__).parent
FILES = {
    "/": (HERE / "page.html", "text/html"),
    "/base.css": (BASE_STYLE, "text/css"),
    "/game.css": (GAME_STYLE, "text/css"),
    "/page.js": (HERE / "page.js", "text/javascript"),
    "/side.js": (HERE / "side.js", "text/javascript"),
    "/calls.js": (HERE / "calls.js", "text/javascript"),
    "/board.css": (BOARD_STYLE, "text/css"),
    "/board.js": (BOARD_SCRIPT, "text/javascript"),
    "/controls.js": (CONTROLS, "text/javascript"),
    "/icon.svg": (HERE / "icon.svg", "image/svg+xml"),
}

BODY_SECONDS = 5.0  # for the body of a request to arrive
TEXT = Field(200)  # a name, a board or a position
POSITION = {"board": TEXT, "position": TEXT}
GAME = POSITION | {"seed": Field(SEEDS - 1, least=0), "moves": Field(10**8, least=0)}
SEARCH = {
    "search": TEXT._replace(is_optional=True),
    SIMULATIONS: Field(MOST[SIMULATIONS], least=1, is_optional=True),
    PLIES: Field(MOST[PLIES], least=1, is_optional=True),
    "overrides": Field(600, is_optional=True),  # search.key=value words
}
EVENTS = "text/event-stream"
REPORT_SECONDS = 0.25  # between two reports of a search that lasts

Handler = Callable[[Request], Awaitable[Response]]
Answer = Callable[..., Awaitable[Response]]  # takes the fields of a request


class Site:
    """The routes, with the players that they ask; `host` is that of the command line."""

    def __init__(self, catalogue: Catalogue, host: str) -> None:
        self._catalogue, self._host, self._agents = catalogue, host, Agents()
        self._files = {path: (file.read_bytes(), kind) for path, (file, kind) in FILES.items()}

    def app(self) -> Starlette:
        """Return the application."""
        gets = dict.fromkeys(FILES, self._file) | {"/api/agents": self._list}
        posts: dict[str, tuple[Answer, dict[str, Field]]] = {
            "/api/new": (self._new, {"board": TEXT, "seed": GAME["seed"]}),
            "/api/position": (self._position, POSITION),
            "/api/move": (self._move, GAME | {"action": TEXT}),
            "/api/ask": (self._ask, GAME | SEARCH | {"agent": TEXT, "count": Field(MOST_COUNT, least=0)}),
        }
        routes = [Route(path, self._guarded(handler), methods=["GET"]) for path, handler in gets.items()]
        routes += [Route(path, self._guarded(_posted(*post)), methods=["POST"]) for path, post in posts.items()]
        handlers = {HTTPException: _not_there, Exception: _failed}
        app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan)  # type: ignore[arg-type]
        app.router.redirect_slashes = False  # it would answer with an address of the request's Host
        return app

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self._agents.end()

    def _guarded(self, handler: Handler) -> Handler:
        """Return a handler that turns what can be wrong with a request into a refusal."""

        async def guarded(request: Request) -> Response:
            try:
                check_source(request.headers, self._host)
                response = await handler(request)
            except RefusedError as error:
                return _refusal(error.status, str(error))
            except UserError as error:
                return _refusal(422, str(error))
            except TimeoutError:
                return _refusal(408, f"the request did not arrive within {BODY_SECONDS:g} seconds")
            except ClientDisconnect:
                return _refusal(400, "the request ended early")
            response.headers.update(HEADERS)
            return response

        return guarded

    async def _file(self, request: Request) -> Response:
        content, kind = self._files[request.url.path]
        return Response(content, media_type=kind)

    async def _list(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._catalogue.listing))

    async def _new(self, board: str, seed: int) -> Response:
        opening, (kind, *_) = game.open_game(board, seed), parse_named_board(board)
        return JSONResponse(game.describe(opening.state, kind) | {"score": opening.score, "tiles": kind.analysed_tiles})

    async def _position(self, board: str, position: str) -> Response:
        kind, rows, columns = parse_named_board(board)
        try:
            return JSONResponse(game.describe(parse_state(position, rows, columns, kind), kind))
        except UserError as error:
            return JSONResponse({"error": str(error)})

    async def _move(self, board: str, position: str, seed: int, moves: int, action: str) -> Response:
        if action not in NAMES:
            raise RefusedError(400, f"action must be one of {', '.join(NAMES)}")
        kind, rows, columns = parse_named_board(board)
        state = parse_state(position, rows, columns, kind)
        return JSONResponse(game.make_move(state, kind, action, seed, moves).to_json(kind))

    async def _ask(self, agent: str, overrides: str | None, **fields: Any) -> Response:
        search = {name: fields.pop(name) or None for name in ("search", SIMULATIONS, PLIES)}
        options = SearchOptions(**search, overrides=tuple((overrides or "").split()))
        kind, rows, columns = parse_named_board(fields["board"])
        parse_state(fields["position"], rows, columns, kind)
        question = fields | {"board": " ".join(fields["board"].split())}
        try:
            choice = await asyncio.to_thread(self._catalogue.choose, agent, question["board"], options)
        except NotOfferedError:
            raise
        except UserError as error:
            return Response(_event("error", {"error": str(error)}), media_type=EVENTS)
        ticket = Ticket()
        # A task of its own: the stream is cancelled when the page goes away, and this task then ends the search.
        task = asyncio.create_task(self._agents.ask(choice, question, ticket))
        task.add_done_callback(read_error)
        await asyncio.sleep(0)
        if task.done() and isinstance(error := task.exception(), BusyError):
            raise RefusedError(429, str(error))
        return StreamingResponse(_events(task, ticket), media_type=EVENTS)


def _posted(answer: Answer, fields: dict[str, Field]) -> Handler:
    """Return a handler that reads the fields of a request and gives them to `answer` by their names."""

    async def read(request: Request) -> Response:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _read_body(request)
        return await answer(**read_fields(request.headers.get("content-type", ""), body, fields))

    return read


async def _events(task: "asyncio.Task[dict[str, Any]]", ticket: Ticket) -> AsyncIterator[str]:
    """Yield the events of a question: `progress` while it lasts, then `result` or `error`; cancel it at the end.

    progress    state (waiting, loading, searching) and its seconds
    result      the answer of the player's process: `answer` in agent_process.py
    error       `error`, one line
    """
    try:
        while not (await asyncio.wait({task}, timeout=REPORT_SECONDS))[0]:
            yield _event("progress", ticket.report())
        try:
            yield _event("result", task.result())
        except UserError as error:
            yield _event("error", {"error": str(error)})
    finally:
        task.cancel()


def _event(name: str, content: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(content, allow_nan=False)}\n\n"


async def _read_body(request: Request) -> bytes:
    """Return the body; RefusedError if it is too long, before more of it is read."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise RefusedError(413, f"a request has at most {MOST_BYTES} bytes")
    return body


async def _not_there(request: Request, error: HTTPException) -> Response:
    return _refusal(error.status_code, f"{request.method} {request.url.path[: TEXT.most]}: {error.detail}")


async def _failed(request: Request, error: Exception) -> Response:
    traceback.print_exception(error)
    return _refusal(500, f"the server failed, and its terminal says why: {type(error).__name__}")


def _refusal(status: int, line: str) -> Response:
    return JSONResponse({"error": line}, status, HEADERS)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; UserError if the address cannot be used."""
    if not 0 <= port < 2**16:
        raise UserError(f"--port is {port}; give 0 to {2**16 - 1}, 0 for any free one")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]
        raise UserError(f"cannot listen on {host}, port {port}: {reason}; give another --port") from error


def serve(names: Sequence[str], runs_folder: Path, host: str, port: int) -> None:
    """Serve the page until Ctrl-C; `names` are those of the catalogue, the port 0 is any free one.

    Raises:
        UserError: a name is of no run with a checkpoint, or the address cannot be used.
    """
    site = Site(Catalogue(names, runs_folder), host)
    listening = listen(host, port)
    if not is_loopback(host):
        warn(f"everyone who reaches {host} can use this page and the players; there is no password")
    shown = f"[{host}]" if ":" in host else host
    print(f"http://{shown}:{listening.getsockname()[1]}/  (Ctrl-C ends)", flush=True)
    make_server(site).run(sockets=[listening])


def make_server(site: Site) -> uvicorn.Server:
    """Return the server of a site; a stop does not wait for answers under way."""
    config = uvicorn.Config(
        site.app(),
        http=BoundedConnection,
        ws="none",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=0,
    )
    return uvicorn.Server(config)
