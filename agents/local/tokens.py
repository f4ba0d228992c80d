"""Token-exact conversations: what a model sampled is fed back as it was sampled, never re-tokenised.

A chat template renders whole conversations. Rendering one again every turn would tokenise the model's
own text anew, and a text has many tokenisations: the ids that training rewards, or that a prefix cache
holds, would not be those that were sampled. So the template is asked once what stands between an
answer and the next one, and that is spliced in around the other side's words.
"""

from collections.abc import Sequence
from typing import Any

from agents.language_model.prompt import Message

_ASKED, _ANSWERED, _AGAIN = "\uf8f1", "\uf8f2", "\uf8f3"
"""Marks from a private-use area of Unicode, which no template and no prompt contains."""


class TemplateError(ValueError):
    """A tokenizer with which no conversation can be held; the message says what is missing."""


class ChatTokens:
    """The token ids of conversations with one tokenizer.

    `tokenizer` is a Hugging Face tokenizer with a chat template; `stops` are the ids that end an answer,
    from the model's generation config. Raises TemplateError where there is no template, or it shows no
    end of an answer among `stops`.
    """

    def __init__(self, tokenizer: Any, stops: Sequence[int]) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise TemplateError("the tokenizer has no chat template: an instruction-tuned model is needed")
        self._tokenizer = tokenizer
        self.stops = frozenset(stops)
        if not self.stops:
            raise TemplateError("the model names no token that ends an answer (eos_token_id)")
        self.close, self._before, self._after = self._between()
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self.close

    def first(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of a conversation up to where the first answer begins."""
        found = self._tokenizer.apply_chat_template(
            list(messages), add_generation_prompt=True, tokenize=True, return_dict=False
        )
        return list(found)

    def then(self, answer: Sequence[int], text: str) -> list[int]:
        """Return the ids between `answer` and the next one, where `text` is what is said to the model.

        An answer that was cut off is closed first.
        """
        closing = [] if self.ended(answer) else [self.close]
        return closing + self._ids(self._before + text.strip() + self._after)

    def ended(self, answer: Sequence[int]) -> bool:
        """Return whether an answer came to its end; False where it was cut off."""
        return bool(answer) and answer[-1] in self.stops

    def text(self, answer: Sequence[int]) -> str:
        """Return an answer's text, without the token that ends it."""
        kept = answer[:-1] if self.ended(answer) else answer
        return str(self._tokenizer.decode(list(kept), skip_special_tokens=True))

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _between(self) -> tuple[int, str, str]:
        """Return the id that ends an answer, and the template's text before and after the next words."""
        conversation = [
            {"role": "user", "content": _ASKED},
            {"role": "assistant", "content": _ANSWERED},
            {"role": "user", "content": _AGAIN},
        ]
        text = self._tokenizer.apply_chat_template(
            conversation, add_generation_prompt=True, tokenize=False
        )
        between, _, after = text.partition(_ANSWERED)[2].partition(_AGAIN)
        ids = self._ids(between)
        close = next((place for place, found in enumerate(ids) if found in self.stops), None)
        if close is None:
            raise TemplateError(
                "the chat template ends an answer with none of the model's end tokens "
                f"({', '.join(map(str, sorted(self.stops)))}): its generation config does not fit it"
            )
        ending = self._tokenizer.convert_ids_to_tokens(ids[close])
        return ids[close], between[between.index(ending) + len(ending) :], after
