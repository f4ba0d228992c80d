"""One side of one match as a model's token ids: what play and training have in common."""

from collections.abc import Sequence

from agents.agent import Brief, Reply, Usage, View
from agents.language_model.faults import own_words
from agents.language_model.prompt import Conversation
from agents.local.tokens import ChatTokens

Ids = list[int]


class Dialogue:
    """The conversation of one side, in words and as ids; both are only ever appended to."""

    def __init__(self, brief: Brief, prompt_version: str, chat: ChatTokens, room: int) -> None:
        """An answer begins after at most `room` ids; from there on every one overruns the context."""
        self._conversation = Conversation(brief, prompt_version)
        self._chat, self._room = chat, room
        self._last: Ids = []
        self._full = False
        self.filled_itself = False
        """Where no answer fits any more: whether that is for the model's own words, measured as for
        models that are served."""
        self.ids: Ids = []
        """All ids up to where the next answer begins."""

    def ask(self, view: View) -> Ids | None:
        """Append the view's turn and return the ids that are new; None where no answer fits any more."""
        messages = self._conversation.ask(view)
        if self.ids:
            new = self._chat.then(self._last, messages[-1]["content"])
        else:
            new = self._chat.first(messages)
        if not self._full and len(self.ids) + len(new) > self._room:
            self._full, self.filled_itself = True, own_words(messages)
        if self._full:
            return None
        self.ids += new
        return new

    def answered(self, sampled: Sequence[int], latency_s: float | None = None) -> Reply:
        """Append what the model sampled, as it was sampled; return it as a reply, to be parsed."""
        asked, self._last = len(self.ids), list(sampled)
        self.ids += self._last
        text = self._chat.text(self._last)
        self._conversation.answered(text)
        fault = None if self._chat.ended(self._last) else "cut_off"
        return Reply(text=text, fault=fault, usage=Usage(asked, len(self._last), latency_s=latency_s))


def overrun() -> Reply:
    """Return the reply of a model whose conversation leaves no room for another answer."""
    return Reply(text="", fault="context_overrun")
