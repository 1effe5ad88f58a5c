"""Arrays in the memory of the emulated device (tests/device/emulated/emulated_plugin.cpp): with __cuda_array_interface__, and with DLPack alone."""

import ctypes
import math
import os

import numpy as np

from stretto.api.core import _core

LEGACY = 1  # a stream of the interface


def handle_of(stream):
    """The handle of a stream of the interface."""
    return 0 if stream in (None, LEGACY) else stream


class Interface:
    """An array of a device that has the interface of CUDA's arrays, and nothing else of NumPy's."""

    def __init__(self, shape, dtype, device=0, stream=LEGACY):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.device, self.stream, self.strides, self.read_only = device, stream, None, False
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self.address = _core.cuda_allocate(device, max(self.nbytes, 1))

    def __del__(self):
        if not hasattr(self, "kept"):
            _core.cuda_release(self.device, self.address)

    @classmethod
    def of(cls, values, device=0, stream=LEGACY):
        values = np.ascontiguousarray(values)
        made = cls(values.shape, values.dtype, device, stream)
        _core.cuda_copy(made._place(), made.address, values.ctypes.data, made.nbytes)
        return made

    def _place(self, stream=None):
        return _core.place(self.device, handle_of(stream), [], False)

    def numpy(self):
        """Its values, on the host."""
        return self.numpy_on(LEGACY)

    def numpy_on(self, stream):
        """Its values, copied in the order of a stream of the interface."""
        values = np.empty(self.shape, self.dtype)
        _core.cuda_copy(self._place(stream), values.ctypes.data, self.address, self.nbytes)
        return values

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address if self.nbytes else 0, self.read_only), "strides": self.strides,
                "version": 3, "stream": self.stream}


class Emulator:
    """What the emulated plugin is asked beside: its tables of functions (src/device/plugin.hpp, tests/device/emulated/emulated.hpp), by their places."""

    USE_DEVICE, CREATE_STREAM, COPY, RACES, FIRST_RACE = 4, 8, 17, 7, 8

    def __init__(self):
        library = ctypes.CDLL(os.environ["STRETTO_CUDA_PLUGIN"])
        for name in ("stretto_cuda_plugin", "stretto_cuda_emulation"):
            getattr(library, name).restype = ctypes.POINTER(ctypes.c_void_p)
        self._plugin, self._emulation = library.stretto_cuda_plugin(), library.stretto_cuda_emulation()

    def _call(self, place, *arguments):
        assert ctypes.CFUNCTYPE(ctypes.c_int, *(type(one) for one in arguments))(self._plugin[place])(*arguments) == 0

    def new_stream(self, device):
        """The handle of a stream, which lives as long as the process."""
        stream = ctypes.c_void_p()
        self._call(self.USE_DEVICE, ctypes.c_int(device))
        self._call(self.CREATE_STREAM, ctypes.pointer(stream))
        self._call(self.USE_DEVICE, ctypes.c_int(0))
        return stream.value

    def filled_late(self, values, device, stream):
        """An array that is filled on the stream when somebody asks how far the stream is."""
        made = Interface(values.shape, values.dtype, device, stream)
        made.source = np.ascontiguousarray(values)
        self._call(self.USE_DEVICE, ctypes.c_int(device))
        self._call(self.COPY, ctypes.c_void_p(made.address), ctypes.c_void_p(made.source.ctypes.data), ctypes.c_uint64(made.nbytes), ctypes.c_void_p(handle_of(stream)))
        self._call(self.USE_DEVICE, ctypes.c_int(0))
        return made

    def first_race(self):
        """The first pair of accesses to memory that nothing orders; None where there was none."""
        if ctypes.CFUNCTYPE(ctypes.c_long)(self._emulation[self.RACES])() == 0:
            return None
        return ctypes.CFUNCTYPE(ctypes.c_char_p)(self._emulation[self.FIRST_RACE])().decode()


class Library(Interface):
    """An array whose library makes new ones, as torch does."""

    @classmethod
    def wrapped(cls, array):
        """The same memory, of an array that makes new ones."""
        made = object.__new__(cls)
        made.__dict__, made.kept = dict(array.__dict__), array
        return made

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
