"""Loading a base to train: whole, in 32 bits, with nothing trainable but the language model.

transformers loads what fits and initialises the rest at random, with a warning at most: a Gemma 4
checkpoint in its multimodal layout loaded as the text class comes out as noise that generates. So what
was missing is looked at here, and refused.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.local.tokens import ChatTokens, TemplateError, stops_of
from agents.local.weights import WeightsError, downloaded, found_weights, is_id
from arena.errors import UserError
from trainers.on_disk import offline

FILES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")
"""What is downloaded of a model: no second format of the same weights."""
SHOWN = 4
"""Names of missing weights that a message lists."""
PROBE_S = 10.0
"""Seconds in which Hugging Face must answer before anything is downloaded."""


def load(model: str) -> tuple[Any, Any]:
    """Return the model, a Hugging Face id or a folder, ready to train, and its tokenizer.

    Weights are float32, which steps of 1e-6 need: near 0.02, bfloat16 has a spacing of 1e-4. What is
    outside the language model is frozen. The tokenizer pads on the left, and it and the generation
    config agree on what ends an answer. The weights are in ordinary memory, from where the trainer moves
    them. Raises UserError with what to do.
    """
    folder = located(model)
    loaded = whole(folder)
    tokenizer = _tokenizer(folder)
    agree(loaded, tokenizer, folder)
    freeze(loaded)
    return loaded, tokenizer


def located(model: str) -> Path:
    """Return the folder of a model's files, a Hugging Face id's or `model` itself; what is not here yet
    is downloaded.

    The folder, not the id, goes to the trainer: it loads the reference of the KL penalty a second time
    by the name of the first. Raises UserError.
    """
    try:
        if is_id(model):
            model = str(downloaded(model) or _fetched(model))
        return found_weights(model).resolve()
    except WeightsError as error:
        raise UserError(str(error)) from error


def out_of_reach(model: str) -> str:
    """Return what to do about a Hugging Face id that is not here, where the network may not be used."""
    return (
        f"{model} is not on this machine, and HF_HUB_OFFLINE is set: where there is a network, "
        f"hf download {model}"
    )


def _fetched(model: str) -> Path:
    """Download a model and return its folder. Raises UserError."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    if offline():
        raise UserError(out_of_reach(model))
    try:
        HfApi().model_info(model, timeout=PROBE_S)
        return Path(snapshot_download(model, allow_patterns=list(FILES)))
    except HfHubHTTPError as error:
        raise UserError(
            f"{model} is no folder here, and Hugging Face refuses it ({_first_line(error)}): check the "
            "name, and accept its licence and hf auth login where it asks for that"
        ) from error
    except Exception as error:  # no network, in whichever words, or no name of a model
        raise UserError(
            f"{model} is no folder here and cannot be downloaded ({_first_line(error)}): where there "
            f"is a network, hf download {model}, or give a folder with --model"
        ) from error


def whole(folder: Path, architecture: Any = None) -> Any:
    """Return the model in `folder`, every weight of which came from there, in float32.

    `architecture` is a class of transformers; None: what the folder's configuration says. Raises
    UserError that names weights that were initialised anew, are of another shape, or could not be read.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    try:
        model, found = (architecture or AutoModelForCausalLM).from_pretrained(
            folder,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # so that they are listed, not raised
            local_files_only=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise UserError(f"the model in {folder} cannot be loaded: {_first_line(error)}") from error
    if trouble := _trouble(found):
        raise UserError(
            f"{folder} does not hold all of a {type(model).__name__}, and the rest would be random: "
            f"{trouble}. Is its config.json that of these weights, and is every file there?"
        )
    return model


def freeze(model: Any) -> None:
    """Let the language model learn, and nothing else: no encoder of images or sound, no projection."""
    import torch

    head = model.get_output_embeddings()
    own = {id(p) for part in (model.get_decoder(), head) if part is not None for p in part.parameters()}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(id(parameter) in own)
        if parameter.requires_grad and parameter.dtype != torch.float32:
            raise UserError(f"{name} is {parameter.dtype}, and training keeps its weights in float32")


def check_context(model: Any, tokens: int) -> None:
    """Raise UserError where dialogues of so many tokens are longer than the model takes: at play it
    would overrun its context where it did not in training."""
    context = model.config.get_text_config().max_position_embeddings
    if context < tokens:
        raise UserError(
            f"{model.config.name_or_path} takes dialogues of up to {context:,} tokens, and the recipe "
            f"has {tokens:,}: begin another run, whose dialogues will be as long as the model takes"
        )


def trainable(model: Any) -> int:
    """Return how many parameters learn; tied ones count once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def agree(model: Any, tokenizer: Any, folder: Path) -> None:
    """Make model and tokenizer agree on what ends an answer and what pads, where one of them is silent.

    What ends an answer: :class:`agents.local.tokens.ChatTokens`. A tokenizer without an end takes what
    ends an answer in its chat template; one without padding pads with that. What the model's generation
    config says of sampling is dropped, as at play: it would be taken for all that a run leaves open,
    such as `min_p`. Raises UserError where nothing ends an answer, or no conversation can be held.
    """
    from transformers import GenerationConfig

    try:
        chat = ChatTokens(tokenizer, stops_of(model.generation_config))
    except TemplateError as error:
        raise UserError(f"{folder}: {error}") from error
    model.generation_config = GenerationConfig(
        eos_token_id=sorted(chat.stops), pad_token_id=model.generation_config.pad_token_id
    )
    if tokenizer.eos_token_id is None:
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(chat.close)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token


def _tokenizer(folder: Path) -> Any:
    """Return the tokenizer; not the processor that multimodal models have, which reads other input."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, padding_side="left", local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder} has no readable tokenizer ({_first_line(error)}): save it beside the weights"
        ) from error


def _trouble(found: Mapping[str, Any]) -> str:
    """Return what loading found wrong, in words; empty: nothing. Tied weights are not missing."""
    mismatched = {name for name, *_ in found["mismatched_keys"]}
    said = [
        f"{len(names)} weights {what}, such as {', '.join(sorted(names)[:SHOWN])}"
        for what, names in (
            ("are missing", set(found["missing_keys"]) - mismatched),
            ("have another shape", mismatched),
        )
        if names
    ]
    return "; ".join([*said, *map(str, found["error_msgs"])])


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
