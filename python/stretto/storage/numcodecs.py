"""Streams as a codec of numcodecs, which Zarr and other tools use for the chunks of their arrays.

The codec's name is "stretto". An installed package registers it by itself; elsewhere `import stretto.storage.numcodecs` does.
"""

from __future__ import annotations

import numcodecs
import numcodecs.abc
import numcodecs.compat
import numpy as np

from stretto.api import arrays
from stretto.api.streams import Stream, compress, marks_of
from stretto.errors import ArgumentError


class Stretto(numcodecs.abc.Codec):
    """Compresses floating chunks within a bound, and integer chunks of 32 and 64 bits without loss.

    abs: the bound in units of the data. rel: as a fraction of the range of each chunk, so that neighbours may have different bounds. One of both for
    floating values, none for integers. What is encoded are the bytes of a stream (docs/format.md).
    marks: values that mark missing data, such as [-9999]: they keep their bits, and no other value decodes to one. A codec of numcodecs does not see the
    array's fill value: name it here.
    """

    codec_id = "stretto"

    def __init__(self, abs=None, rel=None, marks=()):
        self.abs, self.rel, self.marks = abs, rel, marks_of(marks)

    def get_config(self):
        # Configurations of codecs without marks stay what they were.
        return {name: value for name, value in super().get_config().items() if name != "marks" or value}

    def encode(self, buf):
        return bytes(compress(numcodecs.compat.ensure_ndarray(buf), abs=self.abs, rel=self.rel, marks=self.marks))

    def decode(self, buf, out=None):
        stream = Stream.from_bytes(numcodecs.compat.ensure_bytes(buf))
        if out is None:
            return stream.decompress()
        target = arrays.writable(numcodecs.compat.ensure_ndarray(out)).reshape(-1).view(np.uint8)
        if target.size != stream.size * stream.dtype.itemsize:
            raise ArgumentError(f"out has {target.size} bytes; the stream's values {stream.size * stream.dtype.itemsize}")
        stream.decompress(out=target.view(stream.dtype))
        return out


numcodecs.register_codec(Stretto)
