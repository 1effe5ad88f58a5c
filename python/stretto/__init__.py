"""stretto: collectives and streams of numbers, narrow within a bound that you give.

    s = stretto.compress(x, abs=1e-3)        # a Stream: every value within 1e-3
    y = (s + t).decompress()                 # sums of streams are exact in their codes
    out, report = stretto.Comm(MPI.COMM_WORLD).allreduce(x, rel=1e-4)

docs/python.md has more. The command is `stretto` (or `python -m stretto`); it starts the C++ programs that measure and predict.
"""

import importlib
import pathlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stretto.api.collectives import IN_PLACE, Comm
    from stretto.api.options import CallOptions
    from stretto.api.ranks import communication_cores, init, threads
    from stretto.api.report import Report
    from stretto.api.requests import Request
    from stretto.api.streams import Stream, compress, concatenate, sum
    from stretto.storage.array import Array
    from stretto.storage.container import File, load, open, save
    from stretto.errors import (ArgumentError, BoundError, BufferTooSmallError, CarrierError, IncompatibleError, InternalError, NoMemoryError, StreamError,
                                StreamOverflowError, StrettoError, UnsupportedError, WaitTimeoutError)

    __version__: str

# The public names of the package, for people and type checkers, in the order of sorted().
__all__ = [
    "ArgumentError", "Array", "BoundError", "BufferTooSmallError", "CallOptions", "CarrierError", "Comm", "File", "IN_PLACE", "IncompatibleError", "InternalError",
    "NoMemoryError", "Report", "Request", "Stream", "StreamError", "StreamOverflowError", "StrettoError", "UnsupportedError", "WaitTimeoutError",
    "communication_cores", "compress", "concatenate", "init", "load", "open", "save", "sum", "threads",
]

# Loaded on first use: the command needs neither NumPy nor the extension.
_WHERE = {
    **dict.fromkeys(("Comm", "IN_PLACE"), "stretto.api.collectives"),
    **dict.fromkeys(("communication_cores", "init", "threads"), "stretto.api.ranks"),
    "CallOptions": "stretto.api.options",
    "Report": "stretto.api.report",
    "Request": "stretto.api.requests",
    **dict.fromkeys(("Stream", "compress", "concatenate", "sum"), "stretto.api.streams"),
    "Array": "stretto.storage.array",
    **dict.fromkeys(("File", "load", "open", "save"), "stretto.storage.container"),
    **dict.fromkeys(("ArgumentError", "BoundError", "BufferTooSmallError", "CarrierError", "IncompatibleError", "InternalError", "NoMemoryError", "StreamError",
                     "StreamOverflowError", "StrettoError", "UnsupportedError", "WaitTimeoutError"), "stretto.errors"),
}


def _version():
    """That of stretto.h: in a checkout the header's, else what the header said when the package was made."""
    header = pathlib.Path(__file__).resolve().parents[2] / "include" / "stretto" / "stretto.h"
    if header.is_file():
        return ".".join(re.findall(r"^#define STRETTO_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text(encoding="utf-8"), re.MULTILINE))
    from importlib.metadata import version  # noqa: PLC0415  it takes as long as all else here

    return version("stretto")


if not TYPE_CHECKING:  # a name that is not there is an error for a type checker, too

    def __getattr__(name):
        if name == "__version__":
            value = _version()
        elif name in _WHERE:
            value = getattr(importlib.import_module(_WHERE[name]), name)
        else:
            raise AttributeError(f"module 'stretto' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__():
    return sorted({*globals(), *__all__, "__version__"})
