"""Containers: arrays on disk as streams, with names, shapes, bounds and attributes. docs/format.md describes every byte (section 7)."""

from __future__ import annotations

import collections.abc
import errno
import math
import numbers
import operator
import os
import stat

import numpy as np

from stretto.api import arrays, streams
from stretto.api.core import _core
from stretto.api.streams import Stream
from stretto.errors import ArgumentError, BoundError, StreamError, UnsupportedError
from stretto.storage import elements, layout, settings
from stretto.storage.array import CHUNK, Array
from stretto.storage.output import TURNS, LockedOutput, is_at, lock, never_locked, unlock

MODES = ("r", "a", "w", "x")


def open(path, mode="r"):  # noqa: A001  as in h5py, zarr and netCDF4
    """The container at `path`, a File: use it in `with`.

    mode: "r" reads; "x" makes a new file; "w" makes one that may replace another; "a" adds to a file, or makes it. A new file takes its name when
      it is closed. What is added to a file counts from commit() or close() on; until then, and where the program ends before, the file has its former
      content.

    Raises StreamError, which says what is wrong, where the file is no container, is truncated or altered; OSError as the builtin open does;
    FileExistsError for "x"; ArgumentError where the file is open for writing already, here or in another program.
    """
    return File(path, mode)


def save(path, arrays_, *, abs=None, rel=None, ignore_above=None, marks=(), attributes=None, overwrite=False, threads=1,
         coding=None):  # noqa: A002
    """Writes arrays into a new container.

    arrays_: {name: array}, or one array, whose name is then "data". abs, rel: the bound of the floating ones, a number for all or {name: number}.
    Without a bound, and for integers, elements keep their bits; a bound by name for what takes none is a BoundError.
    marks: values that mark missing data in the floating ones, as of stretto.compress.
    coding: "shaped", "dense" or "fixed", as of File.add.
    overwrite: whether a file of that name may be replaced; else it is a FileExistsError.
    """
    named = arrays_ if isinstance(arrays_, collections.abc.Mapping) else {"data": arrays_}
    for bounds, word in ((abs, "abs"), (rel, "rel")):
        missing = set(bounds) - set(named) if isinstance(bounds, collections.abc.Mapping) else ()
        if missing:
            raise ArgumentError(f"{word} has a bound for {sorted(missing)[0]!r}, which is none of the arrays")
    with File(path, "w" if overwrite else "x") as file:
        file.attributes.update(attributes or {})
        for name, x in named.items():
            values = x if isinstance(x, Stream) else arrays.array(x, name)
            bound, takes_one = {}, values.dtype.kind in "fcV" and not isinstance(values, Stream)
            for word, of in (("abs", abs), ("rel", rel)):
                if isinstance(of, collections.abc.Mapping):
                    bound[word] = of.get(name)
                elif takes_one:
                    bound[word] = of
            file.add(name, values, **bound, ignore_above=ignore_above, marks=() if isinstance(values, Stream) else marks, threads=threads,
                     coding=None if isinstance(values, Stream) else coding)


def load(path, names=None, *, threads=1):
    """{name: array} of the arrays of a container, or of those that are named: by a list, or one by its name."""
    names = (names,) if isinstance(names, str) else names
    with File(path) as file:
        return {name: file[name].read(threads=threads) for name in (file if names is None else names)}


class File(collections.abc.Mapping):
    """A container. It maps names to Arrays; `attributes` is a dict of what is known beside them, kept at the end.

    close() keeps what was written. Left by an exception, `with` keeps nothing of it.
    """

    def __init__(self, path, mode="r"):
        if mode not in MODES:
            raise ArgumentError(f"mode is {mode!r}; it takes one of {', '.join(map(repr, MODES))}")
        self.path, self.mode, self._output, self._arrays, self.attributes = os.fspath(path), mode, None, {}, {}
        self._place = os.path.abspath(self.path)  # for copies that are opened after the program changed its directory
        self._process = os.getpid()  # a forked child's copy of this object has no say in the file
        if mode in "wx" or (mode == "a" and not os.path.lexists(self.path)):
            self._output = LockedOutput(self.path, mode == "w")
            self._descriptor, self._end = self._output.descriptor, layout.HEADER.size
            return
        self._descriptor = self._opened()
        try:
            if stat.S_ISDIR(os.fstat(self._descriptor).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.path)
            if mode == "a":
                self._lock()
            self._read()
            if mode == "a":
                os.ftruncate(self._descriptor, self._end)  # what an addition left that did not come to its end
        except BaseException:
            if self._descriptor >= 0:
                self._end_use()
            raise

    def _opened(self):
        return os.open(self.path, (os.O_RDONLY if self.mode == "r" else os.O_RDWR) | os.O_CLOEXEC | os.O_NONBLOCK)

    def _lock(self):
        """Opens the file again until the one that is locked has its name."""
        for _ in range(TURNS):
            lock(self._descriptor, self.path)
            if is_at(self._descriptor, os.path.realpath(self.path)):
                return
            os.close(self._descriptor)  # a writer replaced the file before it was locked
            self._descriptor = -1
            self._descriptor = self._opened()
        raise never_locked(self.path)

    def _read(self):
        try:
            for again in (True, True, False):
                try:
                    size = os.fstat(self._descriptor).st_size
                    offset, length, checksum = layout.read_header(os.pread(self._descriptor, layout.HEADER.size, 0), size)
                    break
                except StreamError:  # another program may be writing it at this moment
                    if not again:
                        raise
            entries, self.attributes = layout.read_index(self._bytes(offset, length, "the index"), offset, checksum)
        except StreamError as error:
            raise StreamError(f"{self.path}: {error}") from None
        self._end = offset + length
        self._arrays = {entry.name: Array(self, entry) for entry in entries}

    def _bytes(self, offset, length, what):
        found = []
        while length:
            part = os.pread(self._descriptor, min(length, 1 << 30), offset)
            if not part:
                raise StreamError(f"{what} is truncated: {length} bytes are missing")
            found.append(part)
            offset, length = offset + len(part), length - len(part)
        return found[0] if len(found) == 1 else b"".join(found)

    def _append(self, content):
        """Writes bytes at the end; where they lie."""
        view, at = memoryview(content), self._end
        while view:
            written = os.pwrite(self._descriptor, view, self._end)
            view, self._end = view[written:], self._end + written
        return at

    def __getitem__(self, name) -> Array:
        self._must_be_open()
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"{name!r}; {self.path} has {', '.join(map(repr, self._arrays)) or 'no array'}") from None

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    def __bool__(self):
        """Whether the file is open, with or without arrays."""
        return self._descriptor >= 0

    def __contains__(self, name):
        return name in self._arrays

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        self._must_be_open()
        return os.fstat(self._descriptor).st_size

    def add(self, name, x, *, abs=None, rel=None, ignore_above=None, marks=(), attributes=None, axes=None, chunk=CHUNK,
            threads=1, coding=None) -> Array:  # noqa: A002
        """A new array.

        x: what stretto.compress takes, arrays of all integers of 8 to 64 bits and booleans, or a Stream, which is kept as it is.
        abs, rel: the bound, as of stretto.compress. Without one, elements keep their bits. It holds for what is appended, too: where `x` has no range,
          as an empty array has none, `rel` keeps all values as they are.
        marks: values that mark missing data, as of stretto.compress; they hold for what is appended, too.
        attributes: a dict of text, numbers, arrays of numbers, and lists and dicts of them. axes: a name for each axis.
        chunk: bytes of values that are one stream, which is read as a whole.
        coding: how streams store codes: "dense", in half to five sixths of the bytes; "fixed", at three times the speed; "shaped", which predicts along
          several axes of each chunk where that saves bytes, two to five times as slow as dense: such an array has no Stream. None: dense within a bound, fixed
          where elements keep their bits.
        """
        settings.coding(coding)
        if isinstance(x, Stream):
            if coding is not None and coding != x.coding:
                raise ArgumentError(f"array {name!r} is a Stream, which is {x.coding}; coding={coding!r} has no meaning")
            if abs is not None or rel is not None:
                raise BoundError(f"array {name!r} is a Stream, which has its bound; abs and rel have no meaning")
            if len(marks):
                raise ArgumentError(f"array {name!r} is a Stream, whose values are what they are; marks have no meaning")
            return self._add_stream(name, x, attributes, axes)
        values = arrays.array(x, name)
        bounded = abs is not None or rel is not None
        eps, asked, marks = None, None, streams.marks_of(marks) if bounded else []
        if bounded and not elements.is_floating(values.dtype):
            raise self._lossless(name, values.dtype, abs if rel is None else rel)
        if bounded:
            values = arrays.readable(values, name)
            kind = arrays.type_of(values.dtype)[0]
            eps = streams.eps_of(values, kind, abs, rel, ignore_above, threads, marks)
            if not marks:
                streams.tell_of_suspect(values, kind, streams.kept_from(rel, ignore_above), "marks=[{:.9g}]")
            asked = f"abs:{abs}" if rel is None else f"rel:{rel}"
        made = self._begin(name, values.dtype, values.shape, eps, asked, attributes, axes, chunk, marks=marks)
        made._kept_from, made._coding = streams.kept_from(rel, ignore_above), coding
        try:
            made._put(values, threads)
            made._settle()
        except BaseException:
            self._arrays.pop(name, None)
            raise
        return made

    def create(self, name, shape, dtype, *, abs=None, marks=(), attributes=None, axes=None, chunk=CHUNK, coding=None) -> Array:  # noqa: A002
        """A new array without elements, for append().

        shape: of a row, that is of all axes but the first. The bound is an absolute one: a range is not known before all elements are.
        """
        dtype = np.dtype(dtype)
        shape = (0, *streams.shape_of(shape))
        eps = None if abs is None else self._absolute(name, dtype, abs)
        settings.coding(coding)
        made = self._begin(name, dtype, shape, eps, None if abs is None else f"abs:{abs}", attributes, axes, chunk,
                           marks=() if abs is None else streams.marks_of(marks))
        made._coding = coding
        return made

    @staticmethod
    def _lossless(name, dtype, bound):
        return BoundError(f"array {name!r} of {dtype} is lossless; a bound of {bound} has no meaning")

    @classmethod
    def _absolute(cls, name, dtype, bound):
        if not elements.is_floating(dtype):
            raise cls._lossless(name, dtype, bound)
        if not isinstance(bound, numbers.Real):
            raise TypeError(f"the bound of {name!r} is {bound!r}; it takes a number")
        if not (math.isfinite(bound) and bound > 0):
            raise BoundError(f"the bound of {name!r} is {bound}; a bound is finite and positive")
        return float(bound)

    def _begin(self, name, dtype, shape, eps=None, asked=None, attributes=None, axes=None, chunk=CHUNK, contributions=1, marks=(), origin=None):
        self._must_write()
        if layout.check_name(name) in self._arrays:
            raise ArgumentError(f"{self.path} has an array {name!r} already")
        elements.name_of(dtype)
        if axes is not None and (len(axes) != len(shape) or not all(isinstance(one, str) for one in axes)):
            raise ArgumentError(f"axes of {name!r} are {axes!r}; its shape is {shape}")
        for text in (*(axes or ()),):
            layout.utf8(text, f"axes of {name!r}")
        layout.told_attributes(attributes or {})
        if operator.index(chunk) < 1:
            raise ArgumentError(f"chunk is {chunk}; it takes bytes, at least 1")
        entry = layout.Entry(name, dtype, shape, eps, contributions, asked, axes and list(axes), attributes, marks=marks, origin=origin)
        self._arrays[name] = made = Array(self, entry, chunk)
        return made

    def _add_stream(self, name, stream, attributes, axes):
        lossless = stream.eps == 0
        if lossless and stream.dtype.itemsize not in (4, 8):
            raise UnsupportedError(f"a stream of {stream.dtype}")
        made = self._begin(name, stream.dtype, stream.shape, None if lossless else stream.eps, None, attributes, axes, CHUNK, stream.contributions)
        if stream.size:
            if not stream.checksum:
                parts = arrays.type_of(stream.dtype)[1]
                stream = Stream._of(_core.slice(bytes(stream), 0, stream.size * parts, True, 1), stream.shape, stream.dtype)
            made._keep(bytes(stream), stream.size)
        return made

    def commit(self):
        """What was written so far is on the disk from here on. Of a new file that is so at close() alone."""
        self._must_write()
        if self._output is None:
            self._commit()

    def _commit(self):
        index = layout.write_index([array._entry for array in self._arrays.values()], self.attributes)
        self._reach_the_disk()
        at = self._append(index)
        self._reach_the_disk()
        os.pwrite(self._descriptor, layout.write_header(at, index), 0)  # in one sector: from here on the new index counts
        self._reach_the_disk()

    def _reach_the_disk(self):
        if self._output is None:  # a new file does so as a whole, before it has its name
            os.fsync(self._descriptor)

    def close(self):
        """Keeps what was written, and ends the use of the file. A forked child keeps nothing: its parent does."""
        if self._descriptor < 0:
            return
        if self._process != os.getpid():
            self._leave()
            return
        try:
            if self.mode != "r":
                self._commit()
                if self._output is not None:
                    self._output.keep()
        except BaseException:
            self._leave()
            raise
        self._end_use()

    def _leave(self):
        """Keeps nothing that was not committed."""
        if self._descriptor < 0:
            return
        if self._process != os.getpid():  # the locks are shared with the parent, and stay
            descriptor, self._descriptor = self._descriptor, -1
            if self._output is None:
                os.close(descriptor)
            else:
                self._output.forget()
            return
        if self._output is not None:
            self._output.drop()
        elif self.mode == "a":
            offset, length, _ = layout.read_header(os.pread(self._descriptor, layout.HEADER.size, 0), self.nbytes)
            os.ftruncate(self._descriptor, offset + length)
        self._end_use()

    def _end_use(self):
        descriptor, self._descriptor = self._descriptor, -1
        if self._output is None:
            if self.mode == "a":
                unlock(descriptor)
            os.close(descriptor)

    def __reduce__(self):
        """Copies and pickles open the file again by its path. ArgumentError for a file that is written or closed."""
        self._must_be_open()
        if self.mode != "r":
            raise ArgumentError(f"{self.path} is open for writing; a file that is open for reading can be copied or pickled")
        return File, (self._place, "r")

    def _must_be_open(self):
        if self._descriptor < 0:
            raise ArgumentError(f"{self.path} is closed")

    def _must_write(self):
        self._must_be_open()
        if self.mode == "r":
            raise ArgumentError(f"{self.path} is open for reading; mode 'a' adds to it")
        if self._process != os.getpid():
            raise ArgumentError(f"{self.path} was opened for writing before this process was forked; the process that opened it adds to it")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.close()
        else:
            self._leave()

    def __del__(self):
        if getattr(self, "_descriptor", -1) >= 0:
            self._leave()

    def __repr__(self):
        return f"<stretto.File {self.path!r}, {'closed' if self._descriptor < 0 else self.mode}: {', '.join(self._arrays) or 'no array'}>"


File.__module__ = "stretto"
