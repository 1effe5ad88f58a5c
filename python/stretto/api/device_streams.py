"""Streams in the memory of a GPU, made and combined there by the codec's kernels."""

from __future__ import annotations

import functools
import math

import numpy as np

from stretto.api import arrays, devices
from stretto.api.core import _core
from stretto.api.streams import Stream, absolute_bound, shape_of, threshold
from stretto.errors import ArgumentError, IncompatibleError, StreamError, UnsupportedError

OPERATIONS = _core.DeviceOperation
BYTES = np.dtype(np.uint8)
FLOATS = "fc"


class Work:
    """Calls of the codec in the place of arrays: memory comes from the library of `like`, which is an array of the same device."""

    def __init__(self, like, arrays_, kind, count):
        self.like, self.memory, self.kind, self.count = like, arrays_[0].memory, kind, count
        self.place = devices.place([(f"array {i}", one) for i, one in enumerate(arrays_)])

    def room(self, size):
        """(OnDevice, object) of so many bytes."""
        return devices.empty(self.like, self.memory, (size,), BYTES)

    def run(self, function, operation, *arguments):
        scratch, _ = self.room(_core.device_room(operation, self.kind, self.count))
        return function(self.place, *arguments, scratch.address, scratch.size)

    def stream(self, bound, function, operation, *arguments):
        """(OnDevice, object) of a stream that function(..., out, capacity) writes, in memory of its own length."""
        out, made = self.room(bound(self.kind, self.count))
        length = self.run(function, operation, *arguments, out.address, out.size)
        whole, kept = self.room(length)
        _core.cuda_copy(self.place, whole.address, out.address, length)
        del made
        return whole, kept

    def recoded(self, content, coding):
        """(OnDevice, object) of the same stream, fixed or dense, which it was not."""

        def recode(place, *rest):
            return _core.device_recode(place, getattr(_core.Coding, coding), self.kind, content.address, content.size, self.count, *rest)

        if coding == "dense":  # never longer than the fixed stream
            return self.stream(lambda *_: content.size, recode, OPERATIONS.to_dense)
        # Exceptions take as many bytes as in the dense stream, and each code at most twice those of a new stream.
        most = content.size + 2 * _core.compress_bound(self.kind, self.count) + 64 * (self.count // 1024 + 1)
        return self.stream(lambda *of: min(most, _core.combine_bound(*of)), recode, OPERATIONS.to_fixed)


def compress(x, values, kind, absolute, relative, ignore_above, coding):
    """The DeviceStream of a contiguous OnDevice; arguments as of stretto.compress."""
    work = Work(x, [values], kind, values.size * arrays.type_of(values.dtype)[1])
    eps = _eps_of(work, values, absolute, relative, ignore_above)
    content, owner = work.stream(_core.compress_bound, functools.partial(_compressed, kind, values, work.count, eps), OPERATIONS.compress)
    return DeviceStream._written(work, content, owner, values.shape, values.dtype, eps, 1, x, "dense" if coding == "dense" else "fixed")


def _compressed(kind, values, count, eps, place, *rest):
    return _core.device_compress(place, kind, values.address, count, eps, *rest)


def _eps_of(work, values, absolute, relative, ignore_above):
    if values.dtype.kind not in FLOATS and values.dtype != arrays.BITS and values.dtype.name != "bfloat16":
        raise UnsupportedError(f"a stream of {values.dtype} on a GPU; those of floating values are made there")
    return absolute_bound(values.dtype, absolute, relative, lambda: value_range(work, values, ignore_above))


def value_range(work, values, ignore_above):
    """(lo, hi, values left out) of the finite values below ignore_above; lo > hi where there is none."""
    return work.run(functools.partial(_ranged, work.kind, values, work.count, threshold(ignore_above)), OPERATIONS.range)


def _ranged(kind, values, count, above, place, *rest):
    return _core.device_value_range(place, kind, values.address, count, above, *rest)


class DeviceStream(Stream):
    """A compressed array in the memory of a GPU. It has what a Stream has, but for parts, scaling, products and concatenation.

    decompress() and mean() give an array of the library that made the compressed one; out= takes one of any library. bytes(s) and s.to_host() copy the
    stream to the host. The bytes of a fixed stream are those of a Stream without a checksum; a dense one holds the same groups.
    """

    __slots__ = ("_owner", "_eps", "_contributions", "_like", "_coding")

    @classmethod
    def _made(cls, content, owner, shape, dtype, eps, contributions, like, coding):
        self = cls._of(content, shape, dtype)
        self._owner, self._eps, self._contributions, self._like, self._coding = owner, eps, contributions, like, coding
        return self

    @classmethod
    def _written(cls, work, content, owner, shape, dtype, eps, contributions, like, coding):
        """Of a fixed stream that a kernel has written."""
        if coding == "dense":
            content, owner = work.recoded(content, "dense")
        return cls._made(content, owner, shape, dtype, eps, contributions, like, coding)

    @classmethod
    def from_bytes(cls, content, shape=None, dtype=None, *, like) -> DeviceStream:
        """Stream.from_bytes(content, shape, dtype), copied to the memory of `like`, an array of a GPU whose library makes the results."""
        return cls.of(Stream.from_bytes(content, shape, dtype), like)

    @classmethod
    def of(cls, stream, like) -> DeviceStream:
        """A copy of a Stream in the memory of the array `like`."""
        where = arrays.array(like, "like")
        if not arrays.on_device(where):
            raise ArgumentError(f"like is a {type(like).__name__} in memory of the host; it takes an array of a GPU")
        kind, _, count, *_ = stream._inspected()
        if stream.coding == "shaped":
            raise UnsupportedError("a shaped stream is not read on a GPU; a stream there is fixed or dense")
        work = Work(like, [where], kind, count)
        content, owner = work.room(stream.nbytes)
        host = np.frombuffer(bytes(stream), BYTES)
        _core.cuda_copy(work.place, content.address, host.ctypes.data, host.size)
        return cls._made(content, owner, stream.shape, stream.dtype, stream.eps, stream.contributions, like, stream.coding)

    def to_host(self) -> Stream:
        """A copy of the stream in memory of the host. StreamError where its bytes are no stream any more."""
        return Stream.from_bytes(bytes(self), self._shape, self._dtype)

    @property
    def nbytes(self) -> int:
        return self._bytes.size

    @property
    def ratio(self) -> float:
        return self.size * self._dtype.itemsize / self.nbytes

    @property
    def eps(self) -> float:
        return self._eps

    @property
    def contributions(self) -> int:
        return self._contributions

    @property
    def promised_error(self) -> float:
        return self._eps * self._contributions

    @property
    def checksum(self) -> bool:
        return False

    @property
    def coding(self) -> str:
        return self._coding

    def _work(self, *others):
        kind, parts = arrays.type_of(self._dtype)
        return Work(self._like, [self._bytes, *others], kind, self.size * parts)

    def _fixed(self, work):
        """(OnDevice, object) that kernels other than those between codings take."""
        return (self._bytes, self._owner) if self._coding == "fixed" else work.recoded(self._bytes, "fixed")

    def _decoded(self, out, divisor, threads):
        if out is None:
            target, out = devices.empty(self._like, self._bytes.memory, self._shape, None if arrays.array(self._like).dtype == self._dtype else self._dtype)
        else:
            target = arrays.writable(out)
            if not arrays.on_device(target):
                raise ArgumentError(f"out is memory of the host, and the stream {self._bytes.memory}; to_host() gives a stream of the host")
            if target.dtype != self._dtype or target.shape != self._shape:
                raise ArgumentError(f"out has dtype {target.dtype} and shape {target.shape}; the stream {self._dtype} and {self._shape}")
        work = self._work(target)
        stream, _owner = self._fixed(work)

        def decode(place, *rest):
            _core.device_decompress(place, work.kind, stream.address, stream.size, target.address, work.count, divisor, *rest)

        work.run(decode, OPERATIONS.decompress)
        return out

    def __array__(self, dtype=None, copy=None):
        return self.to_host().__array__(dtype, copy)

    def __bytes__(self) -> bytes:
        host = np.empty(self.nbytes, BYTES)
        _core.cuda_copy(self._work().place, host.ctypes.data, self._bytes.address, host.size)
        return host.tobytes()

    def _joined(self, other, operation, name):
        if not isinstance(other, Stream):
            return NotImplemented
        if not isinstance(other, DeviceStream):
            raise ArgumentError(f"{name} of a stream in {self._bytes.memory} and one in memory of the host; to_host() copies the first")
        if self._shape != other._shape or self._dtype != other._dtype:
            raise IncompatibleError(f"{name} of a stream of {self._dtype} {self._shape} and one of {other._dtype} {other._shape}")
        if self._eps != other._eps:
            raise IncompatibleError(f"{name} of streams of different bounds: {self._eps:g} and {other._eps:g}")
        work = self._work(other._bytes)
        left, _left = self._fixed(work)
        right, _right = (left, None) if other is self else other._fixed(work)

        def combine(place, *rest):
            return _core.device_combine(place, operation, work.kind, left.address, left.size, right.address, right.size, work.count, *rest)

        content, owner = work.stream(_core.combine_bound, combine, operation)
        contributions = self._contributions + other._contributions if operation in (OPERATIONS.add, OPERATIONS.subtract) else max(self._contributions, other._contributions)
        coding = "dense" if "dense" in (self._coding, other._coding) else "fixed"
        return DeviceStream._written(work, content, owner, self._shape, self._dtype, self._eps, contributions, self._like, coding)

    def __add__(self, other):
        if isinstance(other, Stream):
            return self._joined(other, OPERATIONS.add, "sum")
        values = arrays.readable(other)
        if not arrays.on_device(values):
            raise ArgumentError(f"sum of a stream in {self._bytes.memory} and an array in memory of the host")
        if self._shape != values.shape or self._dtype != values.dtype:
            raise IncompatibleError(f"sum of a stream of {self._dtype} {self._shape} and an array of {values.dtype} {values.shape}")
        work = self._work(values)
        stream, _owner = self._fixed(work)

        def add(place, *rest):
            return _core.device_add_values(place, work.kind, stream.address, stream.size, values.address, work.count, *rest)

        content, owner = work.stream(_core.combine_bound, add, OPERATIONS.add_values)
        return DeviceStream._written(work, content, owner, self._shape, self._dtype, self._eps, self._contributions + 1, self._like, self._coding)

    __radd__ = __add__

    def __sub__(self, other):
        return self._joined(other, OPERATIONS.subtract, "difference")

    def _chosen(self, function, other, name):
        if not isinstance(other, Stream):
            raise TypeError(f"{name} of a Stream and a {type(other).__name__}; it takes two streams")
        if self._dtype.kind == "c":
            raise UnsupportedError(f"{self._dtype} has no {name}")
        return self._joined(other, OPERATIONS.min if name == "minimum" else OPERATIONS.max, name)

    def reshape(self, *shape):
        shape = shape_of(shape[0] if len(shape) == 1 else shape)
        if math.prod(shape) != self.size:
            raise ArgumentError(f"a stream of {self.size} elements has no shape {shape}")
        return DeviceStream._made(self._bytes, self._owner, shape, self._dtype, self._eps, self._contributions, self._like, self._coding)

    def __mul__(self, factor):
        raise UnsupportedError("a stream in the memory of a GPU is not scaled; to_host() * factor is")

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __getitem__(self, key):
        raise UnsupportedError("a stream in the memory of a GPU has no parts; to_host()[...] has")

    def _inspected(self):
        raise StreamError("the header of a stream in the memory of a GPU is not read; to_host() has it")

    def __eq__(self, other):
        return bytes(self) == bytes(other) and self._shape == other._shape and self._dtype == other._dtype if isinstance(other, Stream) else NotImplemented

    def __hash__(self) -> int:
        return hash((bytes(self), self._shape, self._dtype))

    def __reduce__(self):
        raise TypeError("a stream in the memory of a GPU is not pickled; to_host() is")


DeviceStream.__module__ = "stretto"


def residual(kept, left, eps):
    """left = kept less what a stream of it within eps decodes to; 0 where that is not finite. Both are flat OnDevices of one device."""
    kind, parts = arrays.type_of(kept.dtype)
    work = Work(left.memory.owner, [kept, left], kind, kept.size * parts)
    content, _owner = work.stream(_core.compress_bound, functools.partial(_compressed, kind, kept, work.count, eps), OPERATIONS.compress)

    def decode(place, *rest):
        _core.device_decompress(place, kind, content.address, content.size, left.address, work.count, 1, *rest)

    work.run(decode, OPERATIONS.decompress)
    devices.subtract(kept, left)
