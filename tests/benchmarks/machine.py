"""On what it was measured: the machine, and the versions of what decides the figures."""

import os
import platform
import sqlite3
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.benchmarks.running import ROOT

PACKAGES = (
    *("numpy", "scipy", "msgspec", "SQLAlchemy", "psycopg", "litellm"),
    *("ray", "torch", "transformers", "trl"),
)


def machine() -> dict[str, str]:
    """Return what the machine is and how busy, in words."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": f"{_processor()}, {usable} of {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "system": f"{_distribution()}, {platform.system()} {platform.release()}",
        "load before": f"{os.getloadavg()[0]:.1f}",
    }


def versions() -> dict[str, str]:
    """Return the versions of this project's commit, of Python, and of the packages that are here."""
    found = {"Bargaining Arena": commit(), "Python": platform.python_version()}
    found["SQLite"] = sqlite3.sqlite_version
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Return the release and, in a clone, the commit, and whether files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty=, changed"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return ", ".join(filter(None, [version("bargaining-arena"), done.stdout.strip()]))


def _processor() -> str:
    """Return the name of the processor, as Linux has it, else as Python knows it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()
