"""Users' mistakes, under the name that commands raise them by."""

from arena.errors import UserError

__all__ = ["UserError"]
