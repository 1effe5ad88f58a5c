"""Tensors of CUDA for a torch without CUDA: their memory is the emulated device's (gpu_arrays.py), and every function of torch runs on copies on the host.

stand_in_for_cuda() makes torch.cuda's streams and events such that all work is done when it is enqueued. A tensor made by tensor(values) says that it is on
cuda:0; what torch computes from it is another one, and views share its memory.
"""

import contextlib
import pathlib
import sys
import typing

import torch
from torch.utils._pytree import tree_flatten, tree_map

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import gpu_arrays  # noqa: E402
import numpy as np  # noqa: E402
from stretto.api.core import _core  # noqa: E402

DEVICE = torch.device("cuda:0")
PLACE = []


def place():
    if not PLACE:
        PLACE.append(_core.place(0, 0, [], False))
    return PLACE[0]


class Tensor(torch.Tensor):
    """`memory`: bytes of the device, of which this is a view with the geometry of the tensor `like` of the device meta."""

    @staticmethod
    def __new__(cls, memory, like):
        made = torch.Tensor._make_wrapper_subclass(cls, like.shape, strides=like.stride(), storage_offset=like.storage_offset(), dtype=like.dtype, device="cpu")
        made.memory = memory
        return made

    is_cuda, is_cpu, device = True, False, DEVICE  # for Python; torch's own code would ask a driver

    __torch_function__ = torch._C._disabled_torch_function_impl

    def data_ptr(self):
        return self.memory.address + self.storage_offset() * self.element_size()

    def record_stream(self, stream):
        """All work is done already."""

    def cpu(self):
        return on_host(self)

    def new_empty(self, shape, dtype=None):
        return empty(shape if isinstance(shape, (tuple, list)) else (shape,), dtype or self.dtype)

    def untyped_storage(self):
        return Storage(self.memory)

    def __repr__(self):
        return f"<tensor of {self.dtype} {tuple(self.shape)} of the emulated device>"

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        return dispatch(function, arguments, keywords or {})


class Storage:
    def __init__(self, memory):
        self.memory = memory

    def nbytes(self):
        return self.memory.nbytes


def meta(tensor):
    return torch.empty(0, dtype=tensor.dtype, device="meta").set_(torch.empty(tensor.memory.nbytes // tensor.element_size(), dtype=tensor.dtype, device="meta").untyped_storage(),
                                                                   tensor.storage_offset(), tensor.shape, tensor.stride())


def empty(shape, dtype):
    like = torch.empty(shape, dtype=dtype, device="meta")
    return Tensor(gpu_arrays.Interface((max(like.numel(), 1) * like.element_size(),), np.uint8), like)


def whole_on_host(tensor):
    """The bytes of all of its memory, and the tensor of them on the host."""
    content = torch.empty(tensor.memory.nbytes, dtype=torch.uint8)
    _core.cuda_copy(place(), content.data_ptr(), tensor.memory.address, content.numel())
    return content, content.view(tensor.dtype).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def on_host(tensor):
    return whole_on_host(tensor)[1].clone()


def tensor(values):
    made = empty(values.shape, values.dtype)
    content = values.contiguous()
    _core.cuda_copy(place(), made.memory.address, content.data_ptr(), content.numel() * content.element_size())
    return made


def dispatch(function, arguments, keywords):
    if function.is_view:
        first = arguments[0]
        viewed = function(meta(first), *arguments[1:], **keywords)
        return tree_map(lambda one: Tensor(first.memory, one) if isinstance(one, torch.Tensor) else one, viewed)
    written, names = [], [one.name for one in function._schema.arguments]
    writes = {one.name for one in function._schema.arguments if one.alias_info is not None and one.alias_info.is_write}
    plain = [one for one in tree_flatten((arguments, keywords))[0] if isinstance(one, torch.Tensor) and not isinstance(one, Tensor)]

    def given(name, value):
        if not isinstance(value, Tensor):
            return value
        content, host = whole_on_host(value)
        if name in writes:
            written.append((value, content, host))
        return host

    positional = [tree_map(lambda one, name=name: given(name, one), value) for name, value in zip(names, arguments)]
    named = {name: tree_map(lambda one, name=name: given(name, one), value) for name, value in keywords.items()}
    result = function(*positional, **named)
    for value, content, _ in written:
        _core.cuda_copy(place(), value.memory.address, content.data_ptr(), content.numel())

    def of_device(one):
        if not isinstance(one, torch.Tensor):
            return one
        for value, _, host in written:
            if one is host:
                return value
        return one if any(one is other for other in plain) else tensor(one)

    return tree_map(of_device, result)


class Event:
    def query(self):
        return True


class Stream:
    cuda_stream = 0

    def __init__(self, device=None):
        self.device = device

    def record_event(self):
        return Event()

    def wait_event(self, event):
        """All work is done already."""

    def synchronize(self):
        """As wait_event."""


def stand_in_for_cuda():
    torch.cuda.current_stream = lambda device=None: Stream(device)
    torch.cuda.Stream = Stream
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    torch.cuda.stream = torch.cuda.device = lambda _: contextlib.nullcontext()
    new = {name: getattr(torch, name) for name in ("empty", "zeros")}

    class Future(torch.futures.Future[typing.TypeVar("T")]):
        def __init__(self, *, devices=None):
            super().__init__()

    torch.futures.Future = Future

    def made(name):
        def make(*shape, pin_memory=False, device=None, **keywords):
            values = new[name](*shape, **keywords, **({} if device in (None, DEVICE) else {"device": device}))
            return tensor(values) if device == DEVICE else values

        return make

    torch.empty, torch.zeros = made("empty"), made("zeros")
