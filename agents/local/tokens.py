"""Token-exact conversations: what a model sampled is fed back as it was sampled, never re-tokenised.

A chat template renders whole conversations. Rendering one again every turn would tokenise the model's
own text anew, and a text has many tokenisations: the ids that training rewards, or that a prefix cache
holds, would not be those that were sampled. So the template is asked once what stands between an
answer and the next one, and that is spliced in around the other side's words.
"""

from collections.abc import Sequence
from typing import Any

from agents.language_model.prompt import Message

_TOLD, _ASKED, _ANSWERED, _AGAIN = "\uf8f0", "\uf8f1", "\uf8f2", "\uf8f3"
"""Marks from a private-use area of Unicode, which no template and no prompt contains."""


class TemplateError(ValueError):
    """A tokenizer with which no conversation can be held; the message says what is missing."""


def stops_of(generation_config: Any) -> list[int]:
    """Return the ids that end an answer, from a model's generation config; empty where it names none."""
    stops = generation_config.eos_token_id
    return [stops] if isinstance(stops, int) else list(stops or ())


class ChatTokens:
    """The token ids of conversations with one tokenizer.

    `tokenizer` is a Hugging Face tokenizer with a chat template; `stops` are the ids that end an answer
    by the model's generation config. The tokenizer's own end token does so too: TRL and vLLM sample up
    to either, and a checkpoint that was saved with both must play as its base. Raises TemplateError
    where there is no template, or it leaves out the system message, or it shows none of these ends.
    """

    def __init__(self, tokenizer: Any, stops: Sequence[int]) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise TemplateError(
                "the tokenizer has no chat template: an instruction-tuned model is needed"
            )
        self._tokenizer = tokenizer
        own = tokenizer.eos_token_id
        self.stops = frozenset(stops) | (frozenset() if own is None else {own})
        if not self.stops:
            raise TemplateError("the model names no token that ends an answer (eos_token_id)")
        between, self._after = _around(tokenizer)
        self.close = self._closing(between)
        self._ending = str(tokenizer.convert_ids_to_tokens(self.close))
        self._before = between.partition(self._ending)[2]
        self.trims = not between.endswith(" ")
        """Whether the template takes white space off both ends of what is said, as Gemma's does."""
        if not self.trims:
            self._before, self._after = self._before[:-1], self._after[1:]
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self.close

    def first(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of a conversation up to where the first answer begins."""
        found = self._tokenizer.apply_chat_template(
            list(messages), add_generation_prompt=True, tokenize=True, return_dict=False
        )
        return list(found)

    def then(self, answer: Sequence[int], text: str) -> list[int]:
        """Return the ids between `answer` and the next one, where `text` is what is said to the model.

        They are those that the template would put after an answer's end. An answer that was cut off is
        closed first; one that another of `stops` ended stays as it was sampled.
        """
        said = text.strip() if self.trims else text
        # In the closing token's company: what follows may be split otherwise where a text begins.
        ids = self._ids(self._ending + self._before + said + self._after)
        place = ids.index(self.close)
        return ids[place + 1 if self.ended(answer) else place :]

    def ended(self, answer: Sequence[int]) -> bool:
        """Return whether an answer came to its end; False where it was cut off."""
        return bool(answer) and answer[-1] in self.stops

    def text(self, answer: Sequence[int]) -> str:
        """Return an answer's text without the token that ends it; any other control token is spelled."""
        kept = answer[:-1] if self.ended(answer) else answer
        return str(self._tokenizer.decode(list(kept), skip_special_tokens=False))

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _closing(self, between: str) -> int:
        """Return the id with which the template ends an answer."""
        found = next((token for token in self._ids(between) if token in self.stops), None)
        if found is None:
            raise TemplateError(
                "the chat template ends an answer with none of the model's end tokens "
                f"({', '.join(sorted(map(str, self.stops)))}): its generation config does not fit it"
            )
        return found


def _around(tokenizer: Any) -> tuple[str, str]:
    """Return what a template writes from an answer to what is said next, and from there to the next
    answer; a space on the inner side of both where it keeps white space."""
    conversation = [
        {"role": "system", "content": _TOLD},
        {"role": "user", "content": _ASKED},
        {"role": "assistant", "content": _ANSWERED},
        {"role": "user", "content": f" {_AGAIN} "},
    ]
    try:
        text = tokenizer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
    except Exception as error:  # a template is code of the model's
        raise TemplateError(f"the chat template cannot hold a conversation: {error}") from error
    if _TOLD not in text:
        raise TemplateError("the chat template leaves out the system message, which holds the brief")
    between, _, after = text.partition(_ANSWERED)[2].partition(_AGAIN)
    return between, after
