"""How models are called in LiteLLM: whether a name has a provider, and what a misspelt one may mean."""

from difflib import get_close_matches

from agents.language_model.library import library

CLOSE = 0.8
"""How alike a name of LiteLLM's list has to be to be proposed (difflib's ratio)."""


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


def misspelt(model: str) -> str | None:
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
