"""What is looked at before a model is registered: its name, and whether its settings reach its provider.

LiteLLM knows what each provider takes, and drops some settings in silence. A setting counts as dropped
where the request is the same without it and with another value of it.
"""

import os
from collections.abc import Collection, Mapping
from typing import Any

from agents.language_model.library import library
from agents.language_model.names import check_name, misspelt
from agents.language_model.route import redirected
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
FOREIGN: Mapping[str, Collection[str]] = {
    "anthropic/": {"min_p", "repetition_penalty"},
    "openai/": {"top_k", "min_p", "repetition_penalty"},
}
"""Settings that LiteLLM passes on, and that the provider's own API does not know and refuses, by how the
models' names begin. At another address they may be taken."""
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


def admit(spec: AgentSpec, connection: Connection) -> list[str]:
    """Return what is worth knowing about a model that is to be registered, as sentences.

    Raises ValueError, with what to do, where LiteLLM does not know the provider; where a setting or the
    schema does not reach it and is not allowed to be dropped; and where one that it takes is.
    """
    check_name(spec.model or "")
    reader = Reader(spec)
    kept = {name: value for name, value in spec.sampling.items() if name not in spec.may_drop}
    foreign = _foreign(spec, connection)
    _check_taken(reader, spec, kept, foreign)
    for name in spec.may_drop:
        if name not in foreign and _is_taken(reader, spec, {**kept, name: spec.sampling[name]}, name):
            raise ValueError(f"{spec.model} takes {name}: leave it out of --allow-dropped")
    if spec.structured and not takes_schema(reader, kept):
        raise ValueError(f"LiteLLM sends no JSON schema to {spec.model}: leave out --structured")
    return _notes(spec, connection, reader)


def _foreign(spec: AgentSpec, connection: Connection) -> Collection[str]:
    """Return what a model's own provider refuses, where that is who is asked."""
    way = redirected(spec, connection)
    if connection.api_base is not None or (way is not None and way.by is not None):
        return ()
    model = spec.model or ""
    return next((names for models, names in FOREIGN.items() if model.startswith(models)), ())


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


def _check_taken(
    reader: Reader, spec: AgentSpec, sampling: Mapping[str, Any], foreign: Collection[str]
) -> None:
    for name in sampling:
        if name in foreign:
            raise ValueError(
                f"{spec.model} does not take {name}: its provider's own API refuses it. "
                f"{_remedy(reader, spec, name, foreign)}"
            )
    try:
        whole = reader.body(sampling)
    except NotTakenError as error:
        name = _culprit(reader, sampling)
        raise ValueError(
            f"{spec.model} does not take {name} {_shown(sampling.get(name))} ({error}). "
            f"{_remedy(reader, spec, name, foreign)}"
        ) from None
    for name in sampling:
        if not _matters(reader, spec, sampling, name, whole):
            raise ValueError(
                f"{spec.model} would never see {name}: it is dropped in silence. "
                f"{_remedy(reader, spec, name, foreign)}"
            )


def _remedy(reader: Reader, spec: AgentSpec, name: str, foreign: Collection[str]) -> str:
    taken = [other for other in takes(reader, spec) if other not in foreign]
    return (
        f"Leave it out, or allow that with --allow-dropped {name}: then it is not sent. "
        f"Of the settings, LiteLLM sends {', '.join(taken) or 'none'}"
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
    if connection.api_base is None and (usual := _usual_key(spec, connection)) is not None:
        provider = (spec.model or "").partition("/")[0]
        notes.append(
            f"{connection.api_key_env} is not set here; the usual variable with a key for {provider} is "
            f"{usual}."
        )
    if connection.api_base is None and (near := misspelt(spec.model or "")) is not None:
        notes.append(f"LiteLLM's list has no {spec.model}, which may be too new; did you mean {near}?")
    return notes


def _usual_key(spec: AgentSpec, connection: Connection) -> str | None:
    """Return the variable that LiteLLM looks for itself, where another is named that is not set; None
    where it is not known."""
    named = connection.api_key_env
    if named is None or os.environ.get(named):
        return None
    told = library().validate_environment(spec.model).get("missing_keys") or []
    usual = told[0] if told else f"{(spec.model or '').partition('/')[0].upper()}_API_KEY"
    return usual if usual != named and (told or usual in os.environ) else None
