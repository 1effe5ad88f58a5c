"""Zarr's arrays and groups in a directory, of both formats: read in pieces, and written in format 3."""

from __future__ import annotations

import base64
import contextlib
import math
import struct
import warnings

import numpy as np

from stretto.errors import Failure
from stretto.storage import elements, layout, missing
from stretto.storage.sources import Variable, name_coordinates, reading

try:
    import zarr
except ImportError:
    zarr = None
if not hasattr(zarr, "create_array"):
    raise Failure("Zarr's arrays need the package zarr, 3.1 or newer: pip install 'zarr>=3.1'")

for _codec in ("zarr", "numcodecs"):  # without stretto's codecs other arrays are still read
    with contextlib.suppress(ImportError):
        __import__(f"stretto.storage.{_codec}")

CACHE = 256 << 20  # bytes of a row of chunks that is kept, at most: several pieces may need parts of one
DIMENSIONS = "_ARRAY_DIMENSIONS"  # where xarray keeps the names of axes in format 2
REFUSALS = (TypeError, KeyError, RuntimeError, NotImplementedError)  # what zarr raises besides of metadata and chunks that it cannot read


@contextlib.contextmanager
def _reading(path):
    """As reading(), of zarr's errors, too; zarr's warnings of types without a specification are not the user's."""
    with reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except REFUSALS as error:
            raise Failure(f"{path} cannot be read: {error}", status=1) from None


def fill(source, _):
    """Adds an array, or the arrays of a group and of those below it, to a Source."""
    with _reading(source.path):
        found = zarr.open(str(source.path), mode="r")
        if isinstance(found, zarr.Array):
            _add(source, source.path.stem, found)
        else:
            source.attributes = _attributes_of(found)
            for name, one in sorted(found.members(max_depth=None)):
                if isinstance(one, zarr.Array):
                    _add(source, name, one)
    name_coordinates(source)


def _add(source, name, array):
    if array.dtype.name in elements.DTYPES:
        source.add(Chunked(name, array))
    else:
        source.left_out[name] = f"its dtype is {array.dtype}"


def _attributes_of(item):
    """Attributes that a container holds. xarray's fill value, which stands as text of base 64 in format 3, becomes a number."""
    found = {}
    for name, value in dict(item.attrs).items():
        if name == "_FillValue" and isinstance(value, str):
            with contextlib.suppress(ValueError, struct.error):
                value = struct.unpack("<d", base64.b64decode(value, validate=True))[0]
        with contextlib.suppress(TypeError, ValueError):
            layout.told_attributes({name: value})
            found[name] = value
    return found


class Chunked(Variable):
    """An array of Zarr."""

    def __init__(self, name, array):
        attributes, last = _attributes_of(array), name.rsplit("/", 1)[-1]
        chosen = array.fill_value is not None and array.fill_value != 0  # 0 is Zarr's default
        if DIMENSIONS in attributes and chosen and array.dtype.kind == "f":
            attributes["_FillValue"] = float(array.fill_value)  # which xarray keeps there alone in format 2
        axes = [axis or "" for axis in getattr(array.metadata, "dimension_names", None) or attributes.pop(DIMENSIONS, None) or ()]
        chunk = (array.shards or array.chunks or (1,))[0]
        super().__init__(name, array.shape, array.dtype, None, attributes, axes if any(axes) else None, axes == [last], chunk, array.nbytes_stored())
        self._array, self._chunk, self._kept = array, chunk, (-1, None)
        if chosen and self.dtype.kind != "V":  # attributes hold no bfloat16
            self.origin["fill"] = np.asarray(array.fill_value, self.dtype)[()]
        if elements.is_floating(self.dtype):
            self.marks = missing.marks_in(attributes, *([array.fill_value] if chosen else []))

    def read(self, box=()):
        with _reading(self.path):
            return np.ascontiguousarray(self._values(box), self.dtype).reshape(-1)

    def _values(self, box):
        """The elements of a box. A row of chunks is decoded once where several boxes lie in it."""
        if not box or box[0].stop - box[0].start >= self._chunk or self._chunk * self.nbytes // self.shape[0] > CACHE:
            return self._array[box]
        which = box[0].start // self._chunk
        first = which * self._chunk
        if box[0].stop > first + self._chunk:
            return self._array[box]
        if self._kept[0] != which:
            self._kept = which, self._array[first:first + self._chunk]
        return self._kept[1][(slice(box[0].start - first, box[0].stop - first), *box[1:])]


class Writer:
    """Writes arrays into the directory `path`: one at the root, or several as a group. `left_out`: {what JSON has no place for: why}."""

    def __init__(self, path, attributes, group):
        self._path, self._group, self.left_out = path, group, {}
        if group:
            zarr.open_group(path, mode="w", attributes=self._plain(attributes, "the file"))

    def start(self, name, variable):
        box = next(iter(variable.boxes()), ())
        chunks = [one.stop - one.start for one in box] + [max(n, 1) for n in variable.shape[len(box):]]  # so each piece is a whole chunk
        fill = missing.fill_of(variable)
        try:
            self._array = zarr.create_array(
                self._path, name=name if self._group else None, shape=variable.shape, chunks=tuple(chunks), dtype=variable.dtype, overwrite=not self._group,
                fill_value=0 if fill is None else fill.item(), dimension_names=[axis or None for axis in variable.axes or ()] or None,
                attributes=self._plain(variable.attributes, repr(name)))
        except (ValueError, OverflowError, *REFUSALS) as error:
            raise Failure(f"{name!r} of {variable.dtype} cannot be an array of Zarr: {error}") from None

    def put(self, box, values):
        shape = [one.stop - one.start for one in box] + list(self._array.shape[len(box):])
        self._array[box if box else ...] = values.reshape(shape)

    def finish(self):
        pass

    close = finish

    def _plain(self, attributes, whose):
        """Attributes as JSON."""
        found = {}
        for name, value in attributes.items():
            value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
            if name == "_FillValue" and isinstance(value, float):
                value = base64.b64encode(struct.pack("<d", value)).decode()
            if _is_json(value):
                found[name] = value
            else:
                self.left_out[f"attribute {name!r} of {whose}"] = f"JSON has no {value!r}"
        return found


def _is_json(value):
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    return not isinstance(value, complex) and not (isinstance(value, float) and not math.isfinite(value))
