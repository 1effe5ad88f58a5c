"""What a user of the command is told instead of a traceback, and the exceptions of the library."""


def printable(text):
    """`text` for a terminal: its lines, and control characters in them escaped."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


class Failure(Exception):
    """Something that the user can mend. `status` is the exit status: 2 for what was asked, 1 for what went wrong on the way."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


class StrettoError(Exception):
    """A failure of the library. `status` is the C interface's name of it, such as "invalid_bound"; the message names the offending values."""

    status = "internal"


class ArgumentError(StrettoError, ValueError):
    """A value outside its range or enum, a buffer of the wrong size, two ranks with one number."""

    status = "invalid_argument"


class BoundError(StrettoError, ValueError):
    """A bound that is not finite and positive, is missing, is given twice, or that no grid can hold."""

    status = "invalid_bound"


class BufferTooSmallError(StrettoError, ValueError):
    """The output does not fit."""

    status = "buffer_too_small"


class StreamError(StrettoError, ValueError):
    """Bytes that are no stream, or a truncated or altered stream."""

    status = "corrupt_stream"


class IncompatibleError(StrettoError, ValueError):
    """Ranks that called differently, or streams that do not combine."""

    status = "incompatible"


class StreamOverflowError(StrettoError, OverflowError):
    """The exact result does not fit the widest code, or its type."""

    status = "overflow"


class UnsupportedError(StrettoError, NotImplementedError):
    """A legal request that this operation or this build does not offer."""

    status = "unsupported"


class NoMemoryError(StrettoError, MemoryError):
    """No memory, here or on another rank."""

    status = "out_of_memory"


class WaitTimeoutError(StrettoError, TimeoutError):
    """A wait reached its limit; the message says who is missing. The communicator is unusable from then on."""

    status = "timeout"


class CarrierError(StrettoError, RuntimeError):
    """The MPI, or UCX, returned an error; or a rank has ended."""

    status = "mpi_error"


class InternalError(StrettoError, RuntimeError):
    """A broken invariant of stretto itself; please report it."""


# In the order of stretto_status, from 1 on.
BY_STATUS = (ArgumentError, BoundError, BufferTooSmallError, StreamError, IncompatibleError, StreamOverflowError, UnsupportedError, NoMemoryError,
             WaitTimeoutError, CarrierError, InternalError)


def of_status(status, message):
    """The exception of a status of the C interface."""
    return (BY_STATUS[status - 1] if 1 <= status <= len(BY_STATUS) else InternalError)(message)
