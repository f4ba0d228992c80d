"""LiteLLM as it is imported: in a process that has not met it, whatever is called first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import asyncio, os, socket, sys

def refuse(self, address):
    asked.append(address[1])
    raise ConnectionRefusedError("no network here")

asked, connect = [], socket.socket.connect
socket.socket.connect = refuse

from agents.language_model import gateway, model_spec
from agents.language_model.sent import Reader
from agents.spec import Connection

gateway._backoff = lambda state: 0.0
assert "litellm" not in sys.modules
MESSAGES = [{"role": "user", "content": "u"}]
HERE = Connection(api_base="http://127.0.0.1:9/v1", input_usd_per_million=1, output_usd_per_million=1)
"""
"""Nothing leaves the process, and what it tried to reach is kept."""
CALL = """
from contextlib import contextmanager

from agents import loading

@contextmanager
def shown(library):
    assert "litellm" not in sys.modules
    yield told.append(library)
    assert "litellm" in sys.modules

told, loading.shown = [], shown

def call(*given):
    assert "litellm" in sys.modules, "its import would take the call's time"
    return sent(*given)

sent, gateway.call = gateway.call, call
try:
    asyncio.run(gateway.Gateway().complete(model_spec("openai/m"), HERE, MESSAGES))
except Exception as error:
    assert "cannot reach" in str(error), error
assert asked and set(asked) == {9}, asked
assert told == ["LiteLLM"]
"""
READ = """
assert Reader(model_spec("openai/m")).body({"top_p": 0.5})["top_p"] == 0.5
assert not asked, asked
"""
CANCEL = """
async def main(model):
    for ticks in range(1, 30):
        asks = gateway.Gateway()
        task = asyncio.create_task(asks.complete(model_spec(model), HERE, MESSAGES))
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

for model in ("openai/m", "azure/m", "hosted_vllm/m"):
    asyncio.run(main(model))
"""
"""A run's end at many moments: what LiteLLM has not begun by then, it leaves behind."""


ODD = """
from agents.language_model.provider import call
from agents.language_model.request import Request
from tests.agents.language_model.scripted_api import chat, scripted_api

socket.socket.connect = connect
with scripted_api() as api:
    for content in (5, ["a"], {"a": 1}, "well"):
        for usage in ({"prompt_tokens": "many"}, {"prompt_tokens": 1, "completion_tokens": [2]}):
            answer = chat()
            answer.body["choices"][0]["message"]["content"] = content
            answer.body["usage"] = usage
            api.answers = [answer]
            request = Request(model_spec("openai/m"), MESSAGES, None)
            try:
                asyncio.run(call(request, HERE, api.address, 30.0))
            except Exception as error:
                assert "sent no completion" in str(error), error
"""
"""Bodies of which Pydantic, asked by LiteLLM, warns with the values that they hold."""


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(CALL, id="call"),
        pytest.param(READ, id="read", marks=pytest.mark.slow),
        pytest.param(ODD, id="odd", marks=pytest.mark.slow),
        pytest.param(CANCEL, id="cancel", marks=pytest.mark.slow),
    ],
)
def test_litellm_is_quiet_asks_nobody_and_reads_no_env_file(tmp_path: Path, what: str) -> None:
    (tmp_path / ".env").write_text("FROM_A_FILE=1\n")
    code = START + what + 'assert "litellm" in sys.modules and "FROM_A_FILE" not in os.environ\n'
    root = str(Path(__file__).parents[3])
    hidden = {"LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_MODE"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=kept | {"PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
