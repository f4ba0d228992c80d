"""A model that bargains by arithmetic: its answer is a function of the conversation alone.

It reads the payoff table of prompt `v1`, asks for less every turn, and takes what is worth as much as
what it would ask for next. Here is also the form in which OpenAI-compatible servers send an answer.
"""

import json
import re
from typing import Any

Body = dict[str, Any]
TOKEN_CHARACTERS = 4
FIRST, STEP = 95.0, 9.0
"""Points it asks for on its first turn, and how much less on each that follows."""
_TERM = re.compile(r'^- ("(?:[^"\\]|\\.)*") \[.*?\]: (.*)$', re.MULTILINE)
_OPTION = re.compile(r'("(?:[^"\\]|\\.)*") = (\d+(?:\.\d+)?)')
_NO_DEAL = re.compile(r"With no deal you get (\d+(?:\.\d+)?) points")
_TURN = re.compile(r"Your turn (\d+)\.")
_OFFERED = re.compile(r"On the table: that offer, worth (\d+(?:\.\d+)?) points")


def answer(messages: list[dict[str, Any]]) -> str:
    """Return the model's answer to a conversation."""
    asks = [message["content"] for message in messages if message["role"] == "user"]
    told = next(text for text in reversed(asks) if _TURN.search(text))
    turn = int(_TURN.findall(told)[-1])
    system = messages[0]["content"]
    floor = float(_NO_DEAL.findall(system)[0])
    target = max(floor, FIRST - STEP * (turn - 1))
    offered = _OFFERED.search(told)
    if offered and float(offered[1]) >= max(floor, target - STEP):
        return _said("accept", "Agreed.")
    return _said("propose", f"My offer of turn {turn}.", terms=_package(system, target))


def _said(action: str, message: str, **terms: Any) -> str:
    return json.dumps({"reasoning": "Arithmetic.", "message": message, "action": action, **terms})


def _package(system: str, target: float) -> dict[str, str]:
    """Give way, term by term, as far as the whole stays worth `target`."""
    table = {
        json.loads(name): {json.loads(option): float(points) for option, points in _OPTION.findall(row)}
        for name, row in _TERM.findall(system)
    }
    spare = sum(max(row.values()) for row in table.values()) - target
    package = {}
    for name, row in table.items():
        best = max(row.values())
        options = [option for option, points in row.items() if best - points <= max(0.0, spare)]
        package[name] = min(options, key=lambda option: (row[option], option))
        spare -= best - row[package[name]]
    return package


def completion(body: Body, content: Any, finish: str = "stop", **message: Any) -> Body:
    """Return a chat completion, with usage counted in characters."""
    taken = sum(len(m["content"]) for m in body["messages"]) // TOKEN_CHARACTERS
    given = len(str(content or "")) // TOKEN_CHARACTERS + 1
    said = {"role": "assistant", "content": content, **message}
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
        "usage": {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given},
    }


def answered(body: Body) -> Body:
    """Return the completion that holds the model's answer to a request."""
    return completion(body, answer(body["messages"]))


def chunks(body: Body, content: Body) -> list[Body]:
    """Return a completion in pieces, as a stream sends it: usage comes last, where it was asked for."""
    (choice,) = content["choices"]
    message = dict(choice["message"])
    text, message["content"] = message["content"] or "", ""
    pieces = [text[at : at + 40] for at in range(0, len(text), 40)]
    deltas = [message, *({"content": piece} for piece in pieces)]
    same = {"object": "chat.completion.chunk"} | {
        key: content[key] for key in ("id", "created", "model")
    }
    found = [same | {"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    found.append(same | {"choices": [last]})
    if (body.get("stream_options") or {}).get("include_usage"):
        found.append(same | {"choices": [], "usage": content["usage"]})
    return found
