"""New files that appear whole or not at all: written beside their place under another name, and renamed at the end."""

from __future__ import annotations

import contextlib
import os
import pathlib


class Output:
    """A file that takes its name at `keep()`; `drop()` leaves nothing behind. `replace`: whether one of that name may be there."""

    def __init__(self, path, replace):
        self.path, self.replace = pathlib.Path(os.path.realpath(path)), replace
        if not replace and os.path.lexists(self.path):
            raise FileExistsError(f"{path} is there already")
        self.parts = self.path.parent / f".{self.path.name}.{os.getpid()}.part"
        try:
            self.descriptor = os.open(self.parts, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(self.path)) from None

    def keep(self):
        """The file is on the disk, and has its name. FileExistsError where another came meanwhile that may not be replaced."""
        try:
            os.fsync(self.descriptor)
            if self.replace:
                os.replace(self.parts, self.path)
            else:
                try:
                    os.link(self.parts, self.path)
                except FileExistsError:
                    raise FileExistsError(f"{self.path} came meanwhile") from None
                except OSError:  # a file system without links
                    os.rename(self.parts, self.path)
                else:
                    os.unlink(self.parts)
        except BaseException:
            self.drop()
            raise
        self._close()

    def drop(self):
        with contextlib.suppress(OSError):
            os.unlink(self.parts)
        self._close()

    def _close(self):
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


@contextlib.contextmanager
def new_file(path, replace):
    """An Output that is kept where the block ends well."""
    output = Output(path, replace)
    try:
        yield output
    except BaseException:
        output.drop()
        raise
    output.keep()
