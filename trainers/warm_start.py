"""The warm start of `tiny`: a random model learns the protocol from a teacher's own transcripts (SFT).

The teacher is mediocre on purpose: it gives way at about an even pace, is careless about what it asks
for, and now and then takes whatever is on the table. It teaches the format and leaves bargaining to be
learned.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from agents.agent import Brief, Reply, View
from agents.language_model.prompt import Conversation, Message
from agents.local.tokens import ChatTokens
from agents.spec import AgentSpec
from arena.drivers import run
from scenarios.scenario import SCALE, Role
from trainers.cells import Cells
from trainers.recipe import Recipe
from trainers.tiny import model_of, tokenizer_of

MESSAGES = ("How about this?", "My offer.", "This suits both of us.", "Take this one.", "")
CARELESS = 0.08
"""How often the teacher takes what is on the table whatever it is worth."""
NOISE = 0.08
"""Standard deviation of its target, in utility."""


@dataclass
class Teacher:
    """A scripted seller that answers as a language model does, and remembers its conversations."""

    prompt_version: str
    spec: AgentSpec = field(default_factory=lambda: AgentSpec(kind="scripted", strategy="teacher"))
    deterministic: bool = False
    conversations: list[Conversation] = field(default_factory=list)

    def begin(self, role: Role, brief: Brief, rng: Random) -> "_Pupil":
        """Return one match's negotiator."""
        conversation = Conversation(brief, self.prompt_version)
        self.conversations.append(conversation)
        return _Pupil(conversation, rng)


class _Pupil:
    def __init__(self, conversation: Conversation, rng: Random) -> None:
        self._conversation, self._rng = conversation, rng

    def reply(self, view: View) -> Reply:
        self._conversation.ask(view)
        text = json.dumps(self._answer(view), separators=(",", ":"))
        self._conversation.answered(text)
        return Reply(text=text)

    def _answer(self, view: View) -> dict[str, Any]:
        draw, brief = self._rng, view.brief
        prefer = brief.preferences
        share = 1 - view.turn / brief.most_turns
        wanted = prefer.walk_away + (1 - prefer.walk_away) * share + draw.gauss(0, NOISE)
        if view.theirs is not None and (
            draw.random() < CARELESS or prefer.utility(view.theirs) >= max(wanted, prefer.walk_away)
        ):
            return {"action": "accept"}
        packages = list(product(*(range(len(term.options)) for term in brief.terms)))
        package = min(
            draw.sample(packages, 12), key=lambda found: abs(prefer.points(found) - wanted * SCALE)
        )
        message = draw.choice(MESSAGES)
        terms = {
            term.name: term.options[option] for term, option in zip(brief.terms, package, strict=True)
        }
        said = {"message": message} if message else {}
        return {**said, "action": "propose", "terms": terms}


def transcripts(recipe: Recipe, cells: Cells, matches: int, seed: int) -> list[list[Message]]:
    """Return the teacher's conversations on so many cells of a run, from place `seed` * a million on."""
    teacher = Teacher(recipe.prompt_version)
    for number in range(matches):
        cell = cells.at(seed * 1_000_000 + number)
        rngs = {Role.SELLER: Random(f"{seed}/{number}"), Role.BUYER: cell.rng()}
        run(cell.game(recipe), {Role.SELLER: teacher, Role.BUYER: cell.buyer}, rngs)
    return [talk.messages for talk in teacher.conversations if talk.messages[-1]["role"] == "assistant"]


def row(messages: Sequence[Message], chat: ChatTokens, ids_of: Any) -> dict[str, list[int]]:
    """Return the ids of a conversation and the mask of the seller's own, as rollouts put them."""
    ids = chat.first(messages[:2])
    mask = [0] * len(ids)
    answer: list[int] = []
    for message in messages[2:]:
        if message["role"] == "assistant":
            answer = [*ids_of(message["content"]), chat.close]
            new = answer
        else:
            new = chat.then(answer, message["content"])
        ids = ids + new
        mask += [int(message["role"] == "assistant")] * len(new)
    return {"input_ids": ids, "assistant_masks": mask}


def warm_start(
    recipe: Recipe,
    cells: Cells,
    folder: Path,
    *,
    family: str,
    matches: int = 2000,
    steps: int = 200,
    batch: int = 32,
    learning_rate: float = 4e-3,
    seed: int = 0,
    shape: Mapping[str, Any] | None = None,
) -> None:
    """Make a tiny model of `family`, teach it the protocol, and save it with its tokenizer in `folder`."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    talks = transcripts(recipe, cells, matches, seed=1)
    # The template's own words stand around every message.
    tokenizer = tokenizer_of(
        text for talk in talks for m in talk for text in (f"{m['role']}\n", "model\n", m["content"])
    )
    model = model_of(family, len(tokenizer), seed, **(shape or {}))
    chat = ChatTokens(tokenizer, model.generation_config.eos_token_id)

    def ids_of(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    rows = [row(talk, chat, ids_of) for talk in talks]
    settings = SFTConfig(
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
        gradient_checkpointing=False,
        disable_tqdm=True,
        seed=seed,
    )
    trainer = SFTTrainer(
        model=model, args=settings, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )
    trainer.train()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
