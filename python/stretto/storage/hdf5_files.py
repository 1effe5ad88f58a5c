"""HDF5 and NetCDF-4 files (which are HDF5): their arrays of numbers, attributes and dimensions, read in pieces and written."""

from __future__ import annotations

import contextlib

import numpy as np

from stretto.errors import Failure, UnsupportedError
from stretto.storage import elements, layout
from stretto.storage.sources import Variable

try:
    import h5py
except ImportError:
    raise Failure("HDF5 and NetCDF-4 files need the package h5py: pip install 'stretto[hdf5]'") from None

with contextlib.suppress(UnsupportedError):  # then datasets with stretto's filter are not read
    import stretto.storage.hdf5  # noqa: F401  the filter

# How HDF5 and NetCDF-4 say which axis is which; dimensions are written anew.
INTERNAL = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"}


def fill(source, stack):
    """Adds the datasets of an HDF5 file to a Source."""
    file = stack.enter_context(h5py.File(source.path, "r"))
    source.attributes = attributes_of(file)

    def visit(name, item):
        if not isinstance(item, h5py.Dataset):
            return
        if item.shape is None or item.dtype.name not in elements.DTYPES:
            source.left_out[name] = "it is empty" if item.shape is None else f"its dtype is {item.dtype}"
            return
        source.add(Dataset(name, item))

    file.visititems(visit)


class Dataset(Variable):
    """A dataset of HDF5."""

    def __init__(self, name, dataset):
        axes = [(scales.keys() or [scales.label])[0].rsplit("/", 1)[-1] for scales in dataset.dims]
        super().__init__(name, dataset.shape, dataset.dtype, None, attributes_of(dataset), axes if all(axes) else None, bool(dataset.is_scale),
                         dataset.chunks[0] if dataset.chunks else 1, dataset.id.get_storage_size())
        self._dataset = dataset

    def read(self, box=()):
        return np.ascontiguousarray(self._dataset[box], self.dtype).reshape(-1)


def attributes_of(item):
    """Attributes that a container holds: numbers and text. Others, as references are, are left out."""
    found = {}
    for name in item.attrs:
        if name in INTERNAL or name.startswith(("_Netcdf4", "_NC", "_nc3")):
            continue
        with contextlib.suppress(TypeError, ValueError, OSError):
            value = _plain(item.attrs[name])
            layout.told_attributes({name: value})
            found[name] = value
    return found


def _plain(value):
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, h5py.Empty):
        return ""
    if isinstance(value, np.ndarray) and value.dtype.kind in "SOU":
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, (np.bytes_, np.str_)):
        return _plain(value.item())
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value, elements.native(value.dtype))[()]
    return str(value) if isinstance(value, str) else value


class Writer:
    """Writes arrays as datasets; those that axes are named like become dimension scales."""

    def __init__(self, path, attributes):
        self._file, self._axes = h5py.File(path, "w"), {}
        _set(self._file, attributes)

    def start(self, name, variable):
        try:
            self._dataset = self._file.create_dataset(name, variable.shape, variable.dtype)
        except (ValueError, TypeError) as error:
            raise Failure(f"{name!r} cannot be a dataset: {error}") from None
        _set(self._dataset, variable.attributes)
        self._axes[name] = variable.axes or ()

    def put(self, box, values):
        target = self._dataset[box].shape if not box else tuple(one.stop - one.start for one in box) + self._dataset.shape[len(box):]
        self._dataset[box] = values.reshape(target)

    def finish(self):
        for name, axes in self._axes.items():
            group = name.rsplit("/", 1)[0] + "/" if "/" in name else ""
            for which, axis in enumerate(axes):
                scale = self._file.get(group + axis, self._file.get(axis))
                self._file[name].dims[which].label = axis
                if not isinstance(scale, h5py.Dataset) or scale.shape != self._file[name].shape[which:which + 1]:
                    continue
                if not scale.is_scale:
                    scale.make_scale(axis)
                if scale != self._file[name]:
                    self._file[name].dims[which].attach_scale(scale)
        self._file.close()

    def close(self):
        self._file.close()


def _set(item, attributes):
    for name, value in attributes.items():
        if value is None or isinstance(value, dict):
            continue
        item.attrs[name] = value
