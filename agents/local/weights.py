"""Weights on disk: where they are, and the hash that says which they are.

A folder of weights is what `save_pretrained` of a model and its tokenizer writes: safetensors,
configuration, tokenizer. Nothing here needs torch or the network.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from scenarios.canonical import digest

BESIDE = (
    *("config.json", "generation_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"),
    *("tokenizer.model", "vocab.json", "merges.txt", "added_tokens.json"),
)
"""Files beside the safetensors that decide what a model answers."""
PIECE = 64 * 2**20
"""Bytes that are hashed at a time; pieces are hashed concurrently."""
INSTALL = "pip install 'bargaining-arena[train]'"


_OTHERS = (
    "{} now holds other weights ({}) than were registered ({}): they were overwritten; put the old ones "
    "back, or register the new"
)


class WeightsError(ValueError):
    """Weights that are not there, not whole, or not those that were asked for; says what to do."""


class Weights(NamedTuple):
    """Weights on this machine: where they lie, and the hash that they must have."""

    folder: Path
    revision: str


def check(weights: Weights) -> None:
    """Raise WeightsError unless the weights are there and are those that are meant."""
    found = weights_hash(weights.folder)
    if found != weights.revision:
        raise WeightsError(_OTHERS.format(weights.folder, found, weights.revision))


def weights_hash(folder: str | Path) -> str:
    """Return twelve hexadecimal digits that name the weights in `folder`: their bytes, nothing else.

    The digest of a list of [file name, size, SHA-256 of each piece of 64 MiB] in the order of file
    names, over the folder's ``*.safetensors`` and those of :data:`BESIDE` that it has. Optimizer states,
    logs and dates do not count, nor does the place of the folder. Raises WeightsError where there are no
    such weights.
    """
    files = _files(Path(folder))
    return _hash(tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files))


def check_file(file: Path, revision: str) -> None:
    """Raise WeightsError unless the weights in one file are there and are those that are meant."""
    found = file_hash(file)
    if found != revision:
        raise WeightsError(_OTHERS.format(file, found, revision))


def file_hash(file: Path) -> str:
    """Return the SHA-256 of weights in one file, such as a GGUF: 64 hexadecimal digits, which model hubs
    show, too. Raises WeightsError where it is not there."""
    try:
        found = file.stat()
    except OSError as error:
        raise WeightsError(
            f"there is no file {file}: check the path; if it was registered, it was moved or deleted"
        ) from error
    return _file_hash(str(file), found.st_size, found.st_mtime_ns)


def found_weights(weights: str) -> Path:
    """Return the folder that `weights` means: a folder, or a Hugging Face id that was downloaded.

    Nothing is downloaded. Raises WeightsError where there is nothing, or no weights to converse with.
    """
    if is_id(weights):
        found = downloaded(weights)
        if found is None:
            raise WeightsError(
                f"{weights} is no folder here and was not downloaded: hf download {weights}"
            )
        folder = found
    else:
        folder = Path(weights).expanduser()
    _files(folder)
    for needed in ("config.json", "tokenizer_config.json"):
        if not (folder / needed).is_file():
            raise WeightsError(f"{folder} has no {needed}: save model and tokenizer with it")
    templates = [folder / "chat_template.jinja", folder / "tokenizer_config.json"]
    if not templates[0].is_file() and "chat_template" not in _json(templates[1]):
        raise WeightsError(f"{folder} has no chat template: an instruction-tuned model is needed")
    return folder


def downloaded(weights: str) -> Path | None:
    """Return the folder that a Hugging Face id was downloaded to; None where it was not, or none of its
    safetensors were.

    Raises WeightsError where the library that knows is not installed.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError as error:
        raise WeightsError(f"{weights} is a Hugging Face id, which needs {INSTALL}") from error
    try:
        folder = Path(snapshot_download(weights, local_files_only=True))
    except (LocalEntryNotFoundError, ValueError):  # ValueError: it is no name that a model can have
        return None
    return folder if any(folder.glob("*.safetensors")) else None


def is_id(weights: str) -> bool:
    """Return whether `weights` has the form of a Hugging Face id, owner/name, and is no folder here."""
    owner, slash, name = weights.partition("/")
    plain = bool(slash and owner and name) and "/" not in name and not weights.startswith((".", "~"))
    return plain and not Path(weights).exists()


def model_type(folder: Path) -> str:
    """Return the kind of model in `folder`, as its configuration calls it, such as gemma4."""
    return str(_json(folder / "config.json").get("model_type") or "model")


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise WeightsError(
            f"there is no folder {folder}: check the path; if it was registered, its weights were moved "
            "or deleted"
        )
    tensors = sorted(folder.glob("*.safetensors"))
    if not tensors:
        raise WeightsError(f"{folder} holds no *.safetensors: is it the folder of a checkpoint?")
    beside = [folder / name for name in BESIDE if (folder / name).is_file()]
    return sorted([*tensors, *beside], key=lambda path: path.name)


@lru_cache(64)
def _hash(files: tuple[tuple[str, int, int], ...]) -> str:
    """Hash files, given with size and time of change, so that unchanged ones are read once."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        content = [
            [Path(path).name, size, list(threads.map(_piece, *zip(*_pieces(path, size), strict=True)))]
            for path, size, _ in files
        ]
    return digest(content, 12)


@lru_cache(64)
def _file_hash(path: str, size: int, changed: int) -> str:
    """Hash a file, given with size and time of change, so that an unchanged one is read once."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pieces(path: str, size: int) -> Iterator[tuple[str, int]]:
    for start in range(0, max(size, 1), PIECE):
        yield path, start


def _piece(path: str, start: int) -> str:
    with open(path, "rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(PIECE)).hexdigest()


def _json(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path} cannot be read: {error}") from error
    return content if isinstance(content, dict) else {}
