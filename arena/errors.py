"""What a user can mend: one exception whose message says what is wrong and what to do."""


class UserError(Exception):
    """Something the user did or can mend. The message is one or two sentences for that user.

    Every part of the arena that finds a mistake of the user's raises this (or a subclass); the command
    line prints the message without a traceback and exits with status 2.
    """
