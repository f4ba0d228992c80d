"""The matches that the golden files show: one for each ending, and for each fault."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

from agents.agent import Action, ActionKind, ProviderError, Reply, accept, propose, walk_away
from arena.protocol import ANSWER_LIMIT, Rules
from scenarios.scenario import Role
from tests.arena.protocol.flat import Step, said, text

DEAR, FAIR, CHEAP = {"rent": "$1,100"}, {"rent": "$1,000", "start": "1 June"}, {"rent": "$900"}
TALK = said("talk", message="Let me think about it.")
WALK = said("walk_away", message="No, thank you.")


@dataclass(frozen=True)
class Playthrough:
    """What each side replays, and under which rules."""

    seller: Sequence[Step]
    buyer: Sequence[Step]
    opener: Role = Role.SELLER
    turns: int | None = None
    kinds: tuple[Any, Any] = ("plugin", "plugin")
    seller_begin: Step | None = None
    turn_timeout: float = 30.0

    @property
    def rules(self) -> Rules:
        return Rules(turns=self.turns)


hang = partial(sleep, 30)

PLAYTHROUGHS = {
    # Endings
    "agreement": Playthrough(
        [
            said("propose", DEAR, "It is a sunny flat.", reasoning="Ask high, leave the rest open."),
            said("propose", FAIR, "I can come down if you start in June."),
        ],
        [
            said("propose", CHEAP | {"pets": "allowed"}, "I have a cat.", reasoning="0.35 is my limit."),
            said("accept", message="Done.", reasoning="0.45 beats walking away."),
        ],
    ),
    "agreement_on_the_last_turn": Playthrough(
        [TALK, said("propose", DEAR)], [TALK, said("accept")], turns=2
    ),
    "structured_replies": Playthrough(
        [propose((2, -1, 1), "Rent first."), accept(reasoning="0.65 is enough.")],
        [propose((1, 0, 0)), walk_away()],
        kinds=("scripted", "scripted"),
    ),
    "walk_away": Playthrough([said("propose", DEAR)], [WALK]),
    "deadline_hidden": Playthrough([TALK] * 7, [said("propose", CHEAP)] * 7, opener=Role.BUYER),
    "deadline_announced": Playthrough([said("propose", DEAR)] * 2, [TALK] * 2, turns=2),
    "counter_offer_replaces": Playthrough(
        [
            said("propose", DEAR),
            said("accept", message="Then the buyer's offer it is."),
        ],
        [said("propose", CHEAP | {"start": "1 May"}, "Mine replaces yours whole."), WALK],
    ),
    "prose_does_not_bind": Playthrough(
        [said("propose", FAIR), WALK],
        [said("talk", message="I accept! We have a deal.")],
    ),
    "forfeit_format_seller": Playthrough([text("I want $1,100, take it or leave it.")] * 3, [TALK]),
    "forfeit_format_buyer": Playthrough(
        [said("propose", FAIR)],
        [text(""), said("accept", FAIR), said("accept", message="x" * 2_001)],
    ),
    "forfeit_timeout": Playthrough([said("propose", FAIR)], [lambda view: hang()], turn_timeout=1.0),
    "forfeit_code": Playthrough([text("?"), ValueError("no such quantile")], [TALK]),
    "forfeit_code_in_begin": Playthrough([], [TALK], seller_begin=KeyError("prior")),
    "forfeit_code_bad_reply": Playthrough([said("propose", FAIR)], [lambda view: "accept"]),
    "provider_error": Playthrough(
        [said("propose", FAIR)], [ProviderError("503 from the provider")], kinds=("plugin", "model")
    ),
    "harness_error": Playthrough([ZeroDivisionError("division by zero")], [], kinds=("scripted",) * 2),
    # Faults, two to a turn: the third answer is legal and the match goes on
    "faults_of_json": Playthrough(
        [
            text(" \n"),
            text("I would like to propose $1,100."),
            said("propose", DEAR),
            text('Fine. {"action": "talk", "message": "Sunny, is it'),
            text("My range is {$1,000, $1,100}. " + '{"action": "talk"}'),
            said("propose", FAIR),
        ],
        [TALK, said("accept")],
    ),
    "faults_of_braces": Playthrough(
        [
            text('{"action": "talk"} {"action": "accept"}'),
            text('<think>Start with {"action": "propose"}, I suppose.'),
            text('<think>Not {"action": "accept"} yet.</think>```json\n{"action": "talk"}\n```'),
            text('{"action": "talk", "action": "accept"}'),
            text('{"action": "propose", "terms": {"rent": NaN}}'),
            said("propose", DEAR),
        ],
        [TALK, WALK],
    ),
    "faults_of_keys": Playthrough(
        [
            said("propose", DEAR, price="$1,100"),
            text('{"action": "talk", "message": ["Hello"]}'),
            text('{"action": "talk"}'),
            said("counter", FAIR),
            text('{"message": "Hello?"}'),
            said("propose", FAIR),
        ],
        [TALK, said("accept")],
    ),
    "faults_of_terms": Playthrough(
        [
            said("propose", {"Rent": "$1,100"}),
            said("propose", {"rent": "1,100"}),
            said("propose", DEAR),
            said("propose", {"rent": 1100}),
            said("propose", ["$1,100", "1 May", "allowed"]),
            said("propose", DEAR | {"start": "1 June"}),
            said("propose", {}),
            said("talk", DEAR),
            said("propose", FAIR),
        ],
        [TALK, TALK, said("accept")],
    ),
    "faults_of_structured_terms": Playthrough(
        [
            propose((2, 1)),
            propose((2, 1, 7)),
            propose((2, 1, 0)),
            Reply(Action(ActionKind.PROPOSE, (2, 1, True))),
            propose((-1, -1, -1)),
            propose((1, 1, 0)),
            Reply(Action(ActionKind.PROPOSE, {"rent": object()}), "Ours.", "A slip."),  # type: ignore[dict-item]
            Reply(),
            propose((0, 0, 0)),
        ],
        [TALK, TALK, accept()],
    ),
    "faults_of_acceptance": Playthrough(
        [said("accept"), said("propose", DEAR), said("accept"), said("propose", FAIR)],
        [TALK, said("accept")],
    ),
    "faults_of_length": Playthrough(
        [
            said("propose", DEAR, "x" * 2_001),
            text("{" * (ANSWER_LIMIT + 1)),
            said("propose", DEAR, "x" * 2_000),
            said("talk", message="half an emoji: \ud83d"),
            said("talk", message="a whole one: \N{SLIGHTLY SMILING FACE}"),
        ],
        [TALK, WALK],
    ),
    "faults_the_agent_reports": Playthrough(
        [
            Reply(text='{"reasoning": "First, let me', fault="cut_off", reasoning="Long thoughts."),
            Reply(text="I can't help with that.", fault="refusal"),
            said("propose", DEAR),
            Reply(fault="context_overrun"),
            said("propose", FAIR),
        ],
        [TALK, said("accept")],
    ),
}
