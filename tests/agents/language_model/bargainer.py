"""A model that bargains by arithmetic: its answer is a function of the conversation alone.

It reads the payoff table of prompt `v1`, asks for less every turn, and takes what is worth as much as
what it would ask for next.
"""

import json
import re
from typing import Any

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
