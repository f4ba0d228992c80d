"""What every benchmark does with its figures."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def show(table: str, result: Mapping[str, Any]) -> None:
    """Print the table; write the figures as JSON to the file that ARENA_BENCHMARKS names, if it does."""
    print(table)
    if path := os.environ.get("ARENA_BENCHMARKS"):
        Path(path).write_text(json.dumps(result, indent=1) + "\n")
