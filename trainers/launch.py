"""The commands that start a run: `arena train`, accelerate for several GPUs, a server for vLLM."""

import shlex
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from trainers.sizes import Launcher

PER_MACHINE = 8
"""GPUs of one machine, where more are needed than are here."""
MODULE = ("--module", "arena.cli", "train")
PORT = 8000
SERVER_URL = f"http://HOST:{PORT}"
"""Stands where a vLLM server's address has to be given; HOST is the machine that it runs on."""
MEETING_PORT = "29500"
BARE = "url"
"""Of `given`: what stands alone, after ``--vllm server``."""


def configuration(launcher: Launcher) -> Path:
    """Return accelerate's configuration file that TRL ships, or will once it is installed here."""
    found = find_spec("trl")
    folder = Path(found.origin).parent if found and found.origin else None
    if folder is None:
        folder = Path(sysconfig.get_path("purelib")) / "trl"
    return folder / "accelerate_configs" / f"{launcher}.yaml"


def arguments(given: Mapping[str, object]) -> list[str]:
    """Return the options of `arena train` that say `given` again, by the names that the command has."""
    found: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if name == BARE and value is not None:
            found.append(str(value))
        elif isinstance(value, list | tuple):
            found += [option, ",".join(map(str, value))]
        elif value is True:
            found.append(option)
        elif value is not None and value is not False:
            found += [option, str(value)]
    return found


def launched(launcher: Launcher, processes: int, machines: int, options: Sequence[str]) -> list[str]:
    """Return what starts `processes` on this machine; on several, the same is started on each, with its
    own rank and the first one's address in place of RANK and ADDRESS."""
    start = ["accelerate", "launch"]
    if launcher != "none":
        start += ["--config_file", str(configuration(launcher))]
    start += ["--num_processes", str(processes)]
    if machines > 1:
        start += ["--num_machines", str(machines), "--machine_rank", "RANK"]
        start += ["--main_process_ip", "ADDRESS", "--main_process_port", MEETING_PORT]
    return [*start, *MODULE, *options]


def served(model: str, tensor_parallel: int, url: str, tokens: int) -> list[str]:
    """Return what serves a model by vLLM so that a trainer can replace its weights, on GPUs that are not
    trained on."""
    port = urlsplit(url).port or PORT
    return [
        *("trl", "vllm-serve", "--model", model, "--tensor-parallel-size", str(tensor_parallel)),
        *("--max-model-len", str(tokens), "--port", str(port)),
    ]


def runnable(command: Sequence[str]) -> list[str]:
    """Return an `accelerate launch` so that this interpreter's own accelerate runs it."""
    assert list(command[:2]) == ["accelerate", "launch"]
    return [sys.executable, "-m", "accelerate.commands.launch", *command[2:]]


def shown(command: Sequence[str]) -> str:
    """Return a command as it is typed in a shell."""
    return shlex.join(command)
