"""Arrays of the caller: what may be given for one, which type of stretto its elements have, and its memory."""

from __future__ import annotations

import sys

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
DLPACK_CUDA = 2


# The elements of a bfloat16 tensor where ml_dtypes is not installed: their bits, under a dtype that equals no other.
BITS = np.dtype([("bfloat16", np.uint16)])
TYPES[BITS] = _core.Type.bf16, 1


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


def is_tensor(x):
    """Whether x is a tensor of torch. Torch is not imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def _of_tensor(x, what, bits):
    """The memory of a tensor, borrowed. `bits`: without ml_dtypes the elements of a bfloat16 tensor have the dtype BITS; else UnsupportedError."""
    torch = sys.modules["torch"]
    if x.device.type == "cuda":
        return _devices().of_tensor(x.detach(), what, bits)
    if x.device.type != "cpu":
        raise UnsupportedError(f"{what} is a tensor on the device {str(x.device)!r}; tensors in the host's memory and in CUDA's are served")
    try:
        if x.dtype != torch.bfloat16:
            return x.detach().numpy()
        values = x.detach().view(torch.int16).numpy()  # neither NumPy nor DLPack of torch takes bfloat16
    except (TypeError, RuntimeError) as error:
        raise TypeError(f"{what} is a tensor of {x.dtype}, layout {x.layout}, that is no array: {error}") from error
    dtype = _bfloat16()
    if dtype is None and not bits:
        dtype_of(_core.Type.bf16)
    return values.view(BITS if dtype is None else dtype)


def _devices():
    """The module for arrays of a GPU, which nothing else needs."""
    from stretto.api import devices  # noqa: PLC0415

    return devices


def on_device(values):
    """Whether an array is an OnDevice of stretto.api.devices."""
    return type(values) is not np.ndarray and hasattr(values, "memory")


def array(x, what="x", *, bits=False):
    """`x` as a NumPy array: one, a tensor of torch, an object with DLPack or the buffer protocol, or a sequence of numbers. Nothing is copied but the last.

    In the memory of a GPU it is an OnDevice of stretto.api.devices, whose values the host cannot read.
    """
    if type(x) is np.ndarray:
        return x
    if is_tensor(x):
        return _of_tensor(x, what, bits)
    if hasattr(x, "__cuda_array_interface__"):
        return _devices().of_interface(x, what)
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise TypeError(f"{what} is a masked array with masked values; fill them, as by x.filled(numpy.nan)")
    device = getattr(x, "__dlpack_device__", None)
    if device is not None and device()[0] not in DLPACK_CPU:
        if device()[0] == DLPACK_CUDA:
            return _devices().of_dlpack(x, what)
        raise UnsupportedError(f"{what} is on the device {tuple(map(int, device()))} of DLPack; arrays in the host's memory and in CUDA's are served")
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


def readable(x, what="x", *, bits=False):
    """A contiguous array of a type that is served; a copy where `x` is not contiguous."""
    values = array(x, what, bits=bits)
    if values.dtype not in TYPES:
        type_of(values.dtype)
    if values.flags.c_contiguous:
        return values
    return _devices().contiguous(x, values, what) if on_device(values) else np.ascontiguousarray(values)


def writable(out, what="out", *, bits=False):
    """The array whose memory is that of `out`, which is written in place."""
    values = out if isinstance(out, np.ndarray) else _borrowed(out, what, bits)
    if not values.flags.writeable:
        raise ArgumentError(f"{what} is read-only")
    if not values.flags.c_contiguous:
        raise ArgumentError(f"{what} is not contiguous (its strides are {values.strides}); results are written to contiguous arrays")
    return values


def _borrowed(out, what, bits):
    if is_tensor(out) or hasattr(out, "__dlpack_device__") or hasattr(out, "__cuda_array_interface__"):
        return array(out, what, bits=bits)
    try:
        return np.asarray(memoryview(out))
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(f"{what} is a {type(out).__name__}; it takes memory that is written in place: an array of NumPy, a tensor of torch, or an object "
                        f"with DLPack or the buffer protocol ({error})") from error


def of_bytes(values, out, dtype):
    """The array of `out`, whose memory is `values`; bytes without a type of their own (bytearray, mmap) are elements of `dtype`."""
    untyped = values.dtype == np.uint8 and dtype != np.uint8 and not isinstance(out, np.ndarray) and not is_tensor(out) and not on_device(values)
    return values.reshape(-1).view(dtype) if untyped and values.size % dtype.itemsize == 0 else values


def result(like, shape, dtype, values=None):
    """(array, object) of a new result: a tensor where `like` is one, an array of the same GPU where `values`, its array, are there, else an array."""
    if values is not None and on_device(values):
        return _devices().empty(like, values.memory, shape, None)
    if not is_tensor(like):
        made = empty(shape, dtype)
        return made, made
    try:
        made = like.new_empty(shape)
    except (RuntimeError, MemoryError) as error:
        raise NoMemoryError(f"no memory for a result of shape {shape} and dtype {like.dtype}: {error}") from error
    return _of_tensor(made, "out", bits=True), made
