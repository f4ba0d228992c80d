"""What LiteLLM makes of a request before it is sent: read off without sending anything."""

from collections.abc import Mapping
from typing import Any

from agents.language_model.library import NO_KEY, library
from agents.language_model.redaction import clean
from agents.language_model.request import Request
from agents.spec import AgentSpec

NOWHERE = "http://127.0.0.1:9/v1"
"""The port of this machine at which nobody listens: should anything be sent after all, it goes there."""
CONVERSATION = frozenset(
    {"messages", "contents", "system", "system_instruction", "instructions", "input", "prompt"}
)
"""Where providers' requests hold what was said; the rest of a request says how to answer it."""
_MESSAGES = ({"role": "system", "content": "A"}, {"role": "user", "content": "B"})
_ADVICE = (" To drop", " If you want", "\nTraceback", "\n\n`litellm_settings")
"""Where LiteLLM's words turn to advice that is not for our users."""


class NotTakenError(ValueError):
    """LiteLLM makes no request with these settings; its words say why."""


class Reader:
    """Reads what requests to one model become."""

    def __init__(self, spec: AgentSpec) -> None:
        """Take `spec` for its model; imports LiteLLM, which takes seconds."""
        self._spec = spec.model_copy(update={"may_drop": ()})
        self.blind: str | None = None
        """Why whole requests cannot be read here, as without a cloud's library or account; then
        :meth:`body` is what LiteLLM maps the settings to, and what it leaves out later is not seen."""
        _, problem = self._raw({"max_tokens": 64}, None)
        if problem is not None:
            self.blind = _words(problem)

    def body(
        self, sampling: Mapping[str, Any], format: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the body that a request with these settings, and with a `response_format`, would have.

        Raises NotTakenError where LiteLLM refuses a setting, or its value, for this model.
        """
        if self.blind is not None:
            return self._mapped(sampling, format)
        found, problem = self._raw(sampling, format)
        if problem is not None:
            raise NotTakenError(_words(problem))
        return found

    def settings(
        self, sampling: Mapping[str, Any], format: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return :meth:`body` without the model's name and what was said."""
        body = self.body(sampling, format)
        flat = {**body, **(body.get("extra_body") or {})}
        hidden = CONVERSATION | {"model", "extra_body"}
        return {name: value for name, value in flat.items() if name not in hidden}

    def address(self) -> str | None:
        """Return where LiteLLM sends requests for which no address is given; None where it does not show
        that, or cannot show a request without asking somebody first."""
        if self.blind is not None:
            return None
        return _told(self._arguments({"max_tokens": 64}, None)).get("raw_request_api_base") or None

    def _raw(
        self, sampling: Mapping[str, Any], format: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], str | None]:
        """Return the body, or what went wrong in LiteLLM's words."""
        told = _told(self._arguments(sampling, format) | {"api_base": NOWHERE})
        body = told.get("raw_request_body")
        if told.get("error") or not isinstance(body, dict):
            return {}, str(told.get("error") or "LiteLLM does not show its request")
        return body, None

    def _mapped(self, sampling: Mapping[str, Any], format: Mapping[str, Any] | None) -> dict[str, Any]:
        provider, _, name = (self._spec.model or "").partition("/")
        arguments = self._arguments(sampling, format) | {"model": name}
        try:
            found = library().utils.get_optional_params(custom_llm_provider=provider, **arguments)
        except Exception as error:  # each provider's mapping has errors of its own
            raise NotTakenError(_words(str(error))) from None
        return dict(found)

    def _arguments(
        self, sampling: Mapping[str, Any], format: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        spec = self._spec.model_copy(update={"sampling": dict(sampling)})
        return Request(spec, _MESSAGES, format).arguments


def _told(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what LiteLLM tells of the request that it would send, with a key that is none."""
    library()  # before its parts: it is to be imported with our settings
    import litellm.types.utils
    import litellm.utils

    arguments = {**arguments, "timeout": 1.0}
    return dict(litellm.utils.return_raw_request(litellm.types.utils.CallTypes.completion, arguments))


def _words(problem: str) -> str:
    """Return LiteLLM's words as one line without what is not for our users."""
    for advice in _ADVICE:
        problem = problem.partition(advice)[0]
    while (cut := problem.partition(": "))[0].startswith("litellm.") and cut[2]:
        problem = cut[2]
    return clean(problem, NO_KEY)
