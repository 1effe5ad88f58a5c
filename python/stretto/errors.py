"""What the user is told instead of a traceback."""


class Failure(Exception):
    """Something that the user can mend. `status` is the exit status: 2 for what was asked, 1 for what went wrong on the way."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status
