"""Streams as a codec of numcodecs, which Zarr and other tools use for the chunks of their arrays.

The codec's name is "stretto". An installed package registers it by itself; elsewhere `import stretto.storage.numcodecs` does.
"""

from __future__ import annotations

import math
import struct

import numcodecs
import numcodecs.abc
import numcodecs.compat
import numpy as np

from stretto.api import arrays
from stretto.api.core import _core
from stretto.api.streams import Stream, eps_of, extents, kept_from, marks_of
from stretto.errors import ArgumentError, StreamError
from stretto.storage import elements, missing, settings

NARROW = 1 << 63  # set in the word that says how wide exact elements of less than 4 bytes are
WIDTHS = {(NARROW | dtype.itemsize | (256 if dtype.kind == "i" else 0)): dtype for dtype in map(np.dtype, ("i1", "u1", "i2", "u2"))}


class Stretto(numcodecs.abc.Codec):
    """Compresses floating and complex chunks within a bound; without one, and for integers and booleans, elements keep their bits.

    abs: the bound in units of the data. rel: as a fraction of the range of each chunk, so that neighbours may have different bounds. No range
    counts zeros, with which Zarr fills chunks beyond an array's edge; name another fill value by `marks`. With neither, all numbers keep their bits; integers take neither.
    coding: "shaped" predicts along several axes of a chunk where that saves bytes; "dense" along one, two to five times as fast; "fixed" takes up to twice
    the bytes, at memory's speed. Without it shaped within a bound, fixed without.
    rewrite: whether a decoded chunk may be encoded again within `rel`, as Zarr does where a chunk is written in part; errors then add up.
    marks: values that mark missing data, such as [-9999]: they keep their bits, and no other value decodes to one. A codec of numcodecs does not see the
    array's fill value: name it here. A warning names a value that looks like one.

    The encoded bytes are a stream (docs/format.md) of the elements in C order; without a bound, of the integers that section 7 has for them. An array in
    Fortran's order alone is a stream of its elements in that order, and its shape after the stream, 8 bytes an axis. After exact elements of less than 4
    bytes come 8 bytes: their width, 256 more for signed integers, and 2**63 more. `decode` returns arrays of Fortran's order with shape and order, and all
    others flat; exact elements as integers of their bits.
    """

    codec_id = "stretto"

    def __init__(self, abs=None, rel=None, rewrite=False, marks=(), coding=None):
        self.abs, self.rel = settings.bounds(abs, rel)
        self.rewrite, self.marks = bool(rewrite), marks_of(marks)
        self.coding = settings.coding(coding)

    def get_config(self):
        # Keeps configurations without marks and rewriting unchanged.
        return {"id": self.codec_id, "abs": self.abs, "rel": self.rel, **({"rewrite": True} if self.rewrite else {}),
                **({"marks": self.marks} if self.marks else {}), **({"coding": self.coding} if self.coding else {})}

    def encode(self, buf):
        values = numcodecs.compat.ensure_ndarray(buf)
        settings.must_be_new(buf, self.rel, self.rewrite)
        values = values.view(np.uint8) if values.dtype == bool else values
        fortran = values.flags.f_contiguous and not values.flags.c_contiguous
        stream = self._stream(arrays.readable(values.T if fortran else values))
        words = [*(values.shape if fortran else ())]
        if self._is_exact() and values.dtype.itemsize < 4:
            words.append(NARROW | values.dtype.itemsize | (256 if values.dtype.kind == "i" else 0))
        return stream + struct.pack(f"<{len(words)}Q", *words)

    def _is_exact(self):
        return self.abs is None and self.rel is None

    def _stream(self, values):
        if self._is_exact():
            elements.name_of(values.dtype)
            return bytes(elements.encode(np.ascontiguousarray(values).reshape(-1), None, coding=self.coding, shape=values.shape))
        if not self.marks:
            missing.warn_of_suspect(values, "a codec of numcodecs does not see the array's fill value", stacklevel=4)
        kind, parts = arrays.type_of(values.dtype)
        eps = eps_of(values, kind, self.abs, self.rel, None, 1, self.marks if self.rel is None else settings.left_out(self.marks))
        coding = self.coding or "shaped"
        shape = extents(values.shape, parts) if coding == "shaped" else []
        return bytes(_core.compress(kind, arrays.buffer(values), eps, True, 1, self.marks, kept_from(self.rel, None),
                                    getattr(_core.Coding, "dense" if shape else coding), shape))

    def decode(self, buf, out=None):
        """The values. out: an array of as many bytes, of any order and strides, which takes them and is returned."""
        values = _decoded(numcodecs.compat.ensure_bytes(buf))
        if out is None:
            return settings.marked(values, self.rel, self.rewrite)
        target = numcodecs.compat.ensure_ndarray(out)
        if not target.flags.writeable:
            raise ArgumentError("out is read-only")
        if target.nbytes != values.nbytes:
            raise ArgumentError(f"out has {target.nbytes} bytes; the stream's values {values.nbytes}")
        if target.shape == values.shape and target.dtype.itemsize == values.dtype.itemsize:
            values = values.view(target.dtype)
        else:
            values = values.reshape(-1, order="A").view(target.dtype).reshape(target.shape)
        np.copyto(target, values)
        return out


def _decoded(content):
    """What `encode` gave, as an array."""
    _, _, _, length, *_ = _core.inspect(content)
    stream = Stream.from_bytes(content[:length])
    values = stream.decompress()
    if length == len(content):
        return values
    count, rest = divmod(len(content) - length, 8)
    shape = struct.unpack_from(f"<{count}Q", content, length)
    if shape and shape[-1] in WIDTHS and values.dtype == np.int32:
        narrow = np.empty(values.size, WIDTHS[shape[-1]])
        elements.from_integers(values, narrow)
        values, shape = narrow, shape[:-1]
        if not shape and not rest:
            return values
    if values.dtype == np.int64 and math.prod(shape) * 2 == values.size:  # exact elements of complex128
        values = values.view(np.complex128)
    if rest or not 2 <= len(shape) <= 64 or math.prod(shape) != values.size:
        raise StreamError(f"{len(content)} bytes hold a stream of {length} bytes and {len(content) - length} bytes after it, which are no shape of "
                          f"{stream.size} elements")
    return values.reshape(shape[::-1]).T


numcodecs.register_codec(Stretto)
