"""Tensors of CUDA in a process group: by the library's collectives of devices, in the order of torch's current stream; or, where the library has no
device, staged through pinned memory of the host."""

from __future__ import annotations

import dataclasses
import logging

import torch

from stretto.api.core import _core
from stretto.errors import UnsupportedError

STAGED_BELOW = 0  # bytes of a call


@dataclasses.dataclass
class DeviceReport:
    """What a process group has done with tensors of CUDA on this rank."""

    device_calls: int = 0  # by the library's collectives of devices
    staged_calls: int = 0  # through pinned memory of the host
    carrier: str = ""  # what moved the messages of the latest of device_calls: nccl, transport, peer or host
    reason: str = ""  # why calls are staged

    def __str__(self):
        said = [f"{self.device_calls} calls of devices" + (f", messages by {self.carrier}" if self.carrier else "")]
        if self.staged_calls:
            said.append(f"{self.staged_calls} calls staged through pinned memory of the host: {self.reason}")
        return "; ".join(said)


def reason_to_stage():
    """Why the library has no collectives of devices here; empty where it has."""
    try:
        _core.cuda_available()
    except UnsupportedError as error:
        return str(error)
    return ""


def current_stream(device):
    return torch.cuda.current_stream(device)


def first_device(tensors):
    """The device of the first tensor of CUDA; None where there is none."""
    return next((one.device for one in tensors if one.is_cuda), None)


class Devices:
    """The calls of a process group on tensors of CUDA."""

    def __init__(self, name):
        self.report = DeviceReport()
        self._name, self._reason = name, None

    def run(self, addressed, send, sends, recv, receives, count, *, fills=False):
        """A prepared call on contiguous tensors, of which send may be None (in place, or nothing is sent), and recv. fills: it reads nothing of recv."""
        if self._reason is None:
            self._reason = self.report.reason = reason_to_stage()
            if self._reason:
                logging.getLogger("stretto").warning("process group %r: tensors of CUDA are staged through pinned memory of the host: %s", self._name, self._reason)
        if self._reason:
            self._staged(addressed, send, sends, recv, receives, count, fills)
            return
        device = (send if recv is None else recv).device
        stream = current_stream(device)
        for one in (send, recv):
            if one is not None and one.numel():
                one.record_stream(stream)
        place = _core.place(device.index, stream.cuda_stream, [], False)
        self.report.carrier = addressed.run_on(place, _address(send), sends, _address(recv), receives, count)
        self.report.device_calls += 1

    def _staged(self, addressed, send, sends, recv, receives, count, fills):
        device = (send if recv is None else recv).device
        given = None if send is None else to_pinned(send)
        got = None if recv is None else torch.empty(recv.shape, dtype=recv.dtype, pin_memory=True) if fills else to_pinned(recv)
        current_stream(device).synchronize()
        addressed.run(_address(given), sends, _address(got), receives, count)
        if recv is not None:
            recv.copy_(got, non_blocking=True)  # torch keeps pinned memory until the copy is over
        self.report.staged_calls += 1


def to_pinned(tensor):
    """A copy in pinned memory of the host, enqueued on the current stream."""
    return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)


def _address(tensor):
    return 0 if tensor is None else tensor.data_ptr()


class Order:
    """A call that another thread makes, on a stream of its own: after the caller's work so far, and before what waits for it."""

    def __init__(self, device, stream):
        self.device, self.stream = device, stream
        self._ready, self._done = current_stream(device).record_event(), None

    def run(self, call):
        with torch.cuda.device(self.device), torch.cuda.stream(self.stream):
            self.stream.wait_event(self._ready)
            try:
                call()
            finally:
                self._done = self.stream.record_event()

    def join(self):
        """Later work on the current stream comes after the call."""
        current_stream(self.device).wait_event(self._done)

    def is_over(self):
        return self._done.query()

    def future(self):
        return torch.futures.Future(devices=[self.device])

    def complete(self, function, *arguments):
        """Has torch's futures take the call's stream for that on which their values are made."""
        with torch.cuda.stream(self.stream):
            function(*arguments)
