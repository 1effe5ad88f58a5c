"""What the user is told instead of a traceback."""


def printable(text):
    """`text` for a terminal: its lines, and control characters in them escaped."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


class Failure(Exception):
    """Something that the user can mend. `status` is the exit status: 2 for what was asked, 1 for what went wrong on the way."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status
