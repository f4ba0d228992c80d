"""An OpenAI-compatible server on loopback that answers as a test tells it to."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.agents.language_model.bargainer import completion


@dataclass
class Answer:
    """One response: status, body (JSON-ready data, or bytes as they stand), headers, delay."""

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


def chat(content: str | None = "{}", finish: str = "stop", usage: bool = True, **extra: Any) -> Answer:
    """Return a successful chat completion; `extra` goes into its message."""
    body = completion({"model": "served-model", "messages": []}, content, finish, **extra)
    given = 4096 if finish == "length" else 50  # as many as an answer may have
    body["usage"] = {"prompt_tokens": 1000, "completion_tokens": given, "total_tokens": 1000 + given}
    if not usage:
        del body["usage"]
    return Answer(body=body)


def error(status: int, message: str, **headers: str) -> Answer:
    """Return a failure as OpenAI-compatible servers word it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"message": message, "type": "x", "code": status}}, named)


class Api:
    """The running server: `answers` are given in turn, `requests` is what came in."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.address = ""


@contextmanager
def scripted_api() -> Iterator[Api]:
    """Run the server for the length of a test."""
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            api.requests.append(json.loads(self.rfile.read(length)))
            api.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = api.answers.pop(0)
            time.sleep(answer.delay_s)
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    api.address = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
