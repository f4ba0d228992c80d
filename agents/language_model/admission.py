"""What is looked at before a model is registered: its name, and whether its settings reach its provider.

LiteLLM knows what each provider takes, and drops some settings in silence. A setting counts as dropped
where the request is the same without it and with another value of it.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from agents.language_model.library import library
from agents.language_model.sent import CONVERSATION, NotTakenError, Reader
from agents.spec import AgentSpec, Connection
from scenarios.canonical import canonical

OLLAMA = ("ollama/", "ollama_chat/")
"""How the names of models begin that are asked in Ollama's own protocol."""
SAMPLES: Mapping[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "min_p": 0.1,
    "seed": 1,
    "max_tokens": 4096,
    "stop": ["END"],
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "repetition_penalty": 1.5,
    "reasoning_effort": "low",
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "verbosity": "low",
    "num_ctx": 8192,
}
"""A value of every sampling setting, to see whether a provider takes it."""
_PENALTIES = frozenset({"presence_penalty", "frequency_penalty"})
IGNORED: Mapping[tuple[str, ...], Collection[str]] = {
    # They call it repeat_penalty, and pass over what they do not know.
    (*OLLAMA, "lm_studio/", "llamafile/"): {"repetition_penalty"},
    # DeepSeek's guide to its reasoning model: no error, and no effect.
    ("deepseek/deepseek-reasoner",): {"temperature", "top_p"} | _PENALTIES,
    # As for gemini/, whose requests are made by the same code; seen only with Google's library.
    ("vertex_ai/gemini",): {"min_p", "repetition_penalty"},
}
"""Settings that reach no model though LiteLLM seems to send them, by how the models' names begin."""
ONLY: Mapping[str, tuple[str, ...]] = {"num_ctx": OLLAMA}
"""Settings of some providers alone, by how their models' names begin: LiteLLM sends them to others, too,
which refuse them or pass over them."""
_MARK = "answer-of-a-negotiator"
_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "schema": {
            "type": "object",
            "properties": {"action": {"type": "string", "enum": [_MARK]}},
            "required": ["action"],
            "additionalProperties": False,
        },
    },
}
CLOSE = 0.8
"""How alike a name of LiteLLM's list has to be to be proposed (difflib's ratio)."""


def admit(spec: AgentSpec, connection: Connection) -> list[str]:
    """Return what is worth knowing about a model that is to be registered, as sentences.

    Raises ValueError, with what to do, where LiteLLM does not know the provider; where a setting or the
    schema does not reach it and is not allowed to be dropped; and where one that it takes is.
    """
    check_name(spec.model or "")
    reader = Reader(spec)
    kept = {name: value for name, value in spec.sampling.items() if name not in spec.may_drop}
    _check_taken(reader, spec, kept)
    for name in spec.may_drop:
        if _is_taken(reader, spec, {**kept, name: spec.sampling[name]}, name):
            raise ValueError(f"{spec.model} takes {name}: leave it out of --allow-dropped")
    if spec.structured and not takes_schema(reader, kept):
        raise ValueError(f"LiteLLM sends no JSON schema to {spec.model}: leave out --structured")
    return _notes(spec, connection, reader)


def takes(reader: Reader, spec: AgentSpec) -> list[str]:
    """Return the names of the sampling settings that reach a model, by themselves."""
    return _taken(reader, spec, SAMPLES)


def dropped(spec: AgentSpec) -> list[str]:
    """Return the names of a model's settings that, by themselves, do not reach it. Raises ValueError
    where its name is none."""
    check_name(spec.model or "")
    return sorted(spec.sampling.keys() - set(_taken(Reader(spec), spec, spec.sampling)))


def _taken(reader: Reader, spec: AgentSpec, settings: Mapping[str, Any]) -> list[str]:
    room = {"max_tokens": SAMPLES["max_tokens"]}
    return sorted(
        name for name, value in settings.items() if _is_taken(reader, spec, {**room, name: value}, name)
    )


def takes_schema(reader: Reader, sampling: Mapping[str, Any]) -> bool:
    """Return whether a JSON schema goes into a model's requests, elsewhere than into its prompt."""
    try:
        body = reader.body(sampling, _FORMAT)
    except NotTakenError:
        return False
    return _MARK in canonical({name: value for name, value in body.items() if name not in CONVERSATION})


def check_name(model: str) -> None:
    """Raise ValueError, with what may be meant, where a name does not begin with a provider's."""
    provider, slash, name = model.partition("/")
    known = _providers()
    if provider in known and name:
        return
    if provider in known:
        raise ValueError(f"{model} names no model: write it {provider}/MODEL")
    if not slash and (found := _provider_of(model)) is not None:
        raise ValueError(f"{model} does not say whose it is: write it {found}/{model}")
    near = [other for other in get_close_matches(provider, known, 3) if slash]
    meant = f"did you mean {' or '.join(f'{other}/{name}' for other in near)}? " if near else ""
    raise ValueError(
        f"{'LiteLLM knows no provider ' + repr(provider) if slash else model + ' has no provider'}. "
        f"{meant}A model is written PROVIDER/MODEL, as in openai/gpt-5 "
        "(https://docs.litellm.ai/docs/providers has the list), and one that a server of yours serves, "
        f"hosted_vllm/{model} with the server's address as --api-base"
    )


def _check_taken(reader: Reader, spec: AgentSpec, sampling: Mapping[str, Any]) -> None:
    try:
        whole = reader.body(sampling)
    except NotTakenError as error:
        name = _culprit(reader, sampling)
        raise ValueError(
            f"{spec.model} does not take {name} {_shown(sampling.get(name))} ({error}). "
            f"{_remedy(reader, spec, name)}"
        ) from None
    for name in sampling:
        if not _matters(reader, spec, sampling, name, whole):
            raise ValueError(
                f"{spec.model} would never see {name}: it is dropped in silence. "
                f"{_remedy(reader, spec, name)}"
            )


def _remedy(reader: Reader, spec: AgentSpec, name: str) -> str:
    return (
        f"Leave it out, or allow that with --allow-dropped {name}: then it is not sent. "
        f"Of the settings, LiteLLM sends {', '.join(takes(reader, spec)) or 'none'}"
    )


def _culprit(reader: Reader, sampling: Mapping[str, Any]) -> str:
    """Return which of the settings is refused: by itself, or where that is none, with the others."""
    room = {name: value for name, value in sampling.items() if name == "max_tokens"}
    alone = ({**room, name: value} for name, value in sampling.items())
    without = ({n: v for n, v in sampling.items() if n != name} for name in sampling)
    for name, settings in zip(sampling, alone, strict=True):
        if not _is_accepted(reader, settings):
            return name
    for name, settings in zip(sampling, without, strict=True):
        if _is_accepted(reader, settings):
            return name
    return " and ".join(sampling)


def _is_accepted(reader: Reader, sampling: Mapping[str, Any]) -> bool:
    try:
        reader.body(sampling)
    except NotTakenError:
        return False
    return True


def _is_taken(reader: Reader, spec: AgentSpec, sampling: Mapping[str, Any], name: str) -> bool:
    """Return whether a setting of `sampling` is accepted and reaches the model."""
    try:
        return _matters(reader, spec, sampling, name, reader.body(sampling))
    except NotTakenError:
        return False


def _matters(
    reader: Reader, spec: AgentSpec, sampling: Mapping[str, Any], name: str, whole: object
) -> bool:
    """Return whether the request, which is `whole` as it is, depends on a setting."""
    model = spec.model or ""
    if any(name in names for models, names in IGNORED.items() if model.startswith(models)):
        return False
    if not model.startswith(ONLY.get(name, "")):
        return False
    without = {other: value for other, value in sampling.items() if other != name}
    changed = [without]
    # A value may be what LiteLLM sends where none is set.
    if (another := _another(sampling[name])) is not None:
        changed.append({**without, name: another})
    try:
        return any(reader.body(settings) != whole for settings in changed)
    except NotTakenError:  # it decides whether the others are accepted, or has one good value
        return True


def _another(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value + 1 if isinstance(value, int) else value / 2 or 0.5


def _shown(value: Any) -> str:
    return canonical(value) if value is not None else "with these others"


def _notes(spec: AgentSpec, connection: Connection, reader: Reader) -> list[str]:
    notes = []
    if reader.blind is not None:
        notes.append(
            f"Requests to {spec.model} cannot be read here ({reader.blind}): it was checked only which "
            "settings LiteLLM says that the provider has."
        )
    if (spec.model or "").startswith(OLLAMA) and "num_ctx" not in spec.sampling:
        notes.append(
            "Ollama cuts a conversation that is longer than the context it serves, and says nothing: "
            "--sampling num_ctx=16384 asks for one that is long enough, or OLLAMA_CONTEXT_LENGTH=16384 "
            "where Ollama is started."
        )
    most, a_minute = spec.sampling["max_tokens"], connection.tokens_per_minute
    if a_minute is not None and most > a_minute:
        notes.append(
            f"An answer may have {most:,} tokens, and all of them count, but only {a_minute:,g} a "
            f"minute may be used: {most / a_minute:,.0f} minutes or more pass after each request. "
            "--max-tokens sets how many an answer may have."
        )
    if connection.api_base is None and (near := _misspelt(spec.model or "")) is not None:
        notes.append(f"LiteLLM's list has no {spec.model}, which may be too new; did you mean {near}?")
    return notes


def _misspelt(model: str) -> str | None:
    """Return the name most like a model's that LiteLLM has; None where it has that, or none like it."""
    provider, _, name = model.partition("/")
    listed = library().models_by_provider.get(provider) or ()
    known = {str(other).removeprefix(f"{provider}/") for other in listed}
    near = [] if name in known else get_close_matches(name, known, 1, CLOSE)
    return f"{provider}/{near[0]}" if near else None


def _providers() -> set[str]:
    library()
    from litellm.llms.openai_like.json_loader import JSONProviderRegistry

    listed = {str(getattr(name, "value", name)) for name in library().provider_list}
    return listed | set(JSONProviderRegistry.list_providers())


def _provider_of(model: str) -> str | None:
    """Return whose model LiteLLM takes a bare name for."""
    try:
        return str(library().get_llm_provider(model)[1])
    except Exception:  # it knows none, and says so with several kinds of exception
        return None
