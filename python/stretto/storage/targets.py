"""Files that arrays are written into, piece by piece: .npy, .npz, HDF5 and NetCDF-4, Zarr's directories, and raw values."""

from __future__ import annotations

import os
import zipfile

import numpy as np

from stretto.errors import Failure
from stretto.storage.output import new_directory, new_file
from stretto.storage.sources import RAW, is_zarr

SEVERAL = (".npz", ".h5", ".hdf5", ".nc", ".nc4", ".zarr")  # of which one file holds several arrays
RAW_VALUES = (".raw", ".bin", ".dat", *RAW)  # of nothing but values


class Npy:
    """One array, with or without its header. (Attributes and axes have no place there, and none in Npz.)"""

    left_out = {}

    def __init__(self, output, header):
        self._file, self._header = open(output.descriptor, "wb", closefd=False), header

    def start(self, name, variable):
        if self._header:
            _write_header(self._file, name, variable)

    def put(self, _, values):
        self._file.write(values.data if values.dtype.isbuiltin == 1 else values.view(np.uint16).data)

    def finish(self):
        self._file.close()

    close = finish


class Npz:
    """Arrays in a zip, not compressed."""

    left_out = {}

    def __init__(self, output):
        self._file = open(output.descriptor, "w+b", closefd=False)
        self._archive, self._member = zipfile.ZipFile(self._file, "w"), None

    def start(self, name, variable):
        self._end()
        self._member = self._archive.open(f"{name}.npy", "w", force_zip64=True)
        _write_header(self._member, name, variable)

    def put(self, _, values):
        self._member.write(values.data)

    def _end(self):
        if self._member:
            self._member.close()
        self._member = None

    def finish(self):
        self.close()

    def close(self):
        self._end()
        self._archive.close()
        self._file.close()


def _write_header(file, name, variable):
    if variable.dtype.isbuiltin != 1:
        raise Failure(f"{name!r} is of {variable.dtype}, which NumPy's files do not hold; write raw values (.raw), or HDF5")
    told = {"descr": np.lib.format.dtype_to_descr(variable.dtype), "fortran_order": False, "shape": variable.shape}
    np.lib.format.write_array_header_2_0(file, told)


def must_be_written(path, variables):
    """Failure for an ending under which nothing is written, or which names another dtype than the array has."""
    if path.suffix not in (".npy", *SEVERAL, *RAW_VALUES):
        raise Failure(f"{path} has no ending of a file that is written: .npy, {', '.join(SEVERAL)}; or values without shape and dtype: {', '.join(RAW_VALUES)}")
    if len(variables) == 1 and path.suffix in RAW and variables[0].dtype != RAW[path.suffix]:
        raise Failure(f"{path.suffix} is the ending of {np.dtype(RAW[path.suffix]).name}, and {variables[0].name!r} is of {variables[0].dtype}; take .raw")


def new_output(path, replace):
    """The Output that the arrays are written into."""
    return new_directory(path, replace, is_zarr) if path.suffix == ".zarr" else new_file(path, replace)


def writer(output, suffix, attributes, variables):
    """What writes these arrays into an Output whose name has such a suffix."""
    if suffix == ".npz":
        return Npz(output)
    if suffix == ".zarr":
        from stretto.storage import zarr_files  # noqa: PLC0415  zarr may be missing

        first = variables[0]
        return zarr_files.Writer(os.fspath(output.parts), attributes, bool(attributes or first.axes or "/" in first.name or len(variables) > 1))
    if suffix in SEVERAL:
        from stretto.storage import hdf5_files  # noqa: PLC0415  h5py may be missing

        return hdf5_files.Writer(os.fspath(output.parts), attributes, suffix in (".nc", ".nc4"))
    return Npy(output, header=suffix == ".npy")
