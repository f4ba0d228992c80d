"""What was effectively sent to a model in a match, in words: its receipt as one reads it."""

import json
from collections.abc import Mapping
from typing import Any

_INSTEAD = {"json_object": "plain JSON", "text": "no format"}


def receipt_words(receipt: Mapping[str, Any]) -> str:
    """Return a side's receipt as one line, the most important first. It may hold anything: what is not
    a language model's stands at the end, under its own name."""
    rest = dict(receipt)
    parts = [_model(rest), _settings(rest), _schema(rest)]
    if rest.get("prompt") is not None:
        parts.append(f"prompt {rest.pop('prompt')}")
    parts += [f"{name.replace('_', ' ')} {_shown(value)}" for name, value in rest.items()]
    return "; ".join(part for part in parts if part)


def settings_words(settings: Mapping[str, Any]) -> str:
    """Return settings and their values as a list in words."""
    return ", ".join(f"{name} {_shown(value)}" for name, value in settings.items()) or "no settings"


def _model(rest: dict[str, Any]) -> str:
    model, served = rest.pop("model", None), rest.pop("served_model", None)
    if model is None and served is None:
        return ""
    answered = f", answered by {_shown(served)}" if served is not None and served != model else ""
    return f"{_shown(model)}{answered}"


def _settings(rest: dict[str, Any]) -> str:
    sampling = rest.get("sampling")
    if not isinstance(sampling, Mapping):
        return ""
    del rest["sampling"]
    return settings_words(sampling)


def _schema(rest: dict[str, Any]) -> str:
    if "schema" not in rest:
        return ""
    schema, refused = rest.pop("schema"), rest.pop("schema_refused", False)
    if refused:
        sent = rest.pop("format", None)
        return f"the JSON schema was refused, {_INSTEAD.get(str(sent), _shown(sent))} sent instead"
    return "no schema" if schema is None else f"JSON schema {_shown(schema)}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
