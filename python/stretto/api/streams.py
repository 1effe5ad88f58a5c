"""Streams: arrays compressed within a bound, which add without being decompressed."""

from __future__ import annotations

import math
import numbers
import operator
import sys
import warnings
from collections.abc import Iterable
from typing import get_args

import numpy as np

from stretto.api import arrays
from stretto.api.core import _core
from stretto.api.options import StreamCoding, member, number, positive
from stretto.errors import ArgumentError, BoundError, IncompatibleError, StreamError, UnsupportedError

# A bound so small that values are stored verbatim, for a bound relative to a range of 0.
EXACT = 5e-324
MARKS_MAX = 16  # STRETTO_MARKS_MAX
AXES_MAX = 8  # STRETTO_AXES_MAX


def compress(x, *, abs: float | None = None, rel: float | None = None, ignore_above: float | None = None, marks: Iterable[float] = (),
             threads: int = 1, checksum: bool = True, coding: StreamCoding = "auto") -> Stream:
    """A Stream of the array `x`.

    x: an array of NumPy, or anything with DLPack or the buffer protocol, of float16, bfloat16 (ml_dtypes), float32, float64, complex64, complex128,
      int32 or int64. A contiguous array is read in place, another is copied first.
    abs: the bound, in units of the data: |x - decompressed| <= abs for every finite value (complex: for each part). float16 and bfloat16 are then
      rounded to their type.
    rel: the bound as a fraction of the range, max - min over the finite values below `ignore_above` (1e15) in magnitude.
      With a range of 0 the stream is exact. The values left out of the range keep their bits.
    marks: up to 16 values that mark missing data, such as [-9999]. They keep their bits, no other value decodes to one, and no range counts them.
      Each is rounded to the dtype of `x`. In sums of streams a mark is a number like any other.
    Integers are lossless and take no bound. NaN and infinities keep their bits.
    A warning names a value that looks like a mark and is none of them, as -9999 among temperatures.
    threads: threads that share the work, up to 256; the bytes do not depend on them.
    checksum: 4 bytes that find every change of a few bytes.
    coding: "fixed" stores codes at the speed of memory; "dense" in half to five sixths of the bytes, at a third of the speed. Values and sums are the
      same. "auto" is "fixed" here. What is made of streams is dense if one of them is. "shaped" predicts along two more axes of the array where a sample
      says that this pays, and else is "dense". A shaped stream decompresses; it has no sums and no parts.
    Of an array of a GPU (a tensor of torch, an array of CuPy) the stream is made and stays there: a DeviceStream, without a checksum. Integers, marks=,
      threads= and coding="shaped" are for the host.

    Raises BoundError for a bound that is missing, given twice, or not finite and positive; UnsupportedError for integers of other
    sizes; TypeError for other dtypes.
    """
    values = arrays.readable(x)
    kind, _ = arrays.type_of(values.dtype)
    marks = marks_of(marks)
    if coding not in get_args(StreamCoding):
        raise ArgumentError(f"coding is {coding!r}; it takes {', '.join(get_args(StreamCoding))}")
    if arrays.on_device(values):
        from stretto.api import device_streams  # noqa: PLC0415  nothing of a GPU is loaded before an array of one comes

        if marks:
            raise UnsupportedError(f"marks={marks} of an array in {values.memory}; a stream made on a GPU has none")
        if coding == "shaped":
            raise UnsupportedError(f"coding='shaped' of an array in {values.memory}; a stream made on a GPU is fixed or dense")
        return device_streams.compress(x, values, kind, abs, rel, ignore_above, coding)
    eps = eps_of(values, kind, abs, rel, ignore_above, threads, marks)
    if not marks:
        tell_of_suspect(values, kind, kept_from(rel, ignore_above), "stretto.compress(..., marks=[{:.9g}])")
    shape = extents(values.shape, arrays.type_of(values.dtype)[1]) if coding == "shaped" else []
    content = _core.compress(kind, arrays.buffer(values), eps, checksum, threads, marks, kept_from(rel, ignore_above),
                             member(_core.Coding, "dense" if coding == "shaped" else coding, "coding"), shape)
    return Stream._of(content, values.shape, values.dtype)


def tell_of_suspect(values, kind, kept, how):
    """A warning at the caller's line of a value of a contiguous array that looks like a mark that nobody named. A sample finds it; most arrays have none.

    kept: what `kept_from` gives. Values from there on keep their bits, and no range counts them. The text has no share: Python shows one text once a line.
    """
    value = _core.suspect(kind, arrays.buffer(values))
    if not value or abs(value) >= (kept or math.inf):
        return
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "stretto":
        level, frame = level + 1, frame.f_back
    warnings.warn(f"about a tenth of the elements or more are {value:.9g}, far from all others, and are taken as data: no mark is named. "
                  f"{how.format(value)} keeps such values as missing data", stacklevel=level)


def extents(shape, parts=1):
    """A shape as the codec takes it, of elements of so many values: without axes of length 1, and with the slowest ones joined where there are many."""
    found = [int(n) for n in (*shape, parts) if n != 1] or [1]
    rest = found[-(AXES_MAX - 1):]
    return found if len(found) <= AXES_MAX else [math.prod(found[:-len(rest)]), *rest]


def marks_of(marks):
    """Marks as a list of floats without doubles. TypeError for what is no number; ArgumentError for more than 16."""
    if isinstance(marks, (numbers.Real, np.ndarray)):
        marks = np.ravel(marks)
    found = []
    for mark in marks:
        if not isinstance(mark, numbers.Real):
            raise TypeError(f"a mark is {mark!r}; it takes a number")
        mark = float(mark)
        if math.isfinite(mark) and mark not in found:
            found.append(mark)
    if len(found) > MARKS_MAX:
        raise ArgumentError(f"{len(found)} marks; at most {MARKS_MAX}")
    return found


def kept_from(relative, ignore_above):
    """The magnitude from which values keep their bits: with a relative bound that from which the range ignores them."""
    return math.inf if relative is None else 0.0 if ignore_above is None else float(ignore_above)


def eps_of(values, kind, absolute, relative, ignore_above, threads, marks=()):
    """The absolute bound of a contiguous array, as `compress` takes it. BoundError where there is none, or two."""
    if values.dtype.kind in "iu":
        if absolute is not None or relative is not None:
            raise BoundError(f"integers ({values.dtype}) are lossless; a bound of {absolute if relative is None else relative} has no meaning")
        return 1.0
    return absolute_bound(values.dtype, absolute, relative, lambda: _core.value_range(kind, arrays.buffer(values), threshold(ignore_above), threads, list(marks)))


def absolute_bound(dtype, absolute, relative, range_of):
    """The bound in units of the data. BoundError where there is none, or two. range_of(): (lo, hi, values left out), asked for with a relative bound."""
    if absolute is None and relative is None:
        raise BoundError(f"values of {dtype} need a bound: abs= in units of the data, or rel= as a fraction of their range")
    if absolute is not None and relative is not None:
        raise BoundError(f"the bound is given twice: abs={absolute} and rel={relative}")
    if relative is None:
        return positive(absolute, "abs")
    bound = positive(relative, "rel")
    lo, hi, _ = range_of()
    return max(bound * (hi / 2 - lo / 2) * 2, EXACT) if hi > lo else EXACT


def threshold(ignore_above):
    """ignore_above as the library takes it: 0 stands for its default."""
    return 0.0 if ignore_above is None else number(ignore_above, "ignore_above")


class Stream:
    """A compressed array. It does not change; its bytes are those of docs/format.md, and shape and dtype stand beside them.

    s + t, s - t, s.min(t), s.max(t): element by element in code space, without further error. Both have the same shape, dtype and grid, as streams
    of one absolute bound have. s + x for an array x compresses x onto the grid of s. s * 3 and -s scale the codes.
    s[a:b]: part of the first axis, as a stream. len, ==, hash, pickle and bytes do what they say.
    """

    __slots__ = ("_bytes", "_shape", "_dtype", "_info")
    __array_ufunc__ = None  # array + stream is ours, and no array of objects

    def __init__(self):
        raise TypeError("a Stream is made by stretto.compress(x, ...) or Stream.from_bytes(b)")

    @classmethod
    def _of(cls, content, shape, dtype):
        self = object.__new__(cls)
        self._bytes, self._shape, self._dtype, self._info = content, shape, dtype, None
        return self

    @classmethod
    def from_bytes(cls, content, shape=None, dtype=None) -> Stream:
        """The stream in `content`, all of which is checked, code by code. StreamError names what is wrong.

        shape: of the array; without it all values lie in one row. dtype: complex64 or complex128 for pairs; else the stream says it.
        """
        content = _content(content)
        _core.validate(content)
        kind, _, count, length, *_ = _core.inspect(content)
        if length != len(content):
            raise StreamError(f"{len(content)} bytes hold a stream of {length} bytes and {len(content) - length} bytes after it")
        dtype = arrays.dtype_of(kind) if dtype is None else _dtype(dtype)
        found, parts = arrays.type_of(dtype)
        if found != kind or count % parts:
            raise ArgumentError(f"a stream of {count} values of {kind.name} holds no array of {dtype}")
        shape = (count // parts,) if shape is None else shape_of(shape)
        if math.prod(shape) * parts != count:
            raise ArgumentError(f"a stream of {count // parts} elements has no shape {shape}")
        return cls._of(content, shape, dtype)

    def _inspected(self):
        if self._info is None:
            self._info = _core.inspect(self._bytes)
        return self._info

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        """Of the array."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """Axes of the array."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Elements of the array."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the stream."""
        return len(self._bytes)

    @property
    def ratio(self) -> float:
        """Bytes of the array for a byte of the stream."""
        return self.size * self._dtype.itemsize / len(self._bytes)

    @property
    def eps(self) -> float:
        """The bound of each array that was compressed into it, in units of the data; 0 for integers."""
        return self._inspected()[5]

    @property
    def contributions(self) -> int:
        """How many arrays were compressed and added into it."""
        return self._inspected()[1]

    @property
    def promised_error(self) -> float:
        """eps * contributions: the bound of the decompressed values."""
        return self._inspected()[7]

    @property
    def checksum(self) -> bool:
        """Whether its bytes carry a checksum."""
        return self._inspected()[8]

    @property
    def coding(self) -> str:
        """How its bytes store codes: "fixed", "dense" or "shaped"."""
        return self._inspected()[9]

    def decompress(self, out: np.ndarray | None = None, *, threads: int = 1) -> np.ndarray:
        """The array, within `promised_error` of what the same operations give on the arrays themselves.

        out: an array of this shape and dtype that takes the values, and is returned. One that is not contiguous is written by way of a copy.
        """
        return self._decoded(out, 1, threads)

    def mean(self, count: int | None = None, out: np.ndarray | None = None, *, threads: int = 1) -> np.ndarray:
        """The array divided by `count`, by default the number of contributions: the mean of a sum. Floating types only."""
        count = self.contributions if count is None else operator.index(count)
        if self._dtype.kind in "iu":
            raise UnsupportedError(f"a mean of {self._dtype} is no {self._dtype}; decompress() / {count} gives floating values")
        if not 1 <= count < 2**32:
            raise ArgumentError(f"count is {count}; 1 to {2**32 - 1}")
        return self._decoded(out, count, threads)

    def _decoded(self, out, divisor, threads):
        if out is None:
            out = target = arrays.empty(self._shape, self._dtype)
        else:
            if not isinstance(out, np.ndarray):
                raise TypeError(f"out is a {type(out).__name__}; it takes a NumPy array")
            if out.dtype != self._dtype or out.shape != self._shape:
                raise ArgumentError(f"out has dtype {out.dtype} and shape {out.shape}; the stream {self._dtype} and {self._shape}")
            if not out.flags.writeable:
                raise ArgumentError("out is read-only")
            target = out if out.flags.c_contiguous else arrays.empty(self._shape, self._dtype)
        _core.decompress(self._bytes, arrays.buffer(target), divisor, threads)
        if target is not out:
            np.copyto(out, target)
        return out

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array of a stream is always a copy")
        values = self.decompress()
        return values if dtype is None else values.astype(dtype, copy=False)

    def _combined(self, function, other, name):
        if isinstance(other, np.ndarray):  # whose own operators would take the stream for an array
            raise TypeError(f"{name} of a stream and an array; it takes two streams")
        if not isinstance(other, Stream):
            return NotImplemented
        if self._shape != other._shape or self._dtype != other._dtype:
            raise IncompatibleError(f"{name} of a stream of {self._dtype} {self._shape} and one of {other._dtype} {other._shape}")
        return Stream._of(function(self._bytes, other._bytes, self.checksum, 1), self._shape, self._dtype)

    def _plus_values(self, x):
        values = arrays.readable(x)
        if self._shape != values.shape or self._dtype != values.dtype:
            raise IncompatibleError(f"sum of a stream of {self._dtype} {self._shape} and an array of {values.dtype} {values.shape}")
        return Stream._of(_core.add_values(self._bytes, arrays.buffer(values), self.checksum, 1), self._shape, self._dtype)

    def __add__(self, other: Stream | np.ndarray) -> Stream:
        return self._plus_values(other) if isinstance(other, np.ndarray) else self._combined(_core.add, other, "sum")

    def __radd__(self, other):
        return self._plus_values(other) if isinstance(other, np.ndarray) else NotImplemented

    def __sub__(self, other: Stream) -> Stream:
        return self._combined(_core.subtract, other, "difference")

    def __mul__(self, factor: int) -> Stream:
        if isinstance(factor, np.ndarray):
            raise TypeError("product of a stream and an array; it takes an integer")
        if not isinstance(factor, numbers.Integral):
            return NotImplemented
        if factor == 0 or not -(2**31) < factor < 2**31:
            raise ArgumentError(f"factor is {factor}; a stream takes integers from {-(2**31) + 1} to {2**31 - 1} but 0")
        return Stream._of(_core.scale(self._bytes, int(factor), self.checksum, 1), self._shape, self._dtype)

    __rmul__ = __mul__

    def __neg__(self) -> Stream:
        return self * -1

    def min(self, other: Stream) -> Stream:
        """The smaller of both, element by element."""
        return self._chosen(_core.min, other, "minimum")

    def max(self, other: Stream) -> Stream:
        """The larger of both, element by element."""
        return self._chosen(_core.max, other, "maximum")

    def _chosen(self, function, other, name):
        if not isinstance(other, Stream):
            raise TypeError(f"{name} of a Stream and a {type(other).__name__}; it takes two streams")
        if self._dtype.kind == "c":
            raise UnsupportedError(f"{self._dtype} has no {name}")
        return self._combined(function, other, name)

    def reshape(self, *shape) -> Stream:
        """The same stream for an array of another shape with as many elements."""
        shape = shape_of(shape[0] if len(shape) == 1 else shape)
        if math.prod(shape) != self.size:
            raise ArgumentError(f"a stream of {self.size} elements has no shape {shape}")
        return Stream._of(self._bytes, shape, self._dtype)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("a stream of one number has no length")
        return self._shape[0]

    def __getitem__(self, key: int | slice) -> Stream:
        if not self._shape:
            raise IndexError("a stream of one number has no parts")
        rest = self._shape[1:]
        if isinstance(key, slice):
            if key.step is not None and operator.index(key.step) != 1:
                raise IndexError(f"a step of {key.step}; parts of a stream have a step of 1")
            first, last, _ = key.indices(self._shape[0])
            rows = max(last - first, 0)
            shape = (rows, *rest)
        elif isinstance(key, numbers.Integral):
            first = int(key) + (self._shape[0] if key < 0 else 0)
            if not 0 <= first < self._shape[0]:
                raise IndexError(f"index {key} is out of {self._shape[0]}")
            rows, shape = 1, rest
        else:
            raise TypeError(f"{key!r} is no index of a stream; it takes an integer or a slice of the first axis")
        row = math.prod(rest) * arrays.type_of(self._dtype)[1]
        return Stream._of(_core.slice(self._bytes, first * row, rows * row, self.checksum, 1), shape, self._dtype)

    __iter__ = None  # by index it would be a stream for each number

    def __bytes__(self) -> bytes:
        return self._bytes

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return self._bytes == other._bytes and self._shape == other._shape and self._dtype == other._dtype

    def __hash__(self) -> int:
        return hash((self._bytes, self._shape, self._dtype))

    def __reduce__(self):
        return Stream.from_bytes, (self._bytes, self._shape, self._dtype)

    def __repr__(self) -> str:
        bound = f"within {self.promised_error:g}" if self.eps else "lossless"
        return f"<stretto.Stream of {self._dtype} {self._shape}, {bound}, {self.nbytes} bytes, ratio {self.ratio:.1f}>"


Stream.__module__ = "stretto"


def _content(content):
    """Bytes of an object with the buffer protocol."""
    try:
        return bytes(memoryview(content))
    except ValueError as error:  # NumPy's, of dtypes that are in no buffer
        raise TypeError(f"a {type(content).__name__} holds no bytes of a stream: {error}") from error


def _dtype(dtype):
    try:
        return np.dtype(dtype)
    except ValueError as error:
        raise TypeError(f"{dtype!r} is no dtype: {error}") from error


def shape_of(shape):
    """A shape, or a length, as a tuple. ArgumentError for negative lengths."""
    shape = tuple(map(operator.index, (shape,) if isinstance(shape, numbers.Integral) else arrays.sequence(shape, "shape")))
    if any(n < 0 for n in shape):
        raise ArgumentError(f"shape {shape} has a negative length")
    return shape


def _streams(streams, what):
    streams = arrays.sequence(streams, what)
    for one in streams:
        if not isinstance(one, Stream):
            raise TypeError(f"{what} of a {type(one).__name__}; it takes streams")
    if not streams:
        raise ArgumentError(f"{what} of no streams")
    return streams


def sum(streams: Iterable[Stream]) -> Stream:
    """The sum of streams of one shape, dtype and grid. Its bytes are the same in any order and grouping."""
    first, *others = _streams(streams, "sum")
    for one in others:
        first = first + one
    return first


def concatenate(streams: Iterable[Stream]) -> Stream:
    """Streams one after the other along the first axis. They have the same dtype, grid and contributions, and shapes that differ in the first axis."""
    first, *others = _streams(streams, "concatenation")
    if any(type(one) is not Stream for one in (first, *others)):
        raise UnsupportedError("concatenation of a stream in the memory of a GPU; those of to_host() are concatenated")
    for one in others:
        if not first.ndim or not one.ndim or first.shape[1:] != one.shape[1:] or first.dtype != one.dtype:
            raise IncompatibleError(f"concatenation of a stream of {first.dtype} {first.shape} and one of {one.dtype} {one.shape}")
        shape = (first.shape[0] + one.shape[0], *first.shape[1:])
        first = Stream._of(_core.concatenate(bytes(first), bytes(one), first.checksum, 1), shape, first.dtype)
    return first
