"""Arrays of the caller: what may be given for one, which type of stretto its elements have, and its memory."""

from __future__ import annotations

import numpy as np

from stretto.api.core import _core
from stretto.errors import ArgumentError, NoMemoryError, UnsupportedError

# dtype -> (type, elements of that type in one of the dtype).
TYPES = {
    np.dtype(np.float32): (_core.Type.f32, 1), np.dtype(np.float64): (_core.Type.f64, 1), np.dtype(np.float16): (_core.Type.f16, 1),
    np.dtype(np.complex64): (_core.Type.f32, 2), np.dtype(np.complex128): (_core.Type.f64, 2),
    np.dtype(np.int8): (_core.Type.i8, 1), np.dtype(np.uint8): (_core.Type.u8, 1), np.dtype(np.int16): (_core.Type.i16, 1),
    np.dtype(np.uint16): (_core.Type.u16, 1), np.dtype(np.int32): (_core.Type.i32, 1), np.dtype(np.uint32): (_core.Type.u32, 1),
    np.dtype(np.int64): (_core.Type.i64, 1), np.dtype(np.uint64): (_core.Type.u64, 1),
}
DTYPES = {kind: dtype for dtype, (kind, parts) in TYPES.items() if parts == 1}
DLPACK_CPU = (1, 3, 11, 13)  # devices of DLPack whose memory the host reads: its own, and that which CUDA and ROCm pinned or share


def _bfloat16():
    """NumPy has no bfloat16 of its own."""
    try:
        import ml_dtypes  # noqa: PLC0415
    except ImportError:
        return None
    return np.dtype(ml_dtypes.bfloat16)


def type_of(dtype):
    """The type of a dtype, and how many of them an element is."""
    found = TYPES.get(dtype)
    if found:
        return found
    if dtype.name == "bfloat16" and dtype == _bfloat16():
        TYPES[dtype] = _core.Type.bf16, 1
        return TYPES[dtype]
    if not dtype.isnative:
        raise TypeError(f"dtype {dtype.str!r} is of the other byte order; convert it by x.astype(x.dtype.newbyteorder('='))")
    raise TypeError(f"dtype {dtype} is not served; arrays of float16, bfloat16, float32, float64, complex64, complex128 and integers of 8 to 64 bits are")


def dtype_of(kind):
    """The dtype of a type."""
    if kind != _core.Type.bf16:
        return DTYPES[kind]
    found = _bfloat16()
    if found is None:
        raise UnsupportedError("values of bfloat16 need the package ml_dtypes, which is not installed")
    return found


def array(x, what="x"):
    """`x` as a NumPy array: one, an object with DLPack or the buffer protocol, or a sequence of numbers. Nothing is copied but the last."""
    if type(x) is np.ndarray:
        return x
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise TypeError(f"{what} is a masked array with masked values; fill them, as by x.filled(numpy.nan)")
    device = getattr(x, "__dlpack_device__", None)
    if device is not None and device()[0] not in DLPACK_CPU:
        raise UnsupportedError(f"{what} is on the device {tuple(map(int, device()))} of DLPack; arrays in the host's memory are served")
    try:
        return np.from_dlpack(x) if device is not None and not hasattr(x, "__array__") else np.asarray(x)
    except (ValueError, BufferError, RuntimeError) as error:
        raise TypeError(f"{what} is a {type(x).__name__} that is no array: {error}") from error


def empty(shape, dtype):
    """A new array for a result."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        raise NoMemoryError(f"no memory for a result of shape {shape} and dtype {dtype}: {error}") from error


def sequence(values, what):
    """The list of what an iterable gives."""
    try:
        return list(values)
    except NotImplementedError as error:  # a memoryview of several axes
        raise TypeError(f"{what} is a {type(values).__name__}: {error}") from error


def buffer(values):
    """What the extension borrows of a contiguous array. (NumPy does not hand out memory of a dtype that is not its own.)"""
    return values if values.dtype.isbuiltin == 1 else values.view(np.uint16)


def readable(x, what="x"):
    """A contiguous array of a type that is served; a copy where `x` is not contiguous."""
    values = array(x, what)
    if values.dtype not in TYPES:
        type_of(values.dtype)
    return values if values.flags.c_contiguous else np.ascontiguousarray(values)


def writable(out, what="out"):
    """`out`, an array that is written in place."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{what} is a {type(out).__name__}; it takes a NumPy array, which is written in place")
    if not out.flags.writeable:
        raise ArgumentError(f"{what} is read-only")
    if not out.flags.c_contiguous:
        raise ArgumentError(f"{what} is not contiguous (its strides are {out.strides}); results are written to contiguous arrays")
    return out
