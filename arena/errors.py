"""What a user can mend: one exception whose message says what is wrong and what to do."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class UserError(Exception):
    """Something the user did or can mend. The message is one or two sentences for that user.

    Every part of the arena that finds a mistake of the user's raises this (or a subclass); the command
    line prints the message without a traceback and exits with status 2.
    """


def mistakes(error: "ValidationError") -> str:
    """Return what does not hold together in a user's file or options, each with its field."""
    found = []
    for detail in error.errors():
        parts = [str(part) for part in detail["loc"] if not str(part).startswith("_")]
        message = "no such field" if detail["type"] == "extra_forbidden" else detail["msg"]
        message = message.removeprefix("Value error, ")
        found.append(f"{'.'.join(parts)}: {message}" if parts else message)
    return "; ".join(dict.fromkeys(found))
