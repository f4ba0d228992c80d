"""The warm start of `tiny`: a random model learns the protocol from a teacher's own transcripts (SFT).

The teacher is mediocre on purpose: it gives way at about an even pace, is careless about what it asks
for, and now and then takes whatever is on the table. It teaches the format and leaves bargaining to be
learned.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from agents.agent import Brief, Reply, View
from agents.language_model.prompt import Conversation, Message
from agents.local.tokens import ChatTokens, stops_of
from agents.spec import AgentSpec
from arena.drivers import run
from scenarios.scenario import SCALE, Role
from trainers.cells import Cells
from trainers.recipe import Recipe
from trainers.telling import Stage, silent
from trainers.tiny import model_of, tokenizer_of

MESSAGES = ("My offer.", "How about this?", "This suits both of us.", "Take this one.", "")
"""One after the other, from the first turn on."""
PATIENCE = 6
"""Turns after which it asks for no more than its walk-away value."""
CARELESS = 0.05
"""How often the teacher takes what is on the table whatever it is worth."""
NOISE = 0.05
"""Standard deviation of its target, in utility."""
SLIPS = 0.04
"""How often it writes something faulty first. Its mistakes are in the transcripts, so that the model
sees how it is asked again, but carry no loss."""


@dataclass
class Talk:
    """One conversation of the teacher's; `slips` are the places of its faulty answers."""

    messages: list[Message]
    slips: set[int] = field(default_factory=set)


@dataclass
class Teacher:
    """A scripted seller that answers as a language model does, and remembers its conversations."""

    prompt_version: str
    spec: AgentSpec = field(default_factory=lambda: AgentSpec(kind="scripted", strategy="teacher"))
    deterministic: bool = False
    talks: list[Talk] = field(default_factory=list)

    def begin(self, role: Role, brief: Brief, rng: Random) -> "_Pupil":
        """Return one match's negotiator."""
        conversation = Conversation(brief, self.prompt_version)
        talk = Talk(conversation.messages)
        self.talks.append(talk)
        return _Pupil(conversation, talk, rng)


class _Pupil:
    def __init__(self, conversation: Conversation, talk: Talk, rng: Random) -> None:
        self._conversation, self._talk, self._rng = conversation, talk, rng

    def reply(self, view: View) -> Reply:
        self._conversation.ask(view)
        answer = self._answer(view)
        if view.fault is None and self._rng.random() < SLIPS:
            self._talk.slips.add(len(self._talk.messages))
            answer = {"action": "accept"} if view.theirs is None else {"action": "propose", "terms": {}}
        text = json.dumps(answer, separators=(",", ":"))
        self._conversation.answered(text)
        return Reply(text=text)

    def _answer(self, view: View) -> dict[str, Any]:
        draw, brief = self._rng, view.brief
        prefer = brief.preferences
        share = max(0.0, 1 - view.turn / PATIENCE)
        wanted = prefer.walk_away + (1 - prefer.walk_away) * share + draw.gauss(0, NOISE)
        if view.theirs is not None and (
            draw.random() < CARELESS or prefer.utility(view.theirs) >= max(wanted, prefer.walk_away)
        ):
            return {"action": "accept"}
        packages = product(*(range(len(term.options)) for term in brief.terms))
        package = min(packages, key=lambda found: abs(prefer.points(found) - wanted * SCALE))
        message = MESSAGES[view.turn % len(MESSAGES)]
        terms = {
            term.name: term.options[option] for term, option in zip(brief.terms, package, strict=True)
        }
        terms = dict(sorted(terms.items()))  # the order of the prompt's table
        said = {"message": message} if message else {}
        return {**said, "action": "propose", "terms": terms}


def transcripts(recipe: Recipe, cells: Cells, matches: int, seed: int) -> list[Talk]:
    """Return the teacher's conversations on so many cells of a run, from place `seed` * a million on."""
    teacher = Teacher(recipe.prompt_version)
    for number in range(matches):
        cell = cells.at(seed * 1_000_000 + number)
        rngs = {Role.SELLER: Random(f"{seed}/{number}"), Role.BUYER: cell.rng()}
        run(cell.game(recipe), {Role.SELLER: teacher, Role.BUYER: cell.buyer}, rngs)
    return [talk for talk in teacher.talks if talk.messages[-1]["role"] == "assistant"]


def row(talk: Talk, chat: ChatTokens, tokenizer: Any) -> dict[str, list[int]]:
    """Return the ids of a conversation, put together as rollouts do, and the mask of the answers that
    are to be learned."""
    ids = chat.first(talk.messages[:2])
    mask = [0] * len(ids)
    answer: list[int] = []
    for place, message in enumerate(talk.messages[2:], 2):
        own = message["role"] == "assistant"
        if own:
            said = tokenizer(message["content"], add_special_tokens=False)["input_ids"]
            new = answer = [*said, chat.close]
        else:
            new = chat.then(answer, message["content"])
        ids = ids + new
        mask += [int(own and place not in talk.slips)] * len(new)
    return {"input_ids": ids, "assistant_masks": mask}


def _texts(talks: Iterable[Talk]) -> Iterator[str]:
    """Yield what the tokenizer is trained on: the messages, and the words that the template puts before
    every one of them."""
    for talk in talks:
        for message in talk.messages:
            yield from (f"{message['role']}\n", "model\n", message["content"])


def warm_start(
    recipe: Recipe,
    cells: Cells,
    folder: Path,
    *,
    architecture: str,
    matches: int = 2000,
    steps: int = 300,
    batch: int = 16,
    learning_rate: float = 4e-3,
    seed: int = 0,
    shape: Mapping[str, Any] | None = None,
    stage: Stage = silent,
) -> None:
    """Make a tiny model of `architecture`, teach it the protocol, and save both it and its tokenizer.

    `shape` are fields of its configuration that differ from :data:`trainers.tiny.SHAPE`; `stage` is told
    how far it is.
    """
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import SFTTrainer

    from trainers.callbacks import Steps

    talks = transcripts(recipe, cells, matches, seed=1)
    tokenizer = tokenizer_of(_texts(talks))
    model = model_of(architecture, len(tokenizer), seed, **(shape or {}))
    chat = ChatTokens(tokenizer, stops_of(model.generation_config))
    rows = [row(talk, chat, tokenizer) for talk in talks]
    trainer = SFTTrainer(
        model=model,
        args=_settings(folder, steps, batch, learning_rate, seed),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[Steps("making the base", stage)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _settings(folder: Path, steps: int, batch: int, learning_rate: float, seed: int) -> Any:
    """Return TRL's configuration of the lesson; files of TRL's own go into `folder`/sft."""
    from trl import SFTConfig

    return SFTConfig(
        str(folder / "sft"),
        max_steps=steps,
        per_device_train_batch_size=batch,
        learning_rate=learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        logging_steps=25,
        max_length=None,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        activation_checkpointing=False,
        disable_tqdm=True,
        seed=seed,
    )
