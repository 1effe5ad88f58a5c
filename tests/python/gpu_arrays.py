"""Arrays in the memory of the emulated device (tests/device/emulated_plugin.cpp): with __cuda_array_interface__, and with DLPack alone."""

import ctypes
import math

import numpy as np

from stretto.api.core import _core

LEGACY = 1  # a stream of the interface


class Interface:
    """An array of a device that has the interface of CUDA's arrays, and nothing else of NumPy's."""

    def __init__(self, shape, dtype, device=0, stream=LEGACY):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.device, self.stream, self.strides, self.read_only = device, stream, None, False
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self.address = _core.cuda_allocate(device, max(self.nbytes, 1))

    def __del__(self):
        _core.cuda_release(self.device, self.address)

    @classmethod
    def of(cls, values, device=0, stream=LEGACY):
        values = np.ascontiguousarray(values)
        made = cls(values.shape, values.dtype, device, stream)
        _core.cuda_copy(made._place(), made.address, values.ctypes.data, made.nbytes)
        return made

    def _place(self):
        return _core.place(self.device, 0, [], False)

    def numpy(self):
        """Its values, on the host."""
        values = np.empty(self.shape, self.dtype)
        _core.cuda_copy(self._place(), values.ctypes.data, self.address, self.nbytes)
        return values

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address if self.nbytes else 0, self.read_only), "strides": self.strides,
                "version": 3, "stream": self.stream}


class Library(Interface):
    """An array whose library makes new ones, as torch does."""

    def new_empty(self, shape, dtype=None):
        return type(self)((shape,) if isinstance(shape, int) else shape, self.dtype if dtype is None else dtype, self.device, self.stream)

    def __getitem__(self, key):
        return Slice(self, key.indices(self.shape[0])[1])


class Slice:
    """The beginning of a flat array."""

    def __init__(self, whole, count):
        self.whole, self.shape, self.dtype = whole, (count,), whole.dtype
        self.__cuda_array_interface__ = {**whole.__cuda_array_interface__, "shape": (count,)}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class DLPack:
    """An array of a device that has DLPack alone."""

    def __init__(self, array):
        self.array, self.kept = array, []

    def __dlpack_device__(self):
        return 2, self.array.device

    def __dlpack__(self, **_):
        shape = (ctypes.c_int64 * len(self.array.shape))(*self.array.shape)
        code = {"i": 0, "u": 1, "f": 2, "c": 5}[self.array.dtype.kind]
        made = _Managed(_Tensor(self.array.address, 2, self.array.device, len(shape), code, 8 * self.array.dtype.itemsize, 1, shape, None, 0), None, None)
        self.kept.append((made, shape))
        return _capsule(ctypes.addressof(made), b"dltensor", None)

    def numpy(self):
        return self.array.numpy()
