"""`arena prompt show`: exactly what a language model is told on its first turn."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from arena.commands.options import Db, open_store
from arena.errors import UserError

if TYPE_CHECKING:
    from agents.agent import Brief
    from agents.spec import AgentSpec

prompt_app = typer.Typer(name="prompt", help="What language models are told.", no_args_is_help=True)


@prompt_app.command("show")
def show(
    agent: Annotated[
        str,
        typer.Argument(help="A registered model, or a LiteLLM name such as anthropic/claude-sonnet-5."),
    ],
    scenario: Annotated[str, typer.Option(help="A scenario, such as car_sale/eval/12.")],
    role: Annotated[Literal["seller", "buyer"], typer.Option(help="Which side it plays.")] = "seller",
    turns: Annotated[
        int | None, typer.Option(min=1, help="Announce this many turns, as run-tournament --turns does.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Another prompt version than the agent's.")
    ] = None,
    db: Db = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the request's JSON instead.")] = False,
) -> None:
    """Print the messages of a model's first turn, where it opens, and the schema of its answers."""
    from agents.language_model.agent import response_format_of
    from agents.language_model.prompt import first_messages

    spec = _spec(agent, db)
    if not spec.is_language_model:
        raise UserError(f"{agent} is not a language model, so it gets no prompt")
    brief = _brief(scenario, role, turns)
    try:
        messages = first_messages(brief, prompt or spec.prompt_version)
    except ValueError as error:
        raise UserError(str(error)) from error
    schema = response_format_of(spec, brief)
    if as_json:
        content: dict[str, Any] = {"messages": messages, "response_format": schema}
        typer.echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    parts = [f"--- {message['role']}\n{message['content']}" for message in messages]
    if schema is not None:
        parts.append(f"--- response_format\n{json.dumps(schema, ensure_ascii=False, indent=2)}")
    typer.echo("\n\n".join(parts))


def _spec(agent: str, db: str | None) -> "AgentSpec":
    """Return a registered agent's spec, or that of the LiteLLM model with this name."""
    from agents.language_model import model_spec
    from arena.registry import Registry

    try:
        with open_store(db) as store:
            return Registry(store).find(agent).spec
    except UserError as error:
        if "/" not in agent:
            hint = "a model that is not registered goes by its LiteLLM name, provider/model"
            raise UserError(f"{error}; {hint}") from error
    return model_spec(agent)


def _brief(label: str, role: str, turns: int | None) -> "Brief":
    from arena.play import briefs
    from arena.protocol import Rules
    from scenarios import catalogue
    from scenarios.scenario import Role

    try:
        scenario = catalogue.scenario(label)
        domain = catalogue.find(label.rsplit("/", 2)[0].partition("@")[0])
    except ValueError as error:
        raise UserError(str(error)) from error
    return briefs(domain, scenario, Rules(turns=turns))[Role(role)]
