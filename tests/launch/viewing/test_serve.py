"""The routes of the page: what they answer, whom they refuse, and that no request stops the server."""

import contextlib
import http.client
import json
import math
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from reference import rules

from launch.evaluation.boards.analyse import NAMES
from launch.viewing import BOARD_SCRIPT, CONTROLS, agents
from launch.viewing.game import make_move
from launch.viewing.serve import connections
from launch.viewing.serve.guard import is_loopback
from launch.viewing.serve.server import FILES, HERE
from launch.viewing.terminal.screen import SPEED, SPEEDS
from ntuple.core.games.definition import State
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import GAMES
from tests.launch.viewing.conftest import Client

START = {"board": "2x3", "position": "2 2 0 / 4 0 0", "seed": 0, "moves": 0, "agent": "tiny"}
LONG = {"board": "4x4", "position": "2 2 0 0 / 4 0 0 0 / 0 0 0 0 / 0 0 0 0", "seed": 0, "moves": 0, "count": 0,
        "agent": "heuristic", "plies": 16, "overrides": "search.seconds=3000"}  # fmt: skip
JSON = {"Content-Type": "application/json"}


def test_the_page_needs_nothing_from_elsewhere(client: Client):
    for path, (file, kind) in FILES.items():
        status, headers, body = client.send("GET", path)
        assert (status, headers["content-type"].partition(";")[0], body) == (200, kind, file.read_bytes())
        assert headers["content-security-policy"].startswith("default-src 'self';")
        if file.suffix != ".svg":
            assert b"//" not in re.sub(rb"^ *//.*| // .*|<!--.*", b"", body, flags=re.M), path  # no address
    page = (HERE / "page.html").read_text()
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", page)  # the policy forbids these
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) <= set(FILES)
    for shared in (BOARD_SCRIPT, CONTROLS):  # for any page
        assert not re.search(r"fetch|/api/|XMLHttpRequest|import\b", shared.read_text())
    for script in HERE.glob("*.js"):
        assert all(name in FILES for name in re.findall(r'from "\.(/[^"]*)"', script.read_text()))


def test_the_pages_and_the_terminal_have_the_same_speeds():
    (speeds,) = re.findall(r"const SPEEDS = \[(.*)\];", CONTROLS.read_text())
    assert tuple(math.inf if one == "Infinity" else float(one) for one in speeds.split(", ")) == SPEEDS
    for room in (HERE, HERE.parent / "export"):
        assert f'id="speed" min="0" value="{SPEED}" step="1"' in (room / "page.html").read_text()


@pytest.mark.parametrize("words", [
    [],
    pytest.param(["--search", "mcts", "--simulations", "40", "search.backup=mean"], marks=pytest.mark.slow),
    pytest.param(["--search", "expectimax", "--plies", "2"], marks=pytest.mark.slow),
])  # fmt: skip
def test_what_a_player_says_is_what_moves_prints(client: Client, runs: Path, last_json, words: list[str]):
    expected = last_json("moves", str(runs / "tiny"), "--position", START["position"], *words)
    fields = {"overrides": " ".join(word for word in words if "=" in word)}
    fields |= {"search": words[1], words[2].lstrip("-"): int(words[3])} if words else {}
    found = client.post("/api/ask", **START, **fields, count=0)
    assert [step["advice"] for step in found["steps"]] == [expected]
    assert found["steps"][0]["milliseconds"] > 0


def test_outcomes_are_named_by_row_and_column(client: Client):
    search = {"search": "mcts", "simulations": 40, "overrides": "search.backup=mean"}
    advice = client.post("/api/ask", **START, **search, count=0)["steps"][0]["advice"]
    after, _ = rules.afterstate(((1, 1, 0), (2, 0, 0)), NAMES.index(advice["action"]))
    expected = {
        f"{4 if code % 2 else 2}@({code // 2 // 3 + 1},{code // 2 % 3 + 1})": float(probability)
        for code, probability in rules.chance_probabilities(after).items()
    }
    found = {chance["spawn"]: chance["probability"] for chance in advice["chances"]}
    assert found == pytest.approx(expected)
    assert advice["line"][0].split() == [advice["action"], advice["chances"][0]["spawn"]]  # the most visited spawn


def test_the_moves_of_a_player_follow_the_rules(client: Client):
    """Each step is the advice for its board, and its move and spawn are those of /api/move."""
    opening = client.post("/api/new", board="2x3", seed=9)
    fields = START | {"position": opening["position"], "seed": 9}
    steps: list[dict] = []
    while len(steps) < 20:  # an answer may have fewer moves than `count`, since its time is limited
        steps += client.post("/api/ask", **fields, count=20 - len(steps))["steps"]
        fields |= {"position": steps[-1]["after"]["position"], "moves": len(steps)}
    levels = opening["levels"]
    for moves, step in enumerate(steps):
        fields |= {"position": step["advice"]["position"], "moves": moves}
        assert client.post("/api/ask", **fields, count=0)["steps"][0]["advice"] == step["advice"]
        by_hand = {"board": "2x3", "position": step["advice"]["position"], "seed": 9, "moves": moves}
        move = client.post("/api/move", **by_hand, action=step["advice"]["action"])
        assert move == {name: step[name] for name in ("reward", "spawn", "after")}
        made = make_move(State(tuple(map(tuple, levels))), GAME_2048, step["advice"]["action"], 9, moves)
        assert (move["reward"], move["after"]["levels"]) == (made.reward, [list(row) for row in made.state.board])
        levels = move["after"]["levels"]


def test_a_page_knows_the_tiles_that_boards_can_hold(client: Client):
    """A page has a colour for each tile of 2048, if it knows no tile beyond them (board.js, shadeOf)."""
    assert client.post("/api/new", board="4x4", seed=9)["tiles"] == [0, *(2**level for level in range(1, 18))]


def test_other_games_are_played_on_boards_of_their_names(client: Client):
    opening = client.post("/api/new", board="threes 4x4", seed=9)
    assert (opening["tiles"], opening["next"] in {"1", "2", "3"}) == (list(GAMES["threes"].tiles), True)
    assert opening["score"] == 3 * sum(row.count(3) for row in opening["levels"])
    fields = START | {"agent": "random", "board": "threes 4x4", "position": opening["position"], "seed": 9}
    (first, *_) = client.post("/api/ask", **fields, count=5)["steps"]
    assert first["after"]["next"] in {"1", "2", "3"}
    edited = opening["position"].partition(" +")[0] + opening["drawn"]  # as the page writes an edited board
    position = {"board": "threes 4x4", "position": edited}
    assert client.post("/api/position", **position)["next"] == opening["next"]
    wrong = client.post("/api/position", **(position | {"position": opening["position"].partition("+")[0] + "+9"}))
    assert "the hint is 9; threes has hints from 1 to 4" in wrong["error"]


POST = {"method": "POST", "path": "/api/new", "headers": JSON, "body": b'{"board": "2x3", "seed": 1}'}
ASK, MOVE = POST | {"path": "/api/ask"}, POST | {"path": "/api/move"}
LEFT = b'{"board": "2x3", "position": "2 4 0 / 4 2 0", "seed": 0, "moves": 0, "action": "left"}'


def ask(**changes: object) -> dict[str, object]:
    return ASK | {"body": json.dumps({**START, "count": 1, **changes}).encode()}


REFUSED = {
    "a name that points here": (403, POST | {"headers": JSON | {"Host": "attacker.example:2048"}}),
    "no host": (403, POST | {"headers": JSON | {"Host": ""}}),
    "a strange host": (403, POST | {"headers": JSON | {"Host": "[::1"}}),
    "another site": (403, POST | {"headers": JSON | {"Origin": "https://attacker.example"}}),
    "a page without a site": (403, POST | {"headers": JSON | {"Origin": "null"}}),
    "a strange site": (403, POST | {"headers": JSON | {"Origin": "http://[::1"}}),
    "another port": (403, POST | {"headers": JSON | {"Origin": "http://127.0.0.1:1"}}),
    "a frame": (403, {"method": "GET", "path": "/", "headers": {"Sec-Fetch-Site": "cross-site"}}),
    "another server of this machine": (403, {"method": "GET", "path": "/", "headers": {"Sec-Fetch-Site": "same-site"}}),
    "a form": (415, POST | {"headers": {"Content-Type": "text/plain"}}),
    "no JSON": (400, POST | {"body": b"{"}),
    "no text": (400, POST | {"body": b"\xff\xfe\x00"}),
    "no object": (400, POST | {"body": b"[1]"}),
    "deep": (400, POST | {"body": b"[" * 4000}),
    "oversized": (413, POST | {"body": b'{"board": "' + b"x" * 10**6 + b'"}'}),
    "no fields": (400, POST | {"body": b"{}"}),
    "an unknown field": (400, POST | {"body": b'{"board": "2x3", "seed": 1, "path": "/etc/passwd"}'}),
    "a large board": (422, POST | {"body": b'{"board": "999x999", "seed": 1}'}),
    "a seed that is no number": (400, POST | {"body": b'{"board": "2x3", "seed": NaN}'}),
    "a seed that is a truth value": (400, POST | {"body": b'{"board": "2x3", "seed": true}'}),
    "a seed that is too large": (400, POST | {"body": b'{"board": "2x3", "seed": 4294967296}'}),
    "no position": (422, ask(position="a b c / d e f")),
    "a position of another board": (422, ask(position="2 2 / 2 2")),
    "a long position": (400, ask(position="2 " * 200)),
    "a path": (422, ask(agent="../../../etc")),
    "a whole path": (422, ask(agent="/etc/passwd")),
    "a path through a run": (422, ask(agent="tiny/../tiny")),
    "a board that the run does not play": (422, ask(board="2x2", position="2 2 / 2 2")),
    "a search that is not in the list": (422, ask(search="alphabeta")),
    "many moves": (400, ask(count=10**6)),
    "an illegal move": (422, MOVE | {"body": LEFT}),
    "a move that there is not": (400, MOVE | {"body": LEFT.replace(b"left", b"jump")}),
    "another method": (405, POST | {"method": "DELETE"}),
    "reading what is sent": (405, POST | {"method": "GET"}),
    "a slash too many": (404, POST | {"path": "/api/new/", "headers": JSON | {"Host": "attacker.example"}}),
    "a file of the package": (404, {"method": "GET", "path": "/serve.py"}),
    "a file of the machine": (404, {"method": "GET", "path": "/../../../../etc/passwd"}),
    "an encoded path": (404, {"method": "GET", "path": "/%2e%2e/%2e%2e/etc/passwd"}),
}  # fmt: skip


MISTYPED = {
    "no position": ("/api/position", {"position": "a b c / d e f"}, "row 1, column 1 is 'a'"),
    "a position of another board": ("/api/position", {"position": "2 2 / 2 2"}, "row 1 has 2 cells; give 3"),
    "a key that there is not": ("/api/ask", {"search": "expectimax", "overrides": "search.pleis=3"}, "mean 'plies'?"),
    "too deep": ("/api/ask", {"search": "expectimax", "plies": 99}, "search.plies is 99; give 1 to"),
    "a player that does not search": ("/api/ask", {"agent": "random", "search": "mcts"}, "random does not search"),
    "a variable of the environment": (
        "/api/ask", {"search": "expectimax", "overrides": "search.seconds=${oc.env:SECRET}"},
        "is '${oc.env:SECRET}'; give a number"),
    "a variable in another notation": (
        "/api/ask", {"search": "mcts", "overrides": 'search.c="\\u0024{oc.env:SECRET}"'},
        "is '${oc.env:SECRET}'; give a number"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTYPED)
def test_what_a_person_can_mistype_is_answered_in_one_line(client: Client, monkeypatch: pytest.MonkeyPatch, name: str):
    """With status 200: a browser would report another one on its console. No variable of the environment is read."""
    monkeypatch.setenv("SECRET", "the-secret")
    path, typed, line = MISTYPED[name]
    if path == "/api/position":
        said = client.post(path, board="2x3", **typed)["error"]
    else:
        said = client.post(path, **START | {"count": 1} | typed)["error"]["error"]  # of the event `error`
    assert line in said
    assert "\n" not in said
    assert "the-secret" not in said


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_request_of_the_page_is_refused_in_one_line(client: Client, name: str):
    status, request = REFUSED[name]
    found, headers, body = client.send(**request)
    assert found == status, body
    (line,) = json.loads(body).values()
    assert "\n" not in line
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert client.send(**POST)[0] == 200


def test_mutated_requests_do_not_stop_the_server(client: Client, rng: np.random.Generator):
    """Three hundred bodies with one to three fields replaced or missing: an answer or a refusal, never a failure."""
    values = ["", "4x4", "2x2", "x", "0x4321", "2 2 / 2 2", "131072 131072 / 131072 131072", "up", "٣", "\0", "9" * 300]
    values += [-1, 0, 2**31, 2**64, 1e9, 0.5, True, None, [], [[1]], {}, {"a": 1}]
    whole = {"board": "2x2", "position": "2 2 / 4 0", "seed": 1, "moves": 0, "action": "left"}
    fields = {"/api/new": ("board", "seed"), "/api/position": ("board", "position"), "/api/move": tuple(whole)}
    for _ in range(300):
        path = str(rng.choice(list(fields)))
        body = {name: whole[name] for name in fields[path]}
        for name in rng.choice(fields[path], rng.integers(1, 4)):
            body[str(name)] = values[rng.integers(len(values))]
            if rng.random() < 0.1:
                del body[str(name)]
        status, _, answer = client.send("POST", path, json.dumps(body).encode(), JSON)
        assert status in (200, 400, 422), (body, answer)


def test_a_host_in_numbers_and_a_tunnel_are_served(client: Client):
    for host in ("127.0.0.1", "[::1]:9000", "localhost:9000", "192.168.7.7"):
        assert client.send(**POST | {"headers": JSON | {"Host": host, "Origin": f"http://{host}"}})[0] == 200
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.7.7", "box")))


def test_fifty_pages_at_once_are_served_or_told_to_wait(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(agents, "MOST_WAITING", 30)

    def play(number: int) -> list[int]:
        fields = START | {"agent": ("random", "tiny")[number % 2], "seed": number, "count": 3}
        body = json.dumps(fields).encode()
        return [client.send(**ASK | {"body": body})[0] for _ in range(3)]

    with ThreadPoolExecutor(50) as pool:
        found = {status for statuses in pool.map(play, range(50)) for status in statuses}
    assert found <= {200, 429}
    assert 200 in found
    assert len(multiprocessing.active_children()) <= agents.MOST_AGENTS
    assert client.post("/api/ask", **START, count=1)["name"] == "tiny, 1ply"


HALF = b"POST /api/new HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"


def is_closed(connection: socket.socket) -> bool:
    """Return whether the server closes a connection before it sends anything, within ten seconds."""
    connection.settimeout(10)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", HALF])
def test_a_connection_without_a_whole_request_is_closed(client: Client, monkeypatch: pytest.MonkeyPatch, sent: bytes):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(sent)
        assert is_closed(connection)


def test_a_header_that_goes_on_without_end_is_cut_off(client: Client, monkeypatch: pytest.MonkeyPatch):
    """A byte every now and then does not give it more time."""

    def send_on(connection: socket.socket) -> None:
        for byte in (HALF, *[b"x"] * 100):
            connection.sendall(byte)
            time.sleep(0.05)

    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    connection = socket.create_connection(("127.0.0.1", client.port))
    with connection, pytest.raises(OSError, match=r"reset|[Pp]ipe"):
        send_on(connection)


def test_the_second_request_of_a_connection_ends_too(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=10)
    for _ in range(2):
        connection.request("POST", "/api/new", POST["body"], JSON)  # type: ignore[arg-type]
        assert connection.getresponse().read()
    connection.sock.sendall(HALF)
    assert is_closed(connection.sock)
    connection.close()


def test_half_requests_keep_nobody_out(client: Client, monkeypatch: pytest.MonkeyPatch):
    """If there are more connections than the server takes, it closes those that have waited longest."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 5)
    with contextlib.ExitStack() as stack:
        half = [stack.enter_context(socket.create_connection(("127.0.0.1", client.port))) for _ in range(20)]
        for connection in half:
            connection.sendall(HALF)
        assert client.send(**POST)[0] == 200
        assert all(map(is_closed, half[:15]))
        half[-1].sendall(b"a: 1\r\nConnection: close\r\n\r\n")
        assert half[-1].recv(12) == b"HTTP/1.1 415"  # the last ones are still served


def begin_long_search(port: int) -> http.client.HTTPConnection:
    """Return a connection on which a search of an hour is in progress."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/api/ask", json.dumps(LONG), JSON)
    answer, states = connection.getresponse(), set()
    while "searching" not in states:
        line = answer.readline().decode()
        if line.startswith("data: "):
            states.add(json.loads(line.removeprefix("data: "))["state"])
    return connection


def test_a_search_ends_with_its_page(client: Client):
    connection = begin_long_search(client.port)
    before = {process.pid for process in multiprocessing.active_children()}
    connection.sock.shutdown(socket.SHUT_RDWR)  # the page is closed, or Stop was pressed
    connection.close()
    until = time.monotonic() + 20
    while {process.pid for process in multiprocessing.active_children()} == before:
        assert time.monotonic() < until, "the search goes on"
        time.sleep(0.05)
    assert client.post("/api/ask", **START, count=1)["name"] == "tiny, 1ply"


@pytest.mark.parametrize(("words", "line"), [
    ("nothing", "there is no run and no group nothing"),
    ("--host no.such.name.invalid", "cannot listen on no.such.name.invalid"),
    ("--port 99999", "--port is 99999; give 0 to 65535"),
    ("--port {port}", "cannot listen on 127.0.0.1, port {port}: Address already in use; give another --port"),
])  # fmt: skip
def test_a_mistake_in_the_command_is_one_line(client: Client, runs: Path, mistake, words: str, line: str):
    said = mistake(f"serve {words.format(port=client.port)} --runs-folder", str(runs))
    assert said.startswith(line.format(port=client.port))


def is_running(process: str) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_a_signal_ends_the_server_and_its_searches(runs: Path, sent: signal.Signals, code: int):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-m", "launch", "serve", "--runs-folder", str(runs), "--port", "0"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = int(server.stdout.readline().split("/")[2].rpartition(":")[2])
    connection = begin_long_search(port)
    threads = Path(f"/proc/{server.pid}/task").glob("*/children")
    children = [child for thread in threads for child in thread.read_text().split()]
    assert len(children) >= 1
    began = time.monotonic()
    server.send_signal(sent)
    assert server.wait(timeout=20) == code
    assert time.monotonic() - began < 5
    connection.close()
    until = time.monotonic() + 20
    while any(map(is_running, children)):
        assert time.monotonic() < until, "a search outlives the server"
        time.sleep(0.05)
    assert server.communicate(timeout=20)[1] == ""  # errors
