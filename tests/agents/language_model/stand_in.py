"""Stands in for a server that the arena starts: it bargains by arithmetic, and dies as it is told.

    python stand_in.py WEIGHTS --port N [--note FILE] [--deaths D --after K] [--refuses] [--starts-in S]

Each life writes its process id as a line of the note. The first D lives end in the middle of their K-th
answer. One that refuses ends, with last words, before it is ready.
"""

import argparse
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import bargainer

parser = argparse.ArgumentParser()
parser.add_argument("weights")
parser.add_argument("--port", type=int)
parser.add_argument("--note", type=Path)
parser.add_argument("--deaths", type=int, default=0)
parser.add_argument("--after", type=int, default=1)
parser.add_argument("--refuses", action="store_true")
parser.add_argument("--starts-in", type=float, default=0.0)
asked, _ = parser.parse_known_args()
life, answers = 1, 0
if asked.note is not None:
    with asked.note.open("a") as note:
        note.write(f"{os.getpid()}\n")
    life = len(asked.note.read_text().splitlines())


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        global answers
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answers += 1
        if life <= asked.deaths and answers >= asked.after:
            os._exit(1)
        self._send(200, bargainer.answered(body))

    def _send(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


print(f"reading {asked.weights}", flush=True)
time.sleep(asked.starts_in)
if asked.refuses:
    sys.exit("these weights are no weights")
ThreadingHTTPServer(("127.0.0.1", asked.port), Handler).serve_forever()
