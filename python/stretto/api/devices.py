"""Arrays in the memory of a GPU: CuPy's, tensors of torch, and others with __cuda_array_interface__ or DLPack. Loaded when the first such array comes.

Inside the package such an array is an OnDevice: an array of NumPy whose address is the device's. Its shape, dtype and strides serve as those of any
array; its values can be read by no function of the host.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from stretto.api import arrays
from stretto.api.core import _core
from stretto.errors import ArgumentError, NoMemoryError

LEGACY = 1  # stream of the interface: the legacy default stream, which CUDA also has as 0
DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}
DLPACK_BFLOAT, DLPACK_BOOL = 4, 6


class Memory:
    """Where an array is: its owner, the number of its device, and the stream on which it is filled; None: that is not known."""

    __slots__ = ("device", "owner", "stream")

    def __init__(self, owner, device, stream):
        self.owner, self.device, self.stream = owner, device, stream

    def __str__(self):
        return f"memory of device {self.device}"


class OnDevice(np.ndarray):
    memory: Memory

    def __array_finalize__(self, parent):
        self.memory = getattr(parent, "memory", None)

    def __array_function__(self, function, types, args, kwargs):
        if function is not np.may_share_memory:
            raise TypeError(f"{function.__name__} reads values of the host; these are in {self.memory}")
        return function(*(one.view(np.ndarray) if isinstance(one, OnDevice) else one for one in args), **kwargs)

    def __repr__(self):
        return f"<array of {self.dtype} {self.shape} in {self.memory}>"

    __str__ = __repr__

    @property
    def address(self):
        return self.__array_interface__["data"][0]


OnDevice.__array_ufunc__ = None


class _Interface:
    def __init__(self, interface, owner):
        self.__array_interface__ = interface
        self.owner = owner


def _made(memory, address, shape, dtype, strides=None, read_only=False):
    """The OnDevice of an address. strides: in bytes; None: contiguous."""
    shape = tuple(map(int, shape))
    if math.prod(shape) == 0:
        values = np.empty(shape, dtype)
    else:
        plain = np.dtype(f"u{dtype.itemsize}" if dtype.itemsize in (1, 2, 4, 8) else dtype)
        interface = {"shape": shape, "typestr": plain.str, "data": (address, read_only), "strides": strides, "version": 3}
        values = np.asarray(_Interface(interface, memory.owner)).view(dtype)
    values = values.view(OnDevice)
    values.memory = memory
    return values


def _device_of(address, what):
    """The number of the device that an address is on. ArgumentError where CUDA takes it for the host's."""
    kind, device = _core.cuda_locate(address)
    if device < 0:
        raise ArgumentError(f"{what} says that it is memory of a GPU, at address {address:#x}; CUDA takes that for memory of the host")
    return device


# ---- what an array may be


def of_tensor(x, what, bits):
    """The OnDevice of a tensor of torch, on torch's current stream of its device."""
    torch = sys.modules["torch"]
    if x.layout != torch.strided:
        raise TypeError(f"{what} is a tensor of layout {x.layout}, that is no array")
    if x.is_conj() or x.is_neg():
        raise TypeError(f"{what} is a view of a tensor that conjugates or negates it; give x.resolve_conj().resolve_neg()")
    if x.dtype == torch.bfloat16:
        found = arrays._bfloat16()
        dtype = arrays.BITS if found is None and bits else arrays.dtype_of(_core.Type.bf16)
    else:
        try:
            dtype = np.dtype(str(x.dtype).removeprefix("torch."))
        except TypeError:
            raise TypeError(f"{what} is a tensor of {x.dtype}; float16, bfloat16, float32, float64, complex and integers of 8 to 64 bits are served") from None
    memory = Memory(x, x.device.index, torch.cuda.current_stream(x.device).cuda_stream)
    return _made(memory, x.data_ptr(), x.shape, dtype, tuple(n * dtype.itemsize for n in x.stride()))


def of_interface(x, what):
    """The OnDevice of an object with __cuda_array_interface__, on the stream that it names."""
    given = x.__cuda_array_interface__
    if given.get("mask") is not None:
        raise TypeError(f"{what} is a masked array of a GPU; arrays without a mask are served")
    own = getattr(x, "dtype", None)  # CuPy has bfloat16 there, for which the interface has no word
    try:
        dtype = own if isinstance(own, np.dtype) else np.dtype(given["typestr"])
    except TypeError as error:
        raise TypeError(f"{what} has elements {given['typestr']!r}, which are no dtype: {error}") from error
    address, read_only = given["data"]
    stream = given.get("stream")
    if stream == 0:
        raise ArgumentError(f"{what} names stream 0, which __cuda_array_interface__ forbids; 1 is the legacy default stream")
    device = _device_of(address, what) if address else -1
    return _made(Memory(x, device, stream), address, given["shape"], dtype, given.get("strides"), read_only)


def of_dlpack(x, what):
    """The OnDevice of an object with DLPack alone, whose work is ready on the legacy default stream."""
    try:
        address, shape, strides, code, bits, _, device, owner = _core.of_dlpack(x)
    except TypeError as error:
        raise TypeError(f"{what} is a {type(x).__name__} that gives no array by DLPack") from error
    if code == DLPACK_BFLOAT and bits == 16:
        dtype = arrays.BITS if arrays._bfloat16() is None else arrays.dtype_of(_core.Type.bf16)
    elif code in DLPACK_KINDS and bits % 8 == 0:
        dtype = np.dtype(f"{DLPACK_KINDS[code]}{bits // 8}")
    else:
        raise TypeError(f"{what} has elements of DLPack's code {code} with {bits} bits; floats, complex numbers and integers of 8 to 64 bits are served")
    return _made(Memory((x, owner), device, None), address, shape, dtype, tuple(n * dtype.itemsize for n in strides))


# ---- new arrays, which the library of an array makes


def _library(x):
    return type(x).__module__.partition(".")[0]


def contiguous(x, values, what):
    """The OnDevice of a contiguous copy of an array, on the same stream."""
    if arrays.is_tensor(x):
        return of_tensor(x.contiguous(), what, bits=True)
    if _library(x) == "cupy":
        return of_interface(sys.modules["cupy"].ascontiguousarray(x), what)
    raise ArgumentError(f"{what} is not contiguous (its strides are {values.strides}); of arrays of a GPU other than torch's and CuPy's no copy is made here")


def empty(like, memory, shape, dtype):
    """(OnDevice, object) of a new array, made as `like` is. dtype: None for that of `like`."""
    try:
        if arrays.is_tensor(like):
            torch = sys.modules["torch"]
            made = like.new_empty(shape) if dtype is None else like.new_empty(shape, dtype=getattr(torch, dtype.name))
            return of_tensor(made, "out", bits=True), made
        if _library(like) == "cupy":
            cupy = sys.modules["cupy"]
            with cupy.cuda.Device(memory.device):
                made = cupy.empty(shape, like.dtype if dtype is None else dtype)
            return of_interface(made, "out"), made
        if hasattr(like, "new_empty"):
            made = like.new_empty(shape) if dtype is None else like.new_empty(shape, dtype=dtype)
            return of_interface(made, "out"), made
    except (RuntimeError, MemoryError) as error:
        raise NoMemoryError(f"no memory for a result of shape {shape} and dtype {dtype or like.dtype} on device {memory.device}: {error}") from error
    raise ArgumentError(f"no array like a {type(like).__name__} is made here; give out=, in {memory}")


def place(named):
    """The Place of a call from its arrays, (name, array) each; None where all are the host's. ArgumentError names those that are not together."""
    named = [(name, values) for name, values in named if values is not None]
    there = [(name, values) for name, values in named if isinstance(values, OnDevice)]
    if not there:
        return None
    first, others = next((one for one in reversed(there) if one[1].memory.device >= 0), there[-1]), {}  # the result is the last
    number = first[1].memory.device
    for name, values in named:
        where = values.memory if isinstance(values, OnDevice) else "memory of the host"
        if not isinstance(values, OnDevice) or values.memory.device not in (number, -1):
            others[name] = where
    if others:
        name, where = next(iter(others.items()))
        raise ArgumentError(f"{first[0]} is {first[1].memory}, and {name} {where}; the arrays of a call are in one memory")
    streams = [_stream(values.memory.stream) for _, values in there]
    own = streams[-1]
    return _core.place(max(number, 0), own, sorted({one for one in streams if one != own}), any(values.memory.stream is None for _, values in there))


def _stream(stream):
    return 0 if stream is None or stream == LEGACY else int(stream)



# ---- values, which the library of an array computes


def _flat(values):
    """(library, flat view) of an OnDevice for the library of its owner; (None, None) for another than torch and CuPy."""
    owner, count = values.memory.owner, values.size
    if arrays.is_tensor(owner):
        torch = sys.modules["torch"]
        return torch, torch.as_strided(owner, (count,), (1,), owner.storage_offset() + (values.address - owner.data_ptr()) // owner.element_size())
    if _library(owner) == "cupy":
        cupy = sys.modules["cupy"]
        memory = cupy.cuda.MemoryPointer(owner.data.mem, values.address - owner.data.mem.ptr)
        return cupy, cupy.ndarray((count,), owner.dtype, memory)
    return None, None


def _on_host(values):
    """A copy of its values on the host."""
    host = np.empty(values.shape, values.dtype)
    _core.cuda_copy(place([("x", values)]), host.ctypes.data, values.address, host.nbytes)
    return host


def _write(values, host):
    _core.cuda_copy(place([("x", values)]), values.address, host.ctypes.data, host.nbytes)


def copied(values):
    """An OnDevice of a copy."""
    made, _ = empty(values.memory.owner, values.memory, values.shape, None)
    _core.cuda_copy(place([("x", made)]), made.address, values.address, values.nbytes)
    return made


def clear(values):
    """Sets all values to 0."""
    library, flat = _flat(values)
    if library is None:
        _write(values, np.zeros(values.shape, values.dtype))
    else:
        flat[:] = 0


def subtract(kept, left):
    """left = kept - left, and 0 where kept is not finite."""
    library, own = _flat(left)
    _, given = _flat(kept)
    if library is not None and given is not None:
        library.subtract(given, own, out=own)
        own[~library.isfinite(given)] = 0
        return
    with np.errstate(invalid="ignore"):
        found = _on_host(kept)
        result = found - _on_host(left)
    result[~np.isfinite(found)] = 0
    _write(left, result)
