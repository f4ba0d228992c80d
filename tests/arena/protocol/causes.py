"""What can go wrong, as tables: what the seller does, and what it is."""
# ruff: noqa: E501

from asyncio import CancelledError
from math import nan as NAN
from time import perf_counter, sleep
from typing import Any

from agents.agent import Action, ActionKind, ProviderError, Reply, Usage, View, accept, propose
from arena.protocol import Ending, Fault
from tests.arena.protocol.flat import Step, said, text

E, F = Ending, Fault
OFFER = {"rent": "$1,100"}
FIRST = '{"action": "propose", "terms": {"rent": "$900"}}'
SECOND = '{"action": "propose", "terms": {"rent": "$1,100"}}'
TRUNCATED = '{"message": "A sunny flat", "action": "propose", "terms": {"rent": "$1,1'
TIMEOUT = 0.25
"""Seconds that a turn may take where it is to take longer."""


def limit(cause: str) -> float:
    """Return the seconds that a turn may take: where nothing hangs, more than any machine needs."""
    return TIMEOUT if "hang" in cause else 30.0


WAITED_FOR: list[str] = []
"""The hangs that ran to their own end, since nobody stopped them."""


def hang_asleep(view: View) -> Reply:
    sleep(5)
    WAITED_FOR.append("asleep")
    return accept()


def hang_busy(view: View) -> Reply:
    end = perf_counter() + 5
    while perf_counter() < end:
        pass
    WAITED_FOR.append("busy")
    return accept()


class Escape(BaseException):
    pass


class Short(str):
    def __len__(self) -> int:
        return 0


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def garbage(value: Any) -> Step:
    return lambda view: value


def reply_with(**channels: Any) -> Step:
    return lambda view: Reply(**({"action": Action(ActionKind.TALK)} | channels))


# fmt: off
FAULTY: dict[str, tuple[Step, Fault]] = {
    "unknown term":                        (said("propose", {"price": "$900"}),             F.UNKNOWN_TERM),
    "term in another case":                (said("propose", {"Rent": "$900"}),              F.UNKNOWN_TERM),
    "unknown option":                      (said("propose", {"rent": "$950"}),              F.UNKNOWN_OPTION),
    "option with a space too many":        (said("propose", {"rent": " $900"}),             F.UNKNOWN_OPTION),
    "a number where an option is due":     (said("propose", {"rent": 900}),                 F.OPTION_NOT_TEXT),
    "null where an option is due":         (said("propose", {"rent": None}),                F.OPTION_NOT_TEXT),
    "terms within terms":                  (said("propose", {"rent": {"rent": "$900"}}),    F.OPTION_NOT_TEXT),
    "positional list":                     (said("propose", ["$900", "1 May", "allowed"]),  F.POSITIONAL_TERMS),
    "terms as prose":                      (said("propose", "rent $900"),                   F.WRONG_TYPE),
    "no terms":                            (said("propose"),                                F.NO_TERMS),
    "empty terms":                         (said("propose", {}),                            F.NO_TERMS),
    "accept with terms":                   (said("accept", OFFER),                          F.STRAY_TERMS),
    "accept with nothing on the table":    (said("accept"),                                 F.NOTHING_TO_ACCEPT),
    "two JSON objects":                    (text(FIRST + "\n" + SECOND),                    F.TWO_OBJECTS),
    "an object and a stray brace":         (text(FIRST + " {ok}"),                          F.TWO_OBJECTS),
    "an object and a closing brace":       (text(FIRST + "}"),                              F.TWO_OBJECTS),
    "a brace in the prose before":         (text("I would take {$900}. " + FIRST),          F.NOT_JSON),
    "truncated":                           (text(TRUNCATED),                                F.NOT_JSON),
    "truncated by the token limit":        (Reply(text=TRUNCATED, fault="cut_off"),         F.CUT_OFF),
    "a whole answer at the token limit":   (Reply(text=FIRST, fault="cut_off"),             F.CUT_OFF),
    "refusal":                             (Reply(text="I cannot do that.", fault="refusal"), F.REFUSAL),
    "context overrun":                     (Reply(fault="context_overrun"),                 F.CONTEXT_OVERRUN),
    "empty":                               (text(""),                                       F.EMPTY),
    "white space":                         (text(" \n\t"),                                  F.EMPTY),
    "no text at all":                      (Reply(),                                        F.EMPTY),
    "prose":                               (text("I propose a rent of $1,100."),            F.NO_OBJECT),
    "a JSON string":                       (text('"accept"'),                               F.NO_OBJECT),
    "a JSON list":                         (text('["propose", "$900"]'),                    F.NO_OBJECT),
    "1 MB of text":                        (text("rent " * 200_000),                        F.ANSWER_TOO_LONG),
    "1 MB of braces":                      (text("{" * 1_000_000),                          F.ANSWER_TOO_LONG),
    "3,000-character message":             (said("talk", message="x" * 3_000),              F.MESSAGE_TOO_LONG),
    "half an emoji":                       (said("talk", message="\ud83d"),                 F.LONE_SURROGATE),
    "thinking without an answer":          (text(f"<think>{FIRST}</think>"),                F.NO_OBJECT),
    "thinking without an end":             (text(f"<think>Hm. {FIRST}"),                    F.OPEN_THINKING),
    "duplicate keys":                      (text('{"action": "talk", "action": "accept"}'), F.DUPLICATE_KEY),
    "duplicate terms":                     (text('{"action": "propose", "terms": {"rent": "$900", "rent": "$1,100"}}'), F.DUPLICATE_KEY),
    "NaN":                                 (text('{"action": "propose", "terms": {"rent": NaN}}'), F.NOT_FINITE),
    "-Infinity":                           (text('{"action": "talk", "message": -Infinity}'), F.NOT_FINITE),
    "unknown key":                         (said("talk", price="$900"),                     F.UNKNOWN_KEY),
    "unknown action":                      (said("counter", OFFER),                         F.UNKNOWN_ACTION),
    "action in capitals":                  (said("ACCEPT"),                                 F.UNKNOWN_ACTION),
    "no action":                           (text('{"message": "Hello"}'),                   F.UNKNOWN_ACTION),
    "message that is a number":            (said("talk", message=5),                        F.WRONG_TYPE),
    "single quotes":                       (text("{'action': 'talk'}"),                     F.NOT_JSON),
    "trailing comma":                      (text('{"action": "talk",}'),                    F.NOT_JSON),
    "comment":                             (text('{"action": "talk" /* wait */}'),          F.NOT_JSON),
    "structured: too few indices":         (propose((1, 1)),                                F.POSITIONAL_TERMS),
    "structured: index out of range":      (propose((1, 1, 2)),                             F.UNKNOWN_OPTION),
    "structured: index below -1":          (propose((1, 1, -2)),                            F.UNKNOWN_OPTION),
    "structured: a number of 5,000 digits": (propose((10**5_000, 1, 1)),                    F.UNKNOWN_OPTION),
    "structured: a float":                 (propose((1.0, 1, 1)),                           F.OPTION_NOT_TEXT),
    "structured: nothing named":           (propose((-1, -1, -1)),                          F.NO_TERMS),
    "structured: a message that lies about its length": (propose((1, 1, 1), Short("x" * 3_000)), F.MESSAGE_TOO_LONG),
    "structured: 3,000-character message": (propose((1, 1, 1), "x" * 3_000),                F.MESSAGE_TOO_LONG),
}

STOPS: dict[str, tuple[Step, str, Ending, float | None, float | None]] = {
    # cause                        what it does                       kind        ending             seller  buyer
    "plug-in exception":          (ValueError("lost"),                "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in StopIteration":      (StopIteration("done"),             "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in exits":              (SystemExit(3),                     "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in's own BaseException": (Escape("out"),                    "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in GeneratorExit":      (GeneratorExit(),                   "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in cancels itself":     (CancelledError(),                  "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in unprintable error":  (Unprintable(),                     "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in hangs asleep":       (hang_asleep,                       "plugin",   E.FORFEIT_TIMEOUT,  0.0,    0.30),
    "plug-in hangs busy":         (hang_busy,                         "plugin",   E.FORFEIT_TIMEOUT,  0.0,    0.30),
    "plug-in's own timeout":      (TimeoutError("socket"),            "plugin",   E.FORFEIT_TIMEOUT,  0.0,    0.30),
    "plug-in returns None":       (garbage(None),                     "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in returns a dict":     (garbage({"action": "accept"}),     "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "plug-in returns an Action":  (garbage(Action(ActionKind.TALK)),  "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "message that is bytes":      (reply_with(message=b"hi"),         "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "reasoning that is a list":   (reply_with(reasoning=["hm"]),      "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "action that is a string":    (reply_with(action="accept"),       "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "action of no kind":          (reply_with(action=("bid", None)),  "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "terms named by numbers":     (propose({1: "$900"}),              "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "both an action and a text":  (reply_with(text=FIRST),            "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "text that is bytes":         (garbage(Reply(text=b"{}")),        "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "fault of its own making":    (reply_with(fault="headache"),      "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "usage that is a string":     (reply_with(usage="12 tokens"),     "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "usage of NaN dollars":       (reply_with(usage=Usage(1, 1, NAN, 1.0)), "plugin", E.FORFEIT_CODE, 0.0,    0.30),
    "usage of half a token":      (reply_with(usage=Usage(0.5, 1)),   "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "usage beyond a database":    (reply_with(usage=Usage(10**30)),   "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "receipt with keys unlike":   (reply_with(receipt={"a": 1, 2: 3}), "plugin",  E.FORFEIT_CODE,     0.0,    0.30),
    "receipt that is no JSON":    (reply_with(receipt={"x": {1, 2}}), "plugin",   E.FORFEIT_CODE,     0.0,    0.30),
    "provider fails a model":     (ProviderError("503"),              "model",    E.PROVIDER_ERROR,   None,   None),
    "provider fails a plug-in":   (ProviderError("503"),              "plugin",   E.PROVIDER_ERROR,   None,   None),
    "provider is silent":         (TimeoutError(),                    "model",    E.PROVIDER_ERROR,   None,   None),
    "our model code breaks":      (KeyError("choices"),               "model",    E.HARNESS_ERROR,    None,   None),
    "our strategy breaks":        (KeyError("target"),                "scripted", E.HARNESS_ERROR,    None,   None),
}

FINE: dict[str, tuple[Step, ActionKind, tuple[int, ...] | None]] = {
    "prose that says 'I accept', and talk":    (said("talk", message="I accept!"),          ActionKind.TALK,    None),
    "prose that says 'I accept', and an offer": (said("propose", OFFER, "I accept!"),       ActionKind.PROPOSE, (2, -1, -1)),
    "prose that names another price":          (said("propose", OFFER, "$900 it is."),      ActionKind.PROPOSE, (2, -1, -1)),
    "JSON in thinking and another after it":   (text(f"<think>{FIRST}</think>{SECOND}"),    ActionKind.PROPOSE, (2, -1, -1)),
    "JSON in thinking opened in the prompt":   (text(f"Hm {FIRST}\n</think>\n{SECOND}"),    ActionKind.PROPOSE, (2, -1, -1)),
    "JSON and thinking after it":              (text(f"{SECOND}<think>{FIRST}</think>"),    ActionKind.PROPOSE, (2, -1, -1)),
    "a channel of thought":                    (text(f"<|channel>thought\n{FIRST}<channel|>{SECOND}"), ActionKind.PROPOSE, (2, -1, -1)),
    "a closing tag in a channel of thought":   (text(f"Hm. {SECOND}<|channel>thought\n</think><channel|>"), ActionKind.PROPOSE, (2, -1, -1)),
    "a thinking tag in a message":             (said("talk", message="<think>{</think>"),   ActionKind.TALK,    None),
    "code fence and prose around":             (text(f"Sure!\n```json\n{SECOND}\n```\nOk?"), ActionKind.PROPOSE, (2, -1, -1)),
    "braces in a message":                     (said("talk", message="{} {"),               ActionKind.TALK,    None),
    "terms null with talk":                    (text('{"action": "talk", "terms": null}'),  ActionKind.TALK,    None),
    "terms empty with talk":                   (said("talk", {}),                           ActionKind.TALK,    None),
    "2,000-character message":                 (said("talk", message="x" * 2_000),          ActionKind.TALK,    None),
    "structured, by names":                    (propose({"rent": "$1,100"}),                ActionKind.PROPOSE, (2, -1, -1)),
}
# fmt: on
