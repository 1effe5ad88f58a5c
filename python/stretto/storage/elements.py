"""Elements of arrays as values of streams: within a bound floating numbers as they are, else the bits of any number as integers."""

from __future__ import annotations

import math

import numpy as np

from stretto.api import arrays, streams
from stretto.api.core import _core
from stretto.errors import StreamError

_INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
DTYPES = (*_INTEGERS, *_FLOATS)


def dtype_named(name):
    """The dtype of an index's `dtype`; StreamError where there is none of this name."""
    if name not in DTYPES:
        raise StreamError(f"dtype {name!r} is none of {', '.join(DTYPES)}")
    return arrays.dtype_of(_core.Type.bf16) if name == "bfloat16" else np.dtype(name)


def native(dtype):
    """The dtype with this machine's order of bytes."""
    return dtype if dtype.isnative else np.dtype(dtype.name)


def name_of(dtype):
    """The name under which a dtype stands in an index. TypeError for what has no streams."""
    if dtype.name == "bool":
        return "bool"
    arrays.type_of(dtype)
    return dtype.name


def is_floating(dtype):
    return name_of(dtype) in _FLOATS


def is_rounded(dtype):
    """Whether decoded values are rounded to this type, beside the bound: types of 16 bits."""
    return is_floating(dtype) and dtype.itemsize == 2


def largest_of(values):
    """The largest magnitude of the finite elements; 0 where there is none."""
    found = np.abs(values.astype(np.float32))
    return float(np.max(found, where=np.isfinite(found), initial=0))


def rounding(dtype, magnitude):
    """By how much rounding to a type of 16 bits changes values up to a magnitude, at most."""
    digits, least = (11, -24) if dtype.name == "float16" else (8, -133)  # of the significand; exponent of the least subnormal number
    return 2.0 ** (max(math.frexp(magnitude)[1] - digits, least) - 1)


def lossless_type(dtype):
    """The dtype of the integers that stand for elements which keep their bits."""
    return np.dtype(np.int32 if dtype.itemsize <= 4 else np.int64)


def stream_type(dtype, lossless):
    """The type of the streams of an array, and how many of its values an element is."""
    if not lossless:
        return arrays.type_of(dtype)
    integers = lossless_type(dtype)
    return arrays.type_of(integers)[0], max(dtype.itemsize // integers.itemsize, 1)


def as_integers(values):
    """The elements of a flat, contiguous array as the integers that stand for them; not copied where the size allows."""
    dtype = values.dtype
    integers = lossless_type(dtype)
    if dtype.itemsize >= 4:
        return values.view(integers)
    return values.view(_narrow(dtype)).astype(integers)


def from_integers(integers, out):
    """Puts what `as_integers` gave into the flat, contiguous array `out`; StreamError for an integer that is no element."""
    if out.dtype.itemsize >= 4:
        out.view(integers.dtype)[:] = integers
        return
    narrow = np.iinfo(np.uint8 if out.dtype.name == "bool" else _narrow(out.dtype))
    low, high = (0, 1) if out.dtype.name == "bool" else (narrow.min, narrow.max)
    if integers.size and not low <= integers.min() <= integers.max() <= high:
        raise StreamError(f"integers from {integers.min()} to {integers.max()} stand for no {out.dtype}")
    out.view(_narrow(out.dtype))[:] = integers


def _narrow(dtype):
    return np.dtype(f"{'i' if dtype.kind == 'i' else 'u'}{dtype.itemsize}")


def encode(values, eps, threads=1, marks=(), kept_from=math.inf, coding=None, shape=None):
    """The stream of the elements of a flat, contiguous array: within `eps`, or, where that is None, of their bits. A checksum is in it.

    coding: "fixed", "dense" or "shaped"; None: dense within a bound, where it gains most, else fixed.
    shape: of the array, for coding "shaped"; None: one axis.
    marks, kept_from: elements that keep their bits within a bound: marks of missing data, and those of such a magnitude.
    """
    coding = coding or ("fixed" if eps is None else "dense")
    kind, parts = stream_type(values.dtype, eps is None)
    shape = streams.extents(values.shape if shape is None else shape, parts) if coding == "shaped" else []
    coding = getattr(_core.Coding, "dense" if shape else coding)
    if eps is None:
        return _core.compress(kind, as_integers(values), 1.0, True, threads, coding=coding, shape=shape)
    return _core.compress(kind, arrays.buffer(values), eps, True, threads, list(marks), kept_from, coding, shape)


def decode(content, lossless, out, threads=1):
    """Puts the elements of a stream of `encode` into the flat, contiguous array `out`. StreamError where it has others."""
    kind, parts = stream_type(out.dtype, lossless)
    found, _, count, *_ = _core.inspect(content)
    if (found, count) != (kind, out.size * parts):
        raise StreamError(f"a stream of {count} values of {found.name}, where {out.size * parts} of {kind.name} should be")
    if not lossless:
        _core.decompress(content, arrays.buffer(out), 1, threads)
    elif out.dtype.itemsize >= 4:
        _core.decompress(content, out.view(lossless_type(out.dtype)), 1, threads)
    else:
        integers = np.empty(out.size, np.int32)
        _core.decompress(content, integers, 1, threads)
        from_integers(integers, out)
