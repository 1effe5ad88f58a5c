"""Files that a user names: read as the library reads them (src/base/text/file.hpp), and written whole or not at all."""

import os
import stat

from stretto.errors import Failure
from stretto.storage.output import new_file

LONGEST = 4 << 20
KINDS = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))


def read(path, what):
    """The bytes of a regular file of at most LONGEST. Anything else (a FIFO, a device) is refused without waiting, in words that begin with `what`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                kind = next((name for is_kind, name in KINDS if is_kind(mode)), "a device")
                raise Failure(f"{what} {path} is {kind}, no regular file")
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(LONGEST + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Failure(f"{what} {path}: {error.strerror}") from None
    if len(content) > LONGEST:
        raise Failure(f"{what} {path} has more than the {LONGEST} bytes that are read")
    return content


def write(path, content):
    """Writes text or bytes. A former file stays as it is until the new one is on the disk; devices and pipes are written at once. OSError."""
    content = content.encode() if isinstance(content, str) else content
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        regular = True
    if not regular:
        with open(path, "wb") as file:
            file.write(content)
        return
    with new_file(path, replace=True) as made, open(made.descriptor, "wb", closefd=False) as file:
        file.write(content)
