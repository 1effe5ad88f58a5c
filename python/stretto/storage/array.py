"""One array of a container: elements in chunks, each of which is a stream."""

from __future__ import annotations

import bisect
import itertools
import json
import math
import numbers
import operator
import zlib

import numpy as np

from stretto.api import arrays, streams
from stretto.api.core import _core
from stretto.api.streams import Stream
from stretto.errors import ArgumentError, IncompatibleError, StreamError, UnsupportedError
from stretto.storage import elements
from stretto.storage.pieces import pieces

CHUNK = 4 << 20  # bytes of values, where the caller does not say

class Array:
    """An array of a container. It is read where it is indexed, and only the chunks that are wanted.

    a[3:7], a[i], a[2:4, ..., 0], numpy.asarray(a), len(a). Its elements are chunks of streams, one after the other in C order.
    """

    def __init__(self, file, entry, chunk=CHUNK):
        self._file, self._entry, self._most = file, entry, max(chunk // entry.dtype.itemsize, 1)
        self._coding = None  # of what is appended; None: as of what is there
        self._kept_from = 0.0 if (entry.asked or "").startswith("rel") else math.inf  # as streams.kept_from() has it
        self._starts = [0, *itertools.accumulate(one[2] for one in entry.chunks)]

    @property
    def name(self) -> str:
        return self._entry.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self._entry.shape

    @property
    def dtype(self) -> np.dtype:
        return self._entry.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements."""
        return self._entry.size

    @property
    def nbytes(self) -> int:
        """Bytes in the file, without the index."""
        return sum(one[1] for one in self._entry.chunks)

    @property
    def ratio(self) -> float:
        """Bytes of the elements for a byte in the file; nan where there is none."""
        return self.size * self.dtype.itemsize / self.nbytes if self.nbytes else math.nan

    @property
    def chunks(self) -> int:
        """How many streams there are."""
        return len(self._entry.chunks)

    @property
    def coding(self) -> str:
        """How its streams store codes: "fixed", "dense", "shaped" (some of them, the others dense), "mixed" where some are fixed and some not, "" where
        there are none."""
        versions = {self._file._bytes(offset, 5, "a chunk")[4] for offset, *_ in self._entry.chunks}
        return "mixed" if 1 in versions and len(versions) > 1 else {1: "fixed", 2: "dense", 3: "shaped"}.get(max(versions, default=0), "")

    @property
    def eps(self) -> float:
        """The bound of each array that was compressed into it, in units of the data; 0 where elements keep their bits."""
        return self._entry.eps or 0.0

    @property
    def contributions(self) -> int:
        """How many arrays were compressed and added into it."""
        return self._entry.contributions

    @property
    def promised_error(self) -> float:
        """eps * contributions: no element is farther from what was written, but float16 and bfloat16 are then rounded to their type."""
        return self.eps * self.contributions

    @property
    def largest_error(self) -> float | None:
        """promised_error, and of float16 and bfloat16 what rounding adds; None where that is not known."""
        if self.eps == streams.EXACT:  # the bound of arrays without a range, of which no element is changed
            return 0.0
        if not elements.is_rounded(self.dtype):
            return self.promised_error
        largest = self._entry.largest
        return None if largest is None else self.promised_error + elements.rounding(self.dtype, largest + self.promised_error)

    @property
    def bound(self) -> str | None:
        """The bound that was asked for, such as "rel:0.001"."""
        return self._entry.asked

    @property
    def marks(self) -> tuple[float, ...]:
        """Values that mark missing data, and keep their bits."""
        return tuple(self._entry.marks)

    @property
    def axes(self) -> tuple[str, ...] | None:
        """Names of the axes, where they were given."""
        return self._entry.axes and tuple(self._entry.axes)

    @property
    def attributes(self) -> dict:
        """What is known beside the elements. Changes are kept where the file is open for writing."""
        return self._entry.attributes

    def read(self, first=0, last=None, out=None, *, threads=1) -> np.ndarray:
        """Rows `first` to `last` - 1, as a new array or in `out`, of which chunks alone are read that have some of them."""
        if not self.shape:
            return self._read_flat(0, 1, self._target(out, ()), threads)
        last = self.shape[0] if last is None else operator.index(last)
        if not 0 <= operator.index(first) <= last <= self.shape[0]:
            raise ArgumentError(f"rows {first} to {last} of {self.name!r}, which has {self.shape[0]}")
        row = math.prod(self.shape[1:])
        return self._read_flat(first * row, last * row, self._target(out, (last - first, *self.shape[1:])), threads)

    def _target(self, out, shape):
        if out is None:
            return arrays.empty(shape, self.dtype)
        out = arrays.writable(out)
        if out.shape != shape or out.dtype != self.dtype:
            raise ArgumentError(f"out has dtype {out.dtype} and shape {out.shape}; what is read {self.dtype} and {shape}")
        return out

    def _read_flat(self, first, last, out, threads=1):
        """Elements first to last - 1 in C order into the contiguous array `out`."""
        flat = out.reshape(-1)
        at = first
        which = bisect.bisect_right(self._starts, first) - 1
        while at < last:
            begin, end = self._starts[which:which + 2]
            until = min(end, last)
            part = flat[at - first:until - first]
            if begin == at and end == until:
                self._decode(which, part, threads)
            else:
                whole = arrays.empty(end - begin, self.dtype)
                self._decode(which, whole, threads)
                part[...] = whole[at - begin:until - begin]
            at, which = until, which + 1
        return out

    def _stream(self, which):
        """The bytes of a chunk, with a header that says what the index says."""
        self._file._must_be_open()
        offset, length, size, checksum = self._entry.chunks[which]
        what = f"chunk {which} of {self.name!r}"
        try:
            content = self._file._bytes(offset, length, what)
            kind, contributions, count, written, _, eps, _, _, checked, _ = _core.inspect(content)
            wanted, parts = elements.stream_type(self.dtype, self._entry.eps is None)
            found = (kind, count, written, contributions, eps, checked, int.from_bytes(content[36:40], "little"))
            if found != (wanted, size * parts, length, self.contributions, self.eps, True, checksum):
                raise StreamError("the stream is not the one of the index")
            return content
        except StreamError as error:
            raise StreamError(f"{self._file.path}: {what}: {error}") from None

    def _decode(self, which, out, threads):
        content = self._stream(which)
        try:
            elements.decode(content, self._entry.eps is None, out, threads)
        except StreamError as error:
            raise StreamError(f"{self._file.path}: chunk {which} of {self.name!r}: {error}") from None

    def check(self, threads=1):
        """Reads and decodes every chunk. StreamError names what is wrong."""
        for which, (_, _, size, _) in enumerate(self._entry.chunks):
            self._decode(which, arrays.empty(size, self.dtype), threads)

    def stream(self, first=0, last=None) -> Stream:
        """Rows `first` to `last` - 1 as a Stream, without decompressing. UnsupportedError for arrays of dtypes that have none."""
        if self._entry.eps is None and self.dtype.name not in ("int32", "int64"):
            raise UnsupportedError(f"{self.name!r} has elements of {self.dtype} that keep their bits, for which there is no Stream")
        if self.coding == "shaped" and (self.chunks > 1 or first or last not in (None, (self.shape or (1,))[0])):
            raise UnsupportedError(f"{self.name!r} was written with coding='shaped', whose streams neither join nor have parts; read() decompresses it")
        row, last = math.prod(self.shape[1:]), (self.shape or (1,))[0] if last is None else operator.index(last)
        if not 0 <= operator.index(first) <= last <= (self.shape or (1,))[0]:
            raise ArgumentError(f"rows {first} to {last} of {self.name!r}, which has shape {self.shape}")
        begin, end, found = first * row, last * row, []
        for which in range(self.chunks):
            a, b = self._starts[which:which + 2]
            if begin < b and a < end:
                whole = Stream.from_bytes(self._stream(which), dtype=self.dtype)
                found.append(whole if begin <= a and b <= end else whole[max(begin - a, 0):min(end, b) - a])
        shape = (last - first, *self.shape[1:]) if self.shape else ()
        if not found:
            return streams.compress(np.empty(shape, self.dtype), abs=self._entry.eps)
        return streams.concatenate(found).reshape(shape)

    def append(self, rows, *, threads=1):
        """Adds rows along the first axis: an array whose other axes are the array's. They count from the file's commit() or close() on."""
        self._file._must_write()
        if not self.shape:
            raise ArgumentError(f"{self.name!r} is one number, to which nothing is appended")
        if self.contributions != 1:
            raise UnsupportedError(f"{self.name!r} is a sum of {self.contributions} arrays, to which nothing is appended")
        values = arrays.array(rows, "rows")
        self._coding = self._coding or {"fixed": "fixed", "dense": "dense", "shaped": "shaped"}.get(self.coding)
        if values.dtype != self.dtype or values.shape[1:] != self.shape[1:] or values.ndim != self.ndim:
            raise IncompatibleError(f"rows of {values.dtype} {values.shape} are appended to {self.name!r} of {self.dtype} {self.shape}")
        before = len(self._entry.chunks)
        try:
            self._put(values, threads)
        except BaseException:
            del self._entry.chunks[before:], self._starts[before + 1:]
            raise
        self._entry.shape = (self.shape[0] + len(values), *self.shape[1:])

    def _put(self, values, threads=1, shape=None):
        """Compresses elements that follow those that are there. shape: of a flat array's elements."""
        flat = np.ascontiguousarray(values).reshape(-1)
        if self._entry.eps is not None and elements.is_rounded(self.dtype) and (self._entry.largest is not None or not self._entry.chunks):
            self._entry.largest = max(self._entry.largest or 0.0, elements.largest_of(flat))
        first = 0
        for extents in self._cut(flat.size, values.shape if shape is None else shape):
            part = flat[first:first + math.prod(extents)]
            content = elements.encode(part, self._entry.eps, threads, self._entry.marks, self._kept_from, self._coding, extents)
            self._keep(content, part.size)
            first += part.size

    def _cut(self, size, shape):
        """Shapes of the chunks of so many elements. Those of shaped streams are boxes of the array."""
        if self._coding != "shaped":
            return [(min(self._most, size - first),) for first in range(0, size, self._most)]
        return [(*(one.stop - one.start for one in box), *shape[len(box):]) for box in pieces(shape, self._most)]

    def _keep(self, content, size):
        at = self._file._append(content)
        self._entry.chunks.append([at, len(content), size, int.from_bytes(content[36:40], "little")])
        self._starts.append(self._starts[-1] + size)

    def _settle(self):
        if self._starts[-1] != self.size:
            raise ArgumentError(f"{self.name!r} has {self._starts[-1]} elements of shape {self.shape}")

    def __len__(self):
        if not self.shape:
            raise TypeError("an array of one number has no length")
        return self.shape[0]

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        if not self.shape or not keys or keys[0] is Ellipsis or keys[0] is None:
            return self.read()[key]
        if isinstance(keys[0], slice):
            first, last, step = keys[0].indices(self.shape[0])
            if step > 0:
                return self.read(first, max(last, first))[(slice(None, None, step), *keys[1:])]
        elif isinstance(keys[0], numbers.Integral) and not isinstance(keys[0], (bool, np.bool_)):
            first = operator.index(keys[0]) + (self.shape[0] if keys[0] < 0 else 0)
            if not 0 <= first < self.shape[0]:
                raise IndexError(f"index {keys[0]} is out of {self.shape[0]}")
            return self.read(first, first + 1)[(0, *keys[1:])]
        return self.read()[key]

    def __reduce__(self):
        """Copies and pickles open the file again by its path. ArgumentError for an array of a file that is written or closed."""
        opened, arguments = self._file.__reduce__()
        return _reopened, (opened, arguments, self.name, self._fingerprint())

    def _fingerprint(self):
        """A number that differs for an array with other chunks, another shape or dtype."""
        told = self._entry.told()
        return zlib.crc32(json.dumps([told[key] for key in ("dtype", "shape", "chunks")]).encode())

    __iter__ = None  # by index it would decode a chunk for each row

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array of a file is always a copy")
        values = self.read()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __repr__(self):
        bound = f"within {self.promised_error:g}" if self.eps else "lossless"
        return f"<stretto.Array {self.name!r} of {self.dtype} {self.shape}, {bound}, {self.chunks} chunks, ratio {self.ratio:.1f}>"


def _reopened(opened, arguments, name, fingerprint):
    """The array that was pickled. StreamError where the file has another of this name by now."""
    file = opened(*arguments)
    if name not in file or file[name]._fingerprint() != fingerprint:
        raise StreamError(f"{file.path}: array {name!r} was changed or removed after it was copied or pickled")
    return file[name]


Array.__module__ = "stretto"
