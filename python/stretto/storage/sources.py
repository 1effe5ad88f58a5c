"""Files that hold arrays, read in pieces: .npy, .npz, raw values, containers, streams; others by modules of their own.

HDF5 and NetCDF-4 files are read by hdf5_files, classic NetCDF by netcdf_files, and Zarr's directories by zarr_files.

Nothing is mapped into memory: a file that is cut while it is read would end the process.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import pathlib
import re
import zipfile
import zlib

import numpy as np

from stretto.errors import Failure, StrettoError
from stretto.ratio import shape_of
from stretto.storage import container, elements, layout
from stretto.storage.pieces import pieces

PIECE = 4 << 20  # bytes of values that are read at once
RAW = {".f32": "<f4", ".f64": "<f8", ".i32": "<i4", ".i64": "<i8", ".f16": "<f2"}
KINDS = ((b"\x93NUMPY", "npy"), (b"PK\x03\x04", "npz"), (b"PK\x05\x06", "npz"), (layout.MAGIC, "container"), (b"STRT", "stream"),
         (b"\x89HDF\r\n\x1a\n", "hdf5"), (b"CDF\x01", "netcdf"), (b"CDF\x02", "netcdf"), (b"CDF\x05", "netcdf"))

KIND_NAMES = {"npy": "a .npy", "npz": "a .npz", "container": "a .stretto file", "stream": "a stream", "hdf5": "of HDF5 or NetCDF-4",
              "netcdf": "of classic NetCDF", "zarr": "Zarr's"}
ZARR = ("zarr.json", ".zgroup", ".zarray")  # one of which a directory of Zarr has


def magic_of(front):
    """The kind of a file that begins so; None where it may be nothing but values."""
    return next((kind for magic, kind in KINDS if front.startswith(magic)), None)


class Variable:
    """One array of a file. Its dtype is of this machine's byte order, whatever the file's is.

    `is_coordinate`: whether it says where the elements of others are. `stored`: its bytes in the file, and `promised`: the bound that it keeps, where
    these are known.
    """

    def __init__(self, name, shape, dtype, read_flat, attributes=None, axes=None, is_coordinate=False, multiple=1, stored=None, promised=None, marks=(), origin=None):
        self.name, self.shape, self.dtype = name, tuple(shape), elements.native(dtype)
        self.attributes, self.axes, self.is_coordinate, self.multiple, self.stored = attributes or {}, axes, is_coordinate, multiple, stored
        self.marks = list(marks)  # of missing data, as the file names them
        self.origin = origin or {}  # as of layout.Entry
        self.promised, self.path = promised, None  # the path is its Source's
        self._read_flat = read_flat

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def boxes(self):
        """Index tuples of pieces of at most PIECE bytes, in C order."""
        return pieces(self.shape, max(PIECE // self.dtype.itemsize, 1), self.multiple)

    def read(self, box=()):
        """The elements of a box that is contiguous in C order, flat."""
        first, count = 0, self.size
        for axis, one in enumerate(box):
            rest = math.prod(self.shape[axis + 1:])
            first, count = first + one.start * rest, (one.stop - one.start) * rest
        with reading(self.path):
            return np.ascontiguousarray(self._read_flat(first, count), self.dtype)


class Source:
    """An open file: its variables by name, its attributes, what was left out of it and why, and its bytes."""

    def __init__(self, path, kind):
        self.path, self.kind, self.variables, self.attributes, self.left_out = path, kind, {}, {}, {}
        self._begin = self._state()

    def _state(self):
        found = os.stat(self.path)
        if self.kind == "zarr":  # files, their bytes, and when one of them or a directory changed last
            states = [os.stat(os.path.join(folder, name)) for folder, _, names in os.walk(self.path) for name in (*names, "")]
            return len(states), sum(one.st_size for one in states), max(one.st_mtime_ns for one in states)
        return found.st_ino, found.st_size, found.st_mtime_ns

    @property
    def nbytes(self):
        return self._begin[1]

    def add(self, variable):
        variable.path = self.path
        self.variables[variable.name] = variable

    def must_be_unchanged(self):
        if self._state() != self._begin:
            raise Failure(f"{self.path} changed while it was read", status=1)

    def chosen(self, names):
        """The variables of these names, or all."""
        for name in names or ():
            if name in self.left_out:
                raise Failure(f"{name!r} of {self.path} cannot be compressed: {self.left_out[name]}")
            if name not in self.variables:
                raise Failure(f"{self.path} has no array {name!r}; it has {', '.join(map(repr, self.variables)) or 'none'}")
        found = [self.variables[name] for name in names] if names else list(self.variables.values())
        if not found:
            raise Failure(f"{self.path} holds no array of numbers")
        return found


def kind_of(path, shape=None, dtype=None):
    """npy, npz, container, stream, hdf5, netcdf, zarr or raw."""
    if not path.exists():
        raise Failure(f"{path}: no such file or directory")
    if path.is_dir():
        return _kind_of_directory(path, shape is not None or dtype is not None)
    if not path.is_file():
        raise Failure(f"{path} is no regular file")
    with reading(path), open(path, "rb") as file:
        front = file.read(8)
    if path.suffix in RAW:
        return "raw"
    kind, told = magic_of(front), shape is not None or dtype is not None
    if kind and told:
        _refuse_shape(path, kind)
    if kind:
        return kind
    if not told:
        if path.suffix in (".npy", ".npz", ".h5", ".hdf5", ".nc", ".nc4", ".stretto"):
            raise Failure(f"{path} does not begin as a file of {path.suffix} does; it is damaged or of another kind", status=1)
        raise Failure(f"{path} is no .npy, .npz, HDF5, NetCDF, Zarr or .stretto file; a file of nothing but values takes --dtype, and --shape")
    return "raw"


def _refuse_shape(path, kind):
    raise Failure(f"{path} is {KIND_NAMES[kind]} and says its own shape and dtype; --shape and --dtype are for files of nothing but values")


def is_zarr(path):
    return any(os.path.exists(os.path.join(path, name)) for name in ZARR)


def _kind_of_directory(path, told):
    if not is_zarr(path):
        raise Failure(f"{path} is no regular file, and no array or group of Zarr: it has no {', '.join(ZARR[:2])} or {ZARR[2]}")
    if told:
        _refuse_shape(path, "zarr")
    return "zarr"


@contextlib.contextmanager
def reading(path):
    """What goes wrong while a file is read becomes a Failure that names the file."""
    try:
        yield
    except StrettoError as error:
        raise Failure(str(error), status=1) from None
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise Failure(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}", status=1) from None


@contextlib.contextmanager
def opened(path, shape=None, dtype=None):
    """The Source of a file. Failure where it is none that can be read; its message names the file."""
    path = pathlib.Path(path)
    kind = kind_of(path, shape, dtype)
    with contextlib.ExitStack() as stack:
        with reading(path):
            source = Source(path, kind)
            if kind in ("hdf5", "netcdf", "zarr"):  # whose packages may be missing
                importlib.import_module(f"stretto.storage.{kind}_files").fill(source, stack)
            else:
                FILL[kind](source, stack, *((shape, dtype) if kind == "raw" else ()))
        yield source


def name_coordinates(source):
    """Takes for coordinates what CF's attributes name: it says where elements are, as dimension scales do."""
    for one in source.variables.values():
        for told in (one.attributes.get("coordinates"), one.attributes.get("bounds")):
            for word in told.split() if isinstance(told, str) else ():
                named = source.variables.get(f"{one.name.rpartition('/')[0]}/{word}".lstrip("/"))
                if named:
                    named.is_coordinate = True


def descriptor_of(source, stack):
    """A descriptor of the file, which is closed with the source."""
    descriptor = os.open(source.path, os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return descriptor


def positioned(descriptor, path, dtype, offset):
    """Reads elements of a descriptor from an offset on."""

    def read(first, count):
        out, at = np.empty(count, dtype), offset + first * dtype.itemsize
        view = memoryview(out.view(np.uint8).reshape(-1))
        while view:
            got = os.preadv(descriptor, [view[:1 << 30]], at)
            if not got:
                raise Failure(f"{path} is truncated: {len(view)} bytes are missing", status=1)
            view, at = view[got:], at + got
        return out

    return read


def _raw(source, stack, shape, text):
    path, size = source.path, source.nbytes
    dtype = dtype_of(text or RAW.get(path.suffix))
    if text is None and path.suffix not in RAW:
        raise Failure(f"{path} takes --dtype, such as float32, beside --shape")
    if size % dtype.itemsize:
        raise Failure(f"{path} has {size} bytes, no multiple of the {dtype.itemsize} of {dtype}")
    found = shape_of(path, size // dtype.itemsize, shape.replace(",", "x") if shape else None)
    source.add(Variable(re.sub(r"_\d+(x\d+)*$", "", path.stem) or "data", found, dtype, positioned(descriptor_of(source, stack), path, dtype, 0)))


def dtype_of(text):
    """A dtype of numbers from the command line: float32, f4, >f4."""
    if text is None:
        return np.dtype("<f4")
    try:
        dtype = np.dtype(text)
    except TypeError:
        dtype = None
    if dtype is None or dtype.name not in elements.DTYPES:
        raise Failure(f"--dtype {text!r} is none of {', '.join(elements.DTYPES)}")
    return dtype


def _npy_header(file):
    """(shape, whether in Fortran's order, dtype) of an .npy that is read up to its values."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)


def _is_kept(source, name, dtype):
    """Whether arrays of such a dtype are read; else the source knows why not."""
    if dtype.name in elements.DTYPES:
        return True
    source.left_out[name] = f"its dtype is {dtype}"
    return False


def _npy(source, stack):
    with open(source.path, "rb") as file:
        shape, fortran, dtype = _npy_header(file)
        offset = file.tell()
    name = source.path.stem
    if not _is_kept(source, name, dtype):
        raise Failure(f"{source.path} holds {dtype}; arrays of {', '.join(elements.DTYPES)} are read")
    if source.nbytes - offset < math.prod(shape) * dtype.itemsize:
        raise Failure(f"{source.path} is truncated: {source.nbytes - offset} bytes of values, {math.prod(shape) * dtype.itemsize} of shape {shape}", status=1)
    read = positioned(descriptor_of(source, stack), source.path, dtype, offset)
    if fortran and len(shape) > 1:  # in memory as a whole: rows lie scattered
        whole = read(0, math.prod(shape)).reshape(shape[::-1]).T.reshape(-1)
        read = lambda first, count: whole[first:first + count]  # noqa: E731
    source.add(Variable(name, shape, dtype, read))


class _Member:
    """Values of one .npy of an .npz: from its front on, and again from the front where earlier ones are wanted."""

    def __init__(self, archive, member):
        self.archive, self.member, self.file, self.at = archive, member, None, 0
        self.shape, self.fortran, self.dtype = self._open()

    def _open(self):
        if self.file:
            self.file.close()
        self.file, self.at = self.archive.open(self.member), 0
        return _npy_header(self.file)

    def read(self, first, count):
        if first < self.at:
            self._open()
        while self.at < first:
            self.at += len(self._values(min(first - self.at, PIECE)))
        found = self._values(count)
        self.at += count
        return found

    def _values(self, count):
        content = bytearray()
        while len(content) < count * self.dtype.itemsize:
            part = self.file.read(count * self.dtype.itemsize - len(content))
            if not part:
                raise Failure(f"{self.archive.filename}: {self.member} is truncated", status=1)
            content += part
        return np.frombuffer(content, self.dtype)


def _npz(source, stack):
    archive = stack.enter_context(zipfile.ZipFile(source.path))
    for member in archive.namelist():
        if not member.endswith(".npy"):
            continue
        name, one = member[:-4], _Member(archive, member)
        stack.callback(lambda one=one: one.file.close())
        if not _is_kept(source, name, one.dtype):
            continue
        read = one.read
        if one.fortran and len(one.shape) > 1:
            whole = one.read(0, math.prod(one.shape)).reshape(one.shape[::-1]).T.reshape(-1)
            read = lambda first, count, whole=whole: whole[first:first + count]  # noqa: E731
        source.add(Variable(name, one.shape, one.dtype, read))


def _container(source, stack):
    file = stack.enter_context(container.open(source.path))
    source.attributes = file.attributes
    for name, array in file.items():
        def read(first, count, array=array):
            return array._read_flat(first, first + count, np.empty(count, array.dtype))

        origin = array._entry.origin
        promised = array.promised_error if array.largest_error is None else array.largest_error
        source.add(Variable(name, array.shape, array.dtype, read, array.attributes, array.axes, multiple=(origin.get("chunks") or [1])[0],
                            stored=array.nbytes, promised=promised, marks=array.marks, origin=origin))


def _stream(source, stack):
    from stretto.api.streams import Stream  # noqa: PLC0415  the extension may be missing

    stream = Stream.from_bytes(source.path.read_bytes())
    whole = stream.decompress()
    source.add(Variable(source.path.stem, whole.shape, whole.dtype, lambda first, count: whole[first:first + count], stored=stream.nbytes,
                        promised=stream.promised_error))


FILL = {"raw": _raw, "npy": _npy, "npz": _npz, "container": _container, "stream": _stream}
