"""What runs on this machine."""

from pathlib import Path


def gone(pid: int) -> bool:
    """Return whether a process has ended (one that only waits to be collected has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
