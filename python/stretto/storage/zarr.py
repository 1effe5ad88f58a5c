"""Streams as a codec of Zarr's format 3, in the place of the serializer: a chunk of an array is one stream.

    import zarr
    from stretto.storage.zarr import Stretto

    a = zarr.create_array("a.zarr", shape=x.shape, chunks=(1000, 1000), dtype=x.dtype, serializer=Stretto(abs=1e-3), compressors=None)

The codec's name is "stretto". An installed package registers it by itself; elsewhere the import does. Format 2 has stretto.storage.numcodecs.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math

import numpy as np
from zarr.abc.codec import ArrayBytesCodec
from zarr.registry import register_codec

from stretto.api import arrays, streams
from stretto.errors import ArgumentError, BoundError
from stretto.storage import elements, missing, settings


@dataclasses.dataclass(frozen=True)
class Stretto(ArrayBytesCodec):
    """Compresses floating and complex chunks within a bound; without one, and for integers and booleans, elements keep their bits.

    abs: the bound in units of the data. rel: as a fraction of the range of each chunk, so that neighbours may have different bounds. No range
    counts zeros, which may be beyond the array's edge.
    rewrite: whether chunks may be written in part within `rel`. Their values are decoded and encoded again each time, and errors add up.
    coding: "shaped" predicts along several axes of a chunk where that saves bytes; "dense" along one, two to five times as fast; "fixed" takes up to twice
    the bytes, at memory's speed. Without it shaped within a bound, fixed without.
    marks: values that mark missing data, such as (-9999,): they keep their bits, no other value decodes to one, and no range counts them. The array's
    fill value is a mark by itself, unless it is 0, Zarr's default.
    """

    is_fixed_size = False

    abs: float | None = None
    rel: float | None = None
    rewrite: bool = False
    marks: tuple = ()
    coding: str | None = None

    def __post_init__(self):
        for name, bound in zip(("abs", "rel"), settings.bounds(self.abs, self.rel)):
            object.__setattr__(self, name, bound)  # plain floats, as JSON needs them
        object.__setattr__(self, "rewrite", bool(self.rewrite))
        settings.coding(self.coding)
        object.__setattr__(self, "marks", tuple(streams.marks_of(self.marks)))

    @classmethod
    def from_dict(cls, data):
        return cls(**data.get("configuration", {}))

    def to_dict(self):
        given = (("abs", self.abs), ("rel", self.rel), ("rewrite", self.rewrite or None), ("marks", list(self.marks) or None),
                 ("coding", self.coding))
        return {"name": "stretto", "configuration": {name: value for name, value in given if value is not None}}

    def validate(self, *, shape, dtype, chunk_grid):
        native = elements.native(dtype.to_native_dtype())
        elements.name_of(native)
        if (self.abs or self.rel) and not elements.is_floating(native):
            raise BoundError(f"{native} is lossless; a bound of {self.abs or self.rel} has no meaning")

    def _lossless(self):
        return self.abs is None and self.rel is None

    def _encode_sync(self, chunk_array, chunk_spec):
        values = chunk_array.as_numpy_array()
        settings.must_be_new(values, self.rel, self.rewrite)
        values = np.asarray(values)
        shape = values.shape
        values = np.ascontiguousarray(values, elements.native(values.dtype)).reshape(-1)
        if self._lossless() or not elements.is_floating(values.dtype):
            return chunk_spec.prototype.buffer.from_bytes(elements.encode(values, None, coding=self.coding, shape=shape))
        marks = streams.marks_of([*self.marks, *_parts(chunk_spec.fill_value)])
        if not marks:
            missing.warn_of_suspect(values, "the array's fill_value is 0", stacklevel=3)
        eps = streams.eps_of(values, arrays.type_of(values.dtype)[0], self.abs, self.rel, None, 1, settings.left_out(marks))
        return chunk_spec.prototype.buffer.from_bytes(elements.encode(values, eps, 1, marks, streams.kept_from(self.rel, None),
                                                                          self.coding or "shaped", shape))

    def _decode_sync(self, chunk_bytes, chunk_spec):
        dtype = chunk_spec.dtype.to_native_dtype()
        out = np.empty(math.prod(chunk_spec.shape), elements.native(dtype))
        elements.decode(chunk_bytes.to_bytes(), self._lossless(), out)
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(settings.marked(out.astype(dtype, copy=False).reshape(chunk_spec.shape), self.rel,
                                                                                      self.rewrite))

    async def _encode_single(self, chunk_array, chunk_spec):
        return await asyncio.to_thread(self._encode_sync, chunk_array, chunk_spec)

    async def _decode_single(self, chunk_bytes, chunk_spec):
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        raise ArgumentError("a stream's size depends on its values")


def _parts(fill):
    """What of a fill value marks missing data: of a complex one both parts; nothing of 0."""
    fill = np.asarray(fill)
    return [float(part) for part in np.unique([fill.real, fill.imag] if fill.dtype.kind == "c" else fill) if fill != 0]


register_codec("stretto", Stretto)
