"""A stand-in for wandb's server: it keeps the rows, configs, summaries and views that wandb's client sends.

It answers what wandb 0.31 asks; the real server may differ.
"""

import gzip
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ENTITY = {"id": "e", "name": "me"}
KEY = "k" * 40


class Server(ThreadingHTTPServer):
    """What was sent so far."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.rows: dict[str, dict[int, dict]] = {}  # by run, then by place
        self.summaries: dict[str, dict] = {}
        self.runs: dict[str, dict] = {}  # the last variables of each run: config, tags, group
        self.views: list[dict] = []
        self.saved: dict[str, set[str]] = {}  # names of files by run

    def env_steps(self, run: str) -> list[int]:
        """Return the moves of the rows of a run, in order."""
        rows = self.rows.get(run, {})
        return [rows[place]["env_steps"] for place in sorted(rows)]

    def stream(self, run: str, files: dict) -> None:
        history = files.get("wandb-history.jsonl")
        if history:
            rows = self.rows.setdefault(run, {})
            rows.update({history["offset"] + i: json.loads(line) for i, line in enumerate(history["content"])})
        summary = files.get("wandb-summary.json")
        if summary:
            self.summaries[run] = json.loads(summary["content"][-1])

    def answer(self, operation: str, variables: dict) -> dict:
        if operation == "UpsertBucket":
            return self._upsert(variables)
        if operation == "RunResumeStatus":
            run = variables["name"]
            bucket = self._resume(run) if run in self.rows else None
            return {"model": {"id": "p", "name": variables["project"], "entity": ENTITY, "bucket": bucket}}
        if operation == "CreateRunFiles":
            self.saved.setdefault(variables["run"], set()).update(variables["files"])
            return {"createRunFiles": {"runID": "x", "uploadHeaders": [], "files": []}}
        if operation in ("upsertView", "UpsertView2"):
            return self._upsert_view(variables)
        if operation == "View":
            view = next(v for v in self.views if v["name"] == variables["viewName"])
            node = {"id": view["id"], "displayName": view["displayName"], "spec": view["spec"]}
            return {"project": {"allViews": {"edges": [{"node": node}]}}}
        if operation == "ProjectInternalId":
            return {"project": {"internalId": "p"}}
        viewer = {"id": "u", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}}
        versions = {"cliVersionInfo": {"max_cli_version": "9"}, "latestLocalVersionInfo": None}
        kind: dict = {"fields": [], "inputFields": []}
        introspection = {"QueryType": kind, "MutationType": kind, "TypeInfo": kind, "__type": kind}
        project = {
            "id": "p",
            "name": "muzero2048",
            "entityName": "me",
            "createdAt": "",
            "isBenchmark": False,
            "user": None,
        }
        page = {"edges": [{"node": project, "cursor": "c"}], "pageInfo": {"endCursor": None, "hasNextPage": False}}
        return {"viewer": viewer, "serverInfo": versions, "models": page, **introspection}

    def _upsert(self, variables: dict) -> dict:
        run = variables["name"]
        is_new = run not in self.rows
        self.rows.setdefault(run, {})
        self.runs[run] = {**self.runs.get(run, {}), **{k: v for k, v in variables.items() if v is not None}}
        project = {"id": "p", "name": variables.get("project") or "muzero2048", "entity": ENTITY}
        bucket = {"id": run, "name": run, "displayName": run, "description": "", "config": "{}", "sweepName": None}
        bucket |= {"historyLineCount": len(self.rows[run]), "project": project}
        return {"upsertBucket": {"bucket": bucket, "inserted": is_new}}

    def _resume(self, run: str) -> dict:
        rows = self.rows[run]
        last = json.dumps(rows[max(rows)] if rows else {})
        return {
            "id": run, "name": run, "displayName": run, "summaryMetrics": json.dumps(self.summaries.get(run, {})),
            "config": "{}", "tags": [], "wandbConfig": '{"t": {}}', "logLineCount": 0, "eventsLineCount": 0,
            "eventsTail": "[]", "historyLineCount": len(rows), "historyTail": json.dumps([last]),
        }  # fmt: skip

    def _upsert_view(self, variables: dict) -> dict:
        known = next((v for v in self.views if v["id"] == variables.get("id")), None)
        if known is None:
            known = {"id": f"view{len(self.views)}"}
            self.views.append(known)
        known.update({k: v for k, v in variables.items() if k != "id"})
        project = {"id": "p", "name": known["projectName"], "entityName": known["entityName"]}
        return {"upsertView": {"view": {**known, "project": project}, "inserted": True}}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_) -> None:
        pass

    def do_GET(self) -> None:
        self._reply({})

    def do_PUT(self) -> None:
        self._body()
        self._reply({})

    def do_POST(self) -> None:
        try:
            body = json.loads(self._body() or b"{}")
        except ValueError:  # telemetry, in protocol buffers
            return self._reply({})
        if "file_stream" in self.path:
            self.server.stream(self.path.split("/")[-2], body.get("files") or {})
            return self._reply({"exitcode": None, "limits": {}})
        found = re.search(r"(?:query|mutation)\s+(\w+)", body.get("query", ""))
        self._reply({"data": self.server.answer(found[1] if found else "?", body.get("variables") or {})})

    def _body(self) -> bytes:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw

    def _reply(self, answer: dict) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving():
    """Yield a server that runs in a thread of this process."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
