"""Stands in for the providers that the docs name: speaks as OpenAI, Anthropic and Ollama do.

For a look at the commands of the docs: ``python -m tests.stand_in_providers`` serves until Ctrl-C.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.agents.language_model.bargainer import Body, answered, chunks

ADDRESSES = {"ANTHROPIC_API_BASE": "", "OPENAI_BASE_URL": "/v1"}
"""Variables by which LiteLLM is told of another address than the provider's, and the path there."""


def as_anthropic(body: Body) -> Body:
    """Its system prompt stands apart, and texts may be lists of blocks."""
    messages = [{"role": "system", "content": body["system"]}, *body["messages"]]
    plain = [{**message, "content": _text(message["content"])} for message in messages]
    said = answered({**body, "messages": plain})
    usage = {f"{way}put_tokens": said["usage"][f"{kind}_tokens"] for way, kind in _COUNTED}
    text = said["choices"][0]["message"]["content"]
    return {
        **{"id": "m", "type": "message", "role": "assistant", "model": body["model"]},
        **{"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage},
    }


def as_ollama(body: Body) -> Body:
    said = answered(body)
    usage = {"prompt_eval_count": said["usage"]["prompt_tokens"], "eval_count": 50}
    message = said["choices"][0]["message"]
    return {"model": body["model"], "message": message, "done": True, "done_reason": "stop", **usage}


FORMS = {"/chat/completions": answered, "/v1/messages": as_anthropic, "/api/chat": as_ollama}
"""What answers, by how the path ends."""
_COUNTED = (("in", "prompt"), ("out", "completion"))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        form = next((FORMS[end] for end in FORMS if self.path.endswith(end)), None)
        if form is None:
            self.send_error(404)
        elif body.get("stream"):
            events = [*map(json.dumps, chunks(body, form(body))), "[DONE]"]
            self._send("".join(f"data: {event}\n\n" for event in events), "text/event-stream")
        else:
            self._send(json.dumps(form(body)), "application/json")

    def _send(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def stand_in_providers() -> Iterator[str]:
    """Run the server for the length of a test; yield its address, without a path."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    with stand_in_providers() as address:
        print(
            *(f"export {name}={address}{path}" for name, path in ADDRESSES.items()), sep="\n", flush=True
        )
        threading.Event().wait()
