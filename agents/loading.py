"""Who is told when a library is imported that takes seconds."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

shown: Callable[[str], AbstractContextManager[object]] = nullcontext
"""Entered with the library's name for as long as its import takes. The command line sets it."""
