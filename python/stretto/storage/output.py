"""New files and directories that appear whole or not at all: written beside their place under another name, and renamed at the end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import secrets
import shutil
import stat

from stretto.errors import ArgumentError

TURNS = 100  # most files that are opened under one name until the locked one has that name still


def lock(descriptor, path):
    """Keeps other writers of `path` away until the descriptor is closed or unlocked. ArgumentError where one is at work."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ArgumentError(f"{path} is open elsewhere, for writing") from None
    except OSError:  # a file system without locks
        pass


def unlock(descriptor):
    """Ends a lock although a forked child may have the descriptor, too."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_at(descriptor, path):
    """Whether the descriptor's file is the one at `path`, which may have been replaced or removed since it was opened."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except OSError:
        return False


def never_locked(path):
    """The error of a path that had another file after each of the TURNS."""
    return ArgumentError(f"{path} is replaced again and again while it is opened, or its file system tells of another file than it opens")


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


class LockedOutput(Output):
    """An Output of which there is one at a time for each name: ArgumentError where another is at work, in this program or another.

    The locks are on its parts, whose name all writers use, and on the file that is replaced, which a program may be adding to.
    """

    def _begin(self):
        self._replaced = self._lock_replaced()
        try:
            token = self.parts
            self.parts = self.path.parent / f".{self.path.name}.part"
            while os.path.lexists(self.parts):
                if not self._remove_leftover():
                    self.parts = token
                    break
            super()._begin()
            try:
                lock(self.descriptor, self.path)
                if not is_at(self.descriptor, self.parts):  # another took it for a leftover before it was locked
                    raise ArgumentError(f"{self.path} is open elsewhere, for writing")
            except BaseException:
                super()._close()
                raise
        except FileExistsError:
            self._unlock_replaced()
            raise ArgumentError(f"{self.path} is open elsewhere, for writing") from None
        except BaseException:
            self._unlock_replaced()
            raise

    def _remove_leftover(self):
        """Removes the parts that a killed program left; whether they are gone. ArgumentError where a program is at work on them."""
        flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            try:
                descriptor, others = os.open(self.parts, flags | os.O_RDWR), False
            except PermissionError:  # another user's, who may be at work
                descriptor, others = os.open(self.parts, flags | os.O_RDONLY), True
        except FileNotFoundError:
            return True
        except OSError:  # no file, or one whose lock cannot be asked for
            return False
        try:
            lock(descriptor, self.path)
            if is_at(descriptor, self.parts):
                if others:
                    return False
                os.unlink(self.parts)
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def _lock_replaced(self):
        """A locked descriptor of the file that is replaced; -1 where there is none, or none that can be opened."""
        if not self.replace:
            return -1
        for _ in range(TURNS):
            descriptor = self._open_replaced()
            if descriptor < 0:
                return -1
            try:
                lock(descriptor, self.path)
                if is_at(descriptor, self.path):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # a writer replaced the file before it was locked
        raise never_locked(self.path)

    def _open_replaced(self):
        for flags in (os.O_RDWR, os.O_RDONLY) if os.path.isfile(self.path) else ():  # locks of network file systems need the former
            with contextlib.suppress(OSError):
                return os.open(self.path, flags | os.O_CLOEXEC | os.O_NONBLOCK)
        return -1

    def _unlock_replaced(self):
        if self._replaced >= 0:
            unlock(self._replaced)
            os.close(self._replaced)
            self._replaced = -1

    def drop(self):
        if is_at(self.descriptor, self.parts):  # else they have their name already, and others may use that of the parts
            super().drop()
        else:
            self._close()

    def forget(self):
        """Closes a forked child's copies of the descriptors; parts and locks stay its parent's."""
        super()._close()
        if self._replaced >= 0:
            os.close(self._replaced)
            self._replaced = -1

    def _close(self):
        if self.descriptor >= 0:
            unlock(self.descriptor)
        super()._close()
        self._unlock_replaced()


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
