"""HDF5 and NetCDF-4 files (which are HDF5): their arrays of numbers, attributes and dimensions, read in pieces and written."""

from __future__ import annotations

import contextlib

import numpy as np

from stretto.errors import Failure, UnsupportedError
from stretto.storage import elements, layout, missing
from stretto.storage.sources import Variable, name_coordinates, reading

try:
    import h5py
except ImportError:
    raise Failure("HDF5 and NetCDF-4 files need the package h5py: pip install h5py") from None

with contextlib.suppress(UnsupportedError):  # then datasets with stretto's filter are not read
    import stretto.storage.hdf5  # noqa: F401  the filter

NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."  # NetCDF-4's own words in the name of such a scale
REFUSALS = (TypeError, ValueError, RuntimeError, OverflowError)  # what h5py raises of values and names that HDF5 has no place for
CACHE = 256 << 20  # bytes of decompressed chunks of a dataset that HDF5 keeps, at most: several pieces may need parts of one
# How HDF5 and NetCDF-4 say which axis is which; dimensions are written anew.
INTERNAL = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"}


def fill(source, stack):
    """Adds the datasets of an HDF5 file to a Source."""
    file = stack.enter_context(h5py.File(source.path, "r", rdcc_nbytes=CACHE, rdcc_nslots=100_003))
    source.attributes = attributes_of(file)

    def visit(name, item):
        if not isinstance(item, h5py.Dataset) or _text(item.attrs.get("NAME", "")).startswith(NO_VARIABLE):
            return
        try:
            dtype = item.dtype
        except (TypeError, ValueError, RuntimeError) as error:  # a type of HDF5 that NumPy has none for, as H5T_TIME
            source.left_out[name] = f"its type has no dtype: {error}"
            return
        if item.shape is None or dtype.name not in elements.DTYPES:
            source.left_out[name] = "it is empty" if item.shape is None else f"its dtype is {dtype}"
            return
        source.add(Dataset(name, item))

    # By name and apart from the visit: h5py itself fails at datasets whose type has no dtype.
    names = []
    file.visit(names.append)
    for name in names:
        try:
            item = file[name]
        except (TypeError, ValueError, RuntimeError, KeyError) as error:
            source.left_out[name] = f"h5py does not open it: {error}"
            continue
        visit(name, item)
    name_coordinates(source)


class Dataset(Variable):
    """A dataset of HDF5."""

    def __init__(self, name, dataset):
        axes = [_axis(scales) for scales in dataset.dims]
        if dataset.is_scale and axes == [""]:
            axes = [name.rsplit("/", 1)[-1]]
        super().__init__(name, dataset.shape, dataset.dtype, None, attributes_of(dataset), axes if any(axes) else None, bool(dataset.is_scale),
                         dataset.chunks[0] if dataset.chunks else 1, dataset.id.get_storage_size())
        self._dataset = dataset
        chosen = dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
        if elements.is_floating(self.dtype):
            self.marks = missing.marks_in(self.attributes, *([dataset.fillvalue] if chosen else []))
        if chosen and self.dtype.kind != "V":  # attributes hold no bfloat16
            self.origin["fill"] = np.asarray(dataset.fillvalue, self.dtype)[()]
        if dataset.chunks:
            self.origin["chunks"] = list(map(int, dataset.chunks))
        if None in dataset.maxshape:
            self.origin["unlimited"] = [axis for axis, most in enumerate(dataset.maxshape) if most is None]
        if axes and "/" in name:  # a group's dimensions may be those of the groups above it
            self.origin["dimensions"] = [scales[0].name if len(scales) else "" for scales in dataset.dims]

    def read(self, box=()):
        with reading(self.path):
            return np.ascontiguousarray(self._dataset[box], self.dtype).reshape(-1)


def _axis(scales):
    """The name of an axis: of its first dimension scale, or its label; "" where it has none."""
    return scales[0].name.rsplit("/", 1)[-1] if len(scales) else scales.label


def _text(value):
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


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
    """Writes arrays as datasets. Those that axes are named like become dimension scales.

    netcdf: other axes become dimensions without a variable, as NetCDF-4 wants them. `left_out`: {what HDF5 has no place for: why}.
    """

    def __init__(self, path, attributes, netcdf):
        self._file, self._netcdf, self._written, self.left_out = h5py.File(path, "w", track_order=netcdf), netcdf, {}, {}  # NetCDF adds to no other
        self._set(self._file, attributes, "the file")

    def start(self, name, variable):
        try:
            self._group(name.rpartition("/")[0])
            self._dataset = self._file.create_dataset(name, variable.shape, variable.dtype, fillvalue=missing.fill_of(variable), **_places(variable))
        except REFUSALS as error:
            raise Failure(f"{name!r} cannot be a dataset: {error}") from None
        self._set(self._dataset, variable.attributes, repr(name))
        self._written[name] = variable.axes or (), variable.origin

    def _group(self, path):
        """The group at a path, which is made where it is missing."""
        found = self._file
        for name in filter(None, path.split("/")):
            if not isinstance(found, h5py.Group):
                raise ValueError(f"{found.name!r} is an array and no group")
            found = found[name] if name in found else found.create_group(name, track_order=self._netcdf)
        return found

    def put(self, box, values):
        self._dataset[box] = values.reshape([one.stop - one.start for one in box] + list(self._dataset.shape[len(box):]))

    def finish(self):
        for name, (axes, origin) in self._written.items():
            for which, axis in enumerate(axes):
                if axis:
                    with self._leaving_out(f"axis {axis!r} of {name!r}"):
                        self._name_axis(name, which, axis, which in origin.get("unlimited", ()), (origin.get("dimensions") or [""] * len(axes))[which])
        self._file.close()

    def _name_axis(self, name, which, axis, grows, path):
        """Attaches the scale of an axis: the one at `path`, or without that of the nearest group that has one of this name and length."""
        dataset, length = self._file[name], self._file[name].shape[which]
        if not self._netcdf:
            dataset.dims[which].label = axis
        above = path.rpartition("/")[0] or "/"
        group = dataset.parent if path.rpartition("/")[2] != axis else self._group(above) if self._netcdf else self._file.get(above)

        def scale_in(one):
            found = one.get(axis) if isinstance(one, h5py.Group) else None
            fits = isinstance(found, h5py.Dataset) and found.ndim == 1 and (found.shape[0] == length or (grows and found.maxshape == (None,)))
            return found if fits else None

        scale = scale_in(group)
        while scale is None and not path and group.name != "/":
            group = group.parent
            scale = scale_in(group)
        if scale is None and self._netcdf:
            group = group if path else dataset.parent
            if axis in group:
                return
            scale = group.create_dataset(axis, (length,), ">f4", **({"maxshape": (None,), "chunks": (1024,)} if grows else {}))
            scale.make_scale(f"{NO_VARIABLE}{length:10d}")
        if scale is None:
            return
        if not scale.is_scale:
            scale.make_scale(axis)
        if scale != dataset:
            dataset.dims[which].attach_scale(scale)

    def close(self):
        self._file.close()

    def _set(self, item, attributes, whose):
        for name, value in attributes.items():
            with self._leaving_out(f"attribute {name!r} of {whose}"):
                if value is None or isinstance(value, dict):
                    raise TypeError(f"HDF5 has no {'null' if value is None else 'dict'}")
                item.attrs[name] = _netcdf_text(value) if self._netcdf and isinstance(value, str) else value

    @contextlib.contextmanager
    def _leaving_out(self, what):
        try:
            yield
        except (*REFUSALS, OSError) as error:
            if getattr(error, "errno", None):  # the system's, as of a full disk; h5py has OSErrors of its own
                raise
            self.left_out[what] = str(error)


def _places(variable):
    """Chunks and unlimited axes of a dataset, as its origin had them."""
    unlimited, chunks = variable.origin.get("unlimited", ()), variable.origin.get("chunks")
    fixed = [n for axis, n in enumerate(variable.shape) if axis not in unlimited]
    if not (unlimited or chunks) or 0 in fixed:  # HDF5 has no chunks of no elements
        return {}
    within = chunks and tuple(one if axis in unlimited else min(one, n) for axis, (one, n) in enumerate(zip(chunks, variable.shape)))
    return {"chunks": within or True, "maxshape": tuple(None if axis in unlimited else n for axis, n in enumerate(variable.shape))}


def _netcdf_text(text):
    """Text as netCDF4 writes it: characters of ASCII as NC_CHAR, others as NC_STRING."""
    if not text.isascii():
        return text
    return np.bytes_(text.encode()) if text else h5py.Empty("S1")
