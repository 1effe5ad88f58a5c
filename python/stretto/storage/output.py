"""New files and directories that appear whole or not at all: written beside their place under another name, and renamed at the end."""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import shutil
import stat


class Output:
    """A file that takes its name at `keep()`; `drop()` leaves nothing behind. `replace`: whether one of that name may be there."""

    def __init__(self, path, replace):
        self.path, self.replace = pathlib.Path(os.path.realpath(path)), replace
        if not replace and os.path.lexists(self.path):
            raise FileExistsError(f"{path} is there already")
        self.parts = self.path.parent / f".{self.path.name}.{secrets.token_hex(4)}.part"  # no name that a killed program may have left
        self._begin()

    def _begin(self):
        self._mode = self._former_mode()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self.descriptor = os.open(self.parts, flags, 0o666 if self._mode is None else self._mode | 0o600)  # HDF5 opens it by its name
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(self.path)) from None

    def _former_mode(self):
        """Who may read and write the file that is replaced; None where there is none."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return stat.S_IMODE(found.st_mode) & 0o777 if stat.S_ISREG(found.st_mode) else None

    def __reduce__(self):
        raise TypeError(f"{self.path} is being written; its Output is not copied, for its descriptor has one owner")

    def keep(self):
        """The file is on the disk, and has its name. FileExistsError where another came meanwhile that may not be replaced."""
        try:
            if self._mode is not None:
                with contextlib.suppress(OSError):  # file systems without modes
                    os.fchmod(self.descriptor, self._mode)
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
            self._sync_directory()
        except BaseException:
            self.drop()
            raise
        self._close()

    def _sync_directory(self):
        """The name, too, is on the disk, where the file system can say so."""
        with contextlib.suppress(OSError):  # a directory that may be written but not read, or file systems that refuse it
            directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    def drop(self):
        with contextlib.suppress(OSError):
            os.unlink(self.parts)
        self._close()

    def _close(self):
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class Directory(Output):
    """A directory that takes its name at `keep()`, as an Output does. `replaceable(path)`: whether one that is there may be replaced at all."""

    def __init__(self, path, replace, replaceable):
        self._replaceable = replaceable
        super().__init__(path, replace)

    def _begin(self):
        self._check()
        try:
            os.mkdir(self.parts)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(self.path)) from None

    def _check(self):
        if self.replace and os.path.lexists(self.path) and not self._replaceable(self.path):
            raise FileExistsError(f"{self.path} is no directory of this kind, and is never replaced. If it may be lost, remove it")

    def keep(self):
        """The directory has its name. FileExistsError where another came meanwhile that may not be replaced."""
        former = None
        try:
            for folder, _, names in os.walk(self.parts):
                for name in names:
                    descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC)
                    os.fsync(descriptor)
                    os.close(descriptor)
            self._check()
            if os.path.lexists(self.path):
                if not self.replace:
                    raise FileExistsError(f"{self.path} came meanwhile")
                former = self.parts.with_suffix(".former")
                os.rename(self.path, former)
            try:
                os.rename(self.parts, self.path)
            except BaseException:
                if former:
                    os.rename(former, self.path)
                raise
            self._sync_directory()
        except BaseException:
            self.drop()
            raise
        if former:
            shutil.rmtree(former, ignore_errors=True)

    def drop(self):
        shutil.rmtree(self.parts, ignore_errors=True)


def new_directory(path, replace, replaceable):
    """A Directory that is kept where the block ends well."""
    return _kept(Directory(path, replace, replaceable))


def new_file(path, replace):
    """An Output that is kept where the block ends well."""
    return _kept(Output(path, replace))


@contextlib.contextmanager
def _kept(output):
    try:
        yield output
    except BaseException:
        output.drop()
        raise
    output.keep()
