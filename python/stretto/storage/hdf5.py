"""stretto as a filter of HDF5. Importing this module registers it with h5py's HDF5, for reading and for writing.

    import h5py
    from stretto.storage.hdf5 import Stretto

    file.create_dataset("x", data=x, chunks=(1000, 1000), **Stretto(abs=1e-3))

Other programs take it from the directory that `plugin_path()` names, by HDF5_PLUGIN_PATH.
"""

from __future__ import annotations

import ctypes
import os
import struct

import h5py
import h5py.h5z

from stretto.api.streams import marks_of
from stretto.errors import Failure, UnsupportedError
from stretto.launch import programs
from stretto.storage import settings

FILTER = 451  # of the range 256 to 511, which HDF5 leaves to private use: it is not registered with The HDF Group
LIBRARY = "libstretto_hdf5.so"
KINDS = {"lossless": 0, "abs": 1, "rel": 2}
CODINGS = {"fixed": 0, "dense": 1, "shaped": 2}  # times CODING is added to the kind
CODING = 256


def plugin_path() -> str:
    """The directory for HDF5_PLUGIN_PATH, with which h5dump, h5repack and others read and write such datasets."""
    return os.path.dirname(_library())


def _library():
    try:
        return programs.library(LIBRARY)
    except Failure as failure:
        raise UnsupportedError(str(failure)) from None


def register():
    """Makes the filter known to h5py's HDF5, if it is not yet. UnsupportedError where the filter's library is missing."""
    global _loaded  # noqa: PLW0603  HDF5 keeps pointers into it
    if h5py.h5z.filter_avail(FILTER):
        return
    if hasattr(h5py.h5z, "register_filter"):
        _loaded = ctypes.CDLL(_library())
        _loaded.H5PLget_plugin_info.restype = ctypes.c_void_p
        h5py.h5z.register_filter(_loaded.H5PLget_plugin_info())
    else:  # h5py 3.7, as in Debian 12: HDF5 looks for the library itself
        h5py.h5pl.prepend(plugin_path().encode())


_loaded = None


def _words(number):
    """The lower and the upper 32 bits of a float64."""
    return struct.unpack("<II", struct.pack("<d", number))


class Stretto(h5py.filters.FilterRefBase):
    """Settings of the filter, for create_dataset(..., **Stretto(abs=1e-3)).

    abs: the bound of floating and complex numbers, in units of the data. rel: as a fraction of the range of each chunk's finite values below 1e15, so
    that neighbours may have different bounds. With neither, all numbers keep their bits; integers take neither.
    coding: "shaped" predicts along several axes of a chunk where that saves bytes; "dense" along one, two to five times as fast; "fixed" takes up to twice
    the bytes, at memory's speed. Without it shaped within a bound, fixed without.
    marks: values that mark missing data, such as [-9999]: they keep their bits, no other value decodes to one, and no range counts them. The fill value
    of the dataset, as create_dataset(fillvalue=...) or a NetCDF variable's _FillValue sets it, is a mark by itself.
    """

    filter_id = FILTER

    def __init__(self, abs: float | None = None, rel: float | None = None, marks=(), coding: str | None = None):  # noqa: A002
        abs, rel = settings.bounds(abs, rel)  # noqa: A001
        kind, bound = ("lossless", 0.0) if abs is None and rel is None else ("abs", abs) if rel is None else ("rel", rel)
        marks = marks_of(marks)
        coding = settings.coding(coding) or ("fixed" if kind == "lossless" else "shaped")
        self.filter_options = (KINDS[kind] + CODING * CODINGS[coding], *_words(bound))
        if marks and kind != "lossless":
            self.filter_options += (0, 0, 0, len(marks), *(word for mark in marks for word in _words(mark)))  # the filter finds three by itself

    @staticmethod
    def of(dataset) -> tuple[str, float] | None:
        """("abs", 0.001), ("rel", ...) or ("lossless", 0.0) of a dataset with this filter; None of another."""
        properties = dataset.id.get_create_plist()
        for which in range(properties.get_nfilters()):
            found, _, words, _ = properties.get_filter(which)
            if found == FILTER and len(words) >= 3:
                names = {number: name for name, number in KINDS.items()}
                return names.get(words[0] % CODING, "lossless"), struct.unpack("<d", struct.pack("<II", *words[1:3]))[0]
        return None


register()
