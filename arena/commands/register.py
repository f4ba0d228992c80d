"""`arena register`: give an agent a name."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_store, split_names
from arena.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.entry import Entry
    from arena.store import Registration

KINDS = "What it is (one of these)"
MODELS = "Language models"
PROFILE = "What is known beside its behaviour"

Pairs = list[str] | None


def _option(panel: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel=panel)


Name = Annotated[str | None, typer.Argument(help="Its name; any text without @ and commas.")]
Role = Annotated[str, typer.Option(help="seller, buyer or both.")]
Parameters = Annotated[
    Pairs, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the strategy or plug-in.")
]
Scripted = Annotated[str | None, _option(KINDS, "A scripted strategy: arena agents lists them.", "NAME")]
Model = Annotated[str | None, _option(KINDS, "A LiteLLM model, such as anthropic/claude-sonnet-5.")]
Weights = Annotated[
    str | None,
    _option(KINDS, "Weights on this machine; --model may say what.", "FOLDER_OR_ID_OR_GGUF"),
]
Plugin = Annotated[str | None, _option(KINDS, "Your own agent.", "MODULE:OBJECT")]
File = Annotated[str | None, _option(KINDS, "Many agents: a YAML file with a list `agents`.", "PATH")]
Server = Annotated[
    str | None, _option(MODELS, "What --serve serves its --weights by.", "llama.cpp|vllm")
]
ServerArgs = Annotated[
    Pairs,
    typer.Option(
        "--server-arg", help="A further argument of that server.", rich_help_panel=MODELS, metavar="TEXT"
    ),
]
ApiBase = Annotated[
    Pairs, _option(MODELS, "The address of its server; may be given for each of several.", "URL")
]
ApiKeyEnv = Annotated[
    str | None, _option(MODELS, "The environment variable with its key; never the key.", "VARIABLE")
]
Temperature = Annotated[float | None, _option(MODELS, "Sampling; 0 is a setting, too.")]
TopP = Annotated[float | None, _option(MODELS, "Sampling.")]
TopK = Annotated[int | None, _option(MODELS, "Sampling.")]
Seed = Annotated[int | None, _option(MODELS, "Sampling.")]
MaxTokens = Annotated[int | None, _option(MODELS, "Tokens that an answer may have.")]
Effort = Annotated[str | None, _option(MODELS, "Of a thinking model: low, medium, high.")]
Sampling = Annotated[Pairs, _option(MODELS, "Any other sampling setting.", "KEY=VALUE")]
AllowDropped = Annotated[
    Pairs, _option(MODELS, "Sampling settings that it lacks and that are then not sent.", "A,B")
]
Structured = Annotated[bool, _option(MODELS, "Constrain answers by a JSON schema.")]
Revision = Annotated[str | None, _option(MODELS, "Revision or hash of its weights.")]
Prompt = Annotated[str | None, _option(MODELS, "Prompt version. [default: the newest full one]")]
Timeout = Annotated[float | None, _option(MODELS, "Seconds that one call may take.")]
Stream = Annotated[bool, _option(MODELS, "Stream answers: one without end is then the model's fault.")]
MaxConcurrent = Annotated[int | None, _option(MODELS, "Requests at once, where it is reached.")]
RequestsPerMinute = Annotated[float | None, _option(MODELS, "Requests a minute, where it is reached.")]
TokensPerMinute = Annotated[float | None, _option(MODELS, "Tokens a minute, where it is reached.")]
PriceIn = Annotated[float | None, _option(MODELS, "US dollars a million tokens in.")]
PriceOut = Annotated[float | None, _option(MODELS, "US dollars a million tokens out.")]
Family = Annotated[str | None, _option(PROFILE, "Model family, such as claude.")]
Params = Annotated[float | None, _option(PROFILE, "Effective parameters, such as 4.5e9.")]
Base = Annotated[str | None, _option(PROFILE, "The agent it was trained from.", "NAME")]


def register(
    name: Name = None,
    scripted: Scripted = None,
    model: Model = None,
    weights: Weights = None,
    plugin: Plugin = None,
    file: File = None,
    role: Role = "both",
    set_: Parameters = None,
    server: Server = None,
    server_args: ServerArgs = None,
    api_base: ApiBase = None,
    api_key_env: ApiKeyEnv = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    top_k: TopK = None,
    seed: Seed = None,
    max_tokens: MaxTokens = None,
    reasoning_effort: Effort = None,
    sampling: Sampling = None,
    allow_dropped: AllowDropped = None,
    structured: Structured = False,
    revision: Revision = None,
    prompt: Prompt = None,
    timeout: Timeout = None,
    stream: Stream = False,
    max_concurrent: MaxConcurrent = None,
    requests_per_minute: RequestsPerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    family: Family = None,
    params: Params = None,
    base: Base = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Give an agent a name, under which tournaments know it.

    What decides behaviour (model, sampling, prompt, parameters, source) is its version: registering the
    name with another temperature makes a second version, which name@version addresses; another address
    or price is the same agent. A key is never stored.
    """
    fields = dict(locals())  # the options are an Entry's fields
    for beside in ("file", "db", "as_json", "set_"):
        del fields[beside]
    fields["set"], fields["sampling"] = _pairs("--set", set_), _pairs("--sampling", sampling)
    fields["allow_dropped"] = split_names(",".join(allow_dropped or ()))
    _register(_entries(name, file, fields), db, as_json)


def _entries(name: str | None, file: str | None, fields: dict[str, Any]) -> "list[Entry]":
    from arena.entry import entry_from, read_file

    # 0 equals False, but only False means that it was not given.
    given = {k: v for k, v in fields.items() if v is not None and v is not False and v not in ({}, [])}
    if file is not None:
        if given != {"role": "both"}:
            raise UserError("--file stands alone: what an agent is stands in the file")
        return read_file(file)
    if name is None:
        raise UserError("give the agent a name, or many agents with --file")
    return [entry_from(given)]


def _register(entries: "list[Entry]", db: str | None, as_json: bool) -> None:
    from arena.commands.printing import print_json
    from arena.printable import plain
    from arena.registry import Change, Registry

    words = {
        Change.NEW: "registered",
        Change.VERSION: "now means this version; the ones before stay under name@version",
        Change.UPDATED: "updated: the same agent, reached or described differently",
        Change.REINSTATED: "registered again after its withdrawal",
        Change.UNCHANGED: "is registered just so already",
    }
    with open_store(db, create=True) as store:
        done = Registry(store).register(entries, _admit)
    if as_json:
        from arena.commands.agents import agent_json

        print_json([agent_json(agent) | {"change": change.value} for agent, change in done])
        return
    for agent, change in done:
        typer.echo(f"{plain(agent.full_name)} ({agent.role}): {words[change]}")


def _admit(agents: "Sequence[Registration]") -> None:
    """Ask LiteLLM, whose import takes seconds, whether the models get all that they are set to."""
    from arena.commands.printing import progress_bar
    from arena.entry import RegistryError
    from arena.printable import plain

    models = [agent for agent in agents if agent.spec.kind == "model"]
    if not models:
        return
    from agents.language_model.admission import admit
    from agents.language_model.library import library

    library()
    notes = []
    with progress_bar("asking LiteLLM what the models take", len(models)) as tick:
        for agent in models:
            try:
                notes += [f"{agent.name}: {note}" for note in admit(agent.spec, agent.connection)]
            except ValueError as error:
                raise RegistryError(f"{agent.name}: {error}") from None
            tick()
    for note in notes:
        typer.echo(plain(note), err=True)


def _pairs(option: str, given: Pairs) -> dict[str, Any]:
    """Return KEY=VALUE settings; a value that is JSON counts as such, any other as text."""
    found: dict[str, Any] = {}
    for pair in given or ():
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UserError(f"{option} takes KEY=VALUE, not {pair!r}")
        try:
            found[key.strip()] = json.loads(value)
        except ValueError:
            found[key.strip()] = value
    return found
