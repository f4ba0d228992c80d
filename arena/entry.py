"""An agent as its user describes it, on the command line or in an agents file; checked here once.

An agents file is YAML with one list, ``agents``; each entry has the fields of :class:`Entry`, which
are the options of `arena register` (`docs/agents.md` shows one).
"""

import re
import shlex
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agents.spec import AgentSpec, Connection, Profile
from arena.addresses import checked_address
from arena.errors import UserError
from arena.record import utc_now
from arena.store.agents import Registration
from scenarios.yaml_file import read_yaml

NAME_LIMIT = 200
_BIDI = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"(^|[_-])(api_?key|key|secret|password|token)$", re.IGNORECASE)


class RegistryError(UserError):
    """An agent that cannot be registered or found; the message says what to do."""


class Entry(BaseModel):
    """One agent: exactly one of `scripted`, `model`, `weights` and `plugin`, and what goes with it.

    Beside `weights`, `model` may say what they are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    role: Literal["seller", "buyer", "both"] = "both"
    scripted: str | None = None
    """A strategy's name."""
    plugin: str | None = None
    """``module:object``, or the name of an installed entry point."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Parameters of a strategy or plug-in."""
    model: str | None = None
    """A LiteLLM model name; the fields from here to `price_out` belong to language models only."""
    weights: str | None = None
    """Weights on this machine: their folder, the Hugging Face id of downloaded ones, or a GGUF file."""
    server: Literal["llama.cpp", "vllm"] | None = None
    """What serves the weights, started by the arena; llama.cpp where they are a GGUF file."""
    server_args: list[str] = Field(default_factory=list)
    """Further arguments of that server."""
    revision: str | None = None
    prompt: str | None = None
    """A prompt version; the newest full one if none is named."""
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = None
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    reasoning_effort: str | None = None
    sampling: dict[str, Any] = Field(default_factory=dict)
    """Other sampling settings."""
    allow_dropped: list[str] = Field(default_factory=list)
    """Sampling settings that its provider lacks and that are then not sent."""
    structured: bool = False
    """Whether answers are constrained by a JSON schema."""
    api_base: list[str] | None = Field(None, min_length=1)
    """One address, or several that serve the same model."""
    api_key_env: str | None = None
    """The *name* of the environment variable that holds the key."""
    timeout: float | None = Field(None, gt=0)
    """Seconds one call may take."""
    stream: bool = False
    """Whether answers are streamed, so that one that still runs at the timeout is the model's fault."""
    max_concurrent: int | None = Field(None, ge=1)
    """Requests at once; this and the next two over all agents that are reached at the same place."""
    requests_per_minute: float | None = Field(None, ge=0.02)
    """At less, the last of 16 matches would wait for its turn for most of a day, as if it hung."""
    tokens_per_minute: float | None = Field(None, ge=1)
    price_in: float | None = Field(None, ge=0)
    """US dollars per million tokens, where LiteLLM does not know the price."""
    price_out: float | None = Field(None, ge=0)
    family: str | None = None
    base: str | None = None
    params: float | None = Field(None, gt=0)
    lineage: dict[str, Any] = Field(default_factory=dict)

    @field_validator("api_base", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    def registration(self) -> Registration:
        """Return what this entry registers. Raises RegistryError where it does not hold together."""
        name = checked_name(self.name)
        try:
            self._check_kind()
            spec = self._spec()
        except ValueError as error:
            raise RegistryError(f"{name}: {error}") from error
        return Registration(
            name=name,
            spec=spec,
            role=self.role,
            profile=Profile(
                family=self.family, base=self.base, params=self.params, lineage=self.lineage
            ),
            connection=self._connection(name),
            registered_at=utc_now(),
        )

    def _check_kind(self) -> None:
        kinds = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1 and kinds != ["model", "weights"]:
            said = " and ".join(kinds) or "none of them"
            raise ValueError(f"give exactly one of scripted, model, weights and plugin (given: {said})")
        if kinds[0] not in ("model", "weights"):
            self._refuse(_MODEL_FIELDS, "is for models only")
        elif self.set:
            raise ValueError("set is for strategies and plug-ins; a model has sampling settings")
        if self._server is not None:
            self._refuse(frozenset({"revision"}), "is computed from the weights: leave it out")
        elif self.weights is not None:
            self._refuse(_SERVED_FIELDS, "does not go with weights that no server serves")
        if self.weights is None:
            self._refuse(frozenset({"server", "server_args"}), "goes with weights")
        named = (word for given in self.server_args for word in shlex.split(given) if word[:1] == "-")
        _refuse_secrets(
            (word.partition("=")[0] for word in named),
            "let the server read it from an environment variable, as HF_TOKEN",
        )
        twice = _SAMPLING_FIELDS & self.sampling.keys()
        if twice:
            raise ValueError(f"{min(twice)} has a field of its own; leave it out of sampling")

    def _refuse(self, fields: frozenset[str], why: str) -> None:
        for field in sorted(fields & self.model_fields_set):
            default = type(self).model_fields[field].get_default(call_default_factory=True)
            if getattr(self, field) != default:
                raise ValueError(f"{field} {why}")

    def _spec(self) -> AgentSpec:
        if self.scripted is not None:
            from agents.scripted import spec_of

            return spec_of(self.scripted, **self.set)
        if self.plugin is not None:
            from agents.plugin import plugin_spec

            _refuse_secrets(self.set, "let the plug-in read it from an environment variable")
            return plugin_spec(self.plugin, self.set)
        sampling = {field: getattr(self, field) for field in sorted(_SAMPLING_FIELDS)} | self.sampling
        model, revision = self.model or "", self.revision
        if self._server is not None:
            from agents.language_model.serving import identity

            model, revision = identity(self._server, self.weights or "", self.model)
        elif self.weights is not None:
            from agents.local.agent import spec_of_weights

            return spec_of_weights(self.weights, self.model, sampling, self.prompt)
        from agents.language_model import model_spec

        return model_spec(model, sampling, self.structured, revision, self.prompt, self.allow_dropped)

    def _connection(self, name: str) -> Connection:
        if self.api_key_env is not None and not _VARIABLE.fullmatch(self.api_key_env):
            # The value is not repeated: it may be the key itself.
            raise RegistryError(
                f"{name}: api_key_env is the name of an environment variable, such as MY_API_KEY, "
                "not the key itself"
            )
        try:
            addresses = [checked_address(address) for address in self.api_base or ()]
        except ValueError as error:
            raise RegistryError(f"{name}: {error}") from None
        # What the arena serves itself is billed by nobody.
        free = 0.0 if self._server is not None and self.api_base is None else None
        return Connection(
            api_base=addresses[0] if addresses else None,
            api_bases=tuple(addresses[1:]),
            api_key_env=self.api_key_env,
            weights=self._weights(),
            server=self._server,
            server_args=tuple(self.server_args),
            timeout_s=self.timeout,
            stream=self.stream,
            max_concurrent=self.max_concurrent,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            input_usd_per_million=free if self.price_in is None else self.price_in,
            output_usd_per_million=free if self.price_out is None else self.price_out,
        )

    @property
    def _server(self) -> Literal["llama.cpp", "vllm"] | None:
        """What serves the weights; None where there are none, or they are run without a server."""
        gguf = self.weights is not None and self.weights.lower().endswith(".gguf")
        return self.server or ("llama.cpp" if gguf else None)

    def _weights(self) -> str | None:
        """Return where the weights are found, from whatever folder a tournament is started in."""
        if self.weights is None:
            return None
        from agents.local.weights import is_id

        return self.weights if is_id(self.weights) else str(Path(self.weights).expanduser().resolve())


def _refuse_secrets(names: Iterable[str], instead: str) -> None:
    """Raise ValueError, with what to do `instead`, where one of the names is of a secret."""
    for name in names:
        if _SECRET.search(name):
            raise ValueError(f"{name} looks like a secret, which is never stored: {instead}")


_KINDS = ("scripted", "model", "weights", "plugin")
_SAMPLING_FIELDS = {"temperature", "top_p", "top_k", "seed", "max_tokens", "reasoning_effort"}
_SERVED_FIELDS = frozenset(
    {
        *("revision", "structured", "api_base", "api_key_env", "timeout", "price_in", "price_out"),
        *("seed", "reasoning_effort", "allow_dropped", "server_args", "stream"),
        *("max_concurrent", "requests_per_minute", "tokens_per_minute"),
    }
)
"""What only a model that others serve has; of weights here the revision is computed, and every answer
gets a seed of its own."""
_MODEL_FIELDS = _SERVED_FIELDS | _SAMPLING_FIELDS | {"sampling", "prompt", "server"}


def checked_name(name: str) -> str:
    """Return the name in Unicode's composed form (NFC). Raises RegistryError where it will not do."""
    found = unicodedata.normalize("NFC", name.strip())
    if not found:
        raise RegistryError("an agent needs a name")
    if len(found) > NAME_LIMIT:
        raise RegistryError(f"the name {found[:20]}... is longer than {NAME_LIMIT} characters")
    for character in found:
        if character in "@,":
            why = "which separates a version" if character == "@" else "which separates names in a list"
            raise RegistryError(f"the name {found!r} contains {character!r}, {why}; choose another")
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cs", "Zl", "Zp") or character in _BIDI:
            raise RegistryError(
                f"the name {found!r} contains an invisible control character (U+{ord(character):04X})"
            )
    return found


def entry_from(fields: dict[str, Any], where: str = "") -> Entry:
    """Return the entry with these fields. Raises RegistryError that names the field, after `where`."""
    try:
        return Entry.model_validate(fields)
    except ValidationError as error:
        mistakes = []
        for detail in error.errors():
            field = ".".join(str(part) for part in detail["loc"])
            unknown = detail["type"] == "extra_forbidden"
            mistakes.append(f"{field}: {'no such field' if unknown else detail['msg']}")
        raise RegistryError(where + "; ".join(mistakes)) from None


def read_file(path: str | Path) -> list[Entry]:
    """Return the entries of an agents file. Raises RegistryError that names the file and the place."""
    try:
        content = read_yaml(path)
    except ValueError as error:
        raise RegistryError(str(error)) from None
    agents = content.get("agents") if isinstance(content, dict) and len(content) == 1 else None
    if not isinstance(agents, list) or not agents:
        raise RegistryError(f"{path}: must hold one list, `agents:`, with an entry an agent")
    entries = []
    for number, fields in enumerate(agents, 1):
        if not isinstance(fields, dict):
            raise RegistryError(f"{path}: agent {number} must be a mapping that starts with `name:`")
        called = f" ({fields['name']})" if isinstance(fields.get("name"), str) else ""
        plain = {str(key).replace("-", "_"): value for key, value in fields.items()}
        entries.append(entry_from(plain, f"{path}: agent {number}{called}: "))
    return entries
