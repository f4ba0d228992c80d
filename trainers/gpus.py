"""Which GPUs this machine has, asked of the driver, so that a plan needs no torch."""

import os
import shutil
import subprocess
from dataclasses import dataclass

PATIENCE_S = 10.0


@dataclass(frozen=True)
class Gpu:
    """One GPU: its name and its memory in GB (10^9 bytes)."""

    name: str
    gb: float


def gpus_found() -> list[Gpu]:
    """Return the NVIDIA GPUs that processes may use here; none where the driver does not answer."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
        done = subprocess.run(query, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    found = [gpu for line in done.stdout.splitlines() if (gpu := _gpu(line)) is not None]
    return _visible(found, os.environ.get("CUDA_VISIBLE_DEVICES"))


def _gpu(line: str) -> Gpu | None:
    name, _, mebibytes = line.rpartition(",")
    try:
        return Gpu(name.strip(), float(mebibytes) * 2**20 / 1e9)
    except ValueError:  # a GPU in a state in which it tells nothing
        return None


def _visible(gpus: list[Gpu], chosen: str | None) -> list[Gpu]:
    """Return those that CUDA_VISIBLE_DEVICES names: numbers, or names of GPUs, of which only the count
    matters here; CUDA stops reading at the first that it does not know."""
    if chosen is None:
        return gpus
    found = []
    for name in filter(None, (part.strip() for part in chosen.split(","))):
        if name.lstrip("-").isdigit():
            if not 0 <= int(name) < len(gpus):
                break
            found.append(gpus[int(name)])
        elif gpus:
            found.append(gpus[min(len(found), len(gpus) - 1)])
    return found
