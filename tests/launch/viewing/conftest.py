"""A trained player on a 2x3 board, and a running server."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import train_in

from launch.viewing.catalogue import Catalogue
from launch.viewing.serve.server import Site, listen, make_server

TINY = """\
learner: ntuple
run: {name: tiny, group: tiny, final_games: 20}
ntuple: {rows: 2, columns: 3, network: ["012", "345"], env_steps: 2000, report_env_steps: 1000, threads: 1}
"""


def larger_run(name: str, tuples: list[str]) -> str:
    """Return the config of a run on 4x4 whose player makes games of 500 moves and more."""
    config = TINY.replace("tiny", name).replace("env_steps: 2000", "env_steps: 1_000_000")
    return config.replace('rows: 2, columns: 3, network: ["012", "345"]', f"network: {tuples}")


class Client:
    """Sends requests to a server on this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, path: str, **fields: Any) -> Any:
        """Return the JSON object that a route answers, or the result of a stream of events."""
        body = json.dumps(fields).encode()
        status, headers, answer = self.send("POST", path, body, {"Content-Type": "application/json"})
        if headers["content-type"].startswith("text/event-stream"):
            return self.result(answer)
        assert status == 200, answer
        return json.loads(answer)

    def result(self, answer: bytes) -> Any:
        """Return the content of the last event."""
        name, data = answer.decode().strip().split("\n\n")[-1].split("\n")
        content = json.loads(data.removeprefix("data: "))
        return content if name == "event: result" else {name.removeprefix("event: "): content}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one run."""
    return train_in(tmp_path_factory.mktemp("viewing"), TINY) / "runs"


@pytest.fixture(scope="session")
def client(runs: Path) -> Iterator[Client]:
    """Return a client of a server, in a thread, of these runs."""
    listening = listen("127.0.0.1", 0)
    server = make_server(Site(Catalogue([], runs), "127.0.0.1"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Client(listening.getsockname()[1])
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()
