"""A process group's communicators, made at their first collective, and its calls: one for each collective, dtype, operation and root. Also the communicators of
hook and fsdp over a process group of any backend."""

from __future__ import annotations

import collections
import hashlib
import json
import logging
import threading
import time
import weakref

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import default_pg_timeout

import stretto.errors
from stretto.api import ranks
from stretto.api.core import _core
from stretto.api.options import options
from stretto.torch.cuda import Devices
from stretto.torch.errors import UNUSABLE, of_torch
from stretto.torch.lane import Lane

KINDS = _core.Collective
_open = weakref.WeakValueDictionary()  # groups by the process groups' names
LATE = 1.5  # seconds that the end of a communicator takes where a rank does not come (src/modules/ucx/transport.cpp)
GRACE = 5  # seconds for started calls when the group is destroyed
SIDES = 2  # communicators of a group of several hosts: while a call ends, and its last messages are awaited, another uses the network


def report(group=None):
    """What a process group over stretto has done with tensors of CUDA on this rank: a DeviceReport. group: None for the default group."""
    name = (group or dist.group.WORLD).group_name
    if name not in _open:
        raise stretto.errors.ArgumentError(f"the process group {name!r} is none of the backend stretto, or has ended")
    return _open[name].devices.report


def timeout_of(group):
    """The timeout of a process group of any backend, in seconds; of several backends the shortest; torch's default where they tell none."""
    own = _open.get(group.group_name)
    if own is not None:
        return own.seconds
    found = []
    for device in ("cpu", "cuda"):
        try:
            options = group._get_backend(torch.device(device)).options
        except (RuntimeError, AttributeError):  # no backend for this device, or one without options
            continue
        found.append(options._timeout.total_seconds())
    return min(found, default=default_pg_timeout.total_seconds())


_places = weakref.WeakKeyDictionary()  # process groups: how many owners of each kind have used the group
_placing = threading.Lock()


def next_place(group, kind):
    """The number of an owner of communicators among those of its kind that have used the group. Ranks use their owners in one order; those that a rank made and
    never used do not count."""
    with _placing:
        count = _places.setdefault(group, collections.Counter())
        count[kind] += 1
        return count[kind] - 1


def communicators(group, names, seconds, *, settings, what, hint):
    """A communicator for each name, over the ranks of a process group of any backend. Collective.

    Raises IncompatibleError on all ranks, with the names and values that differ, unless all have equal settings: a dict that JSON can hold. what: whose settings
    they are. hint: a question for the user where ranks do not come or differ.
    """
    try:
        made = [ranks.init(group, name=name, timeout=seconds) for name in names]
        different = differences(made[0], settings, seconds)
    except stretto.errors.WaitTimeoutError as error:
        raise stretto.errors.WaitTimeoutError(f"{error}; {hint}") from None
    if different:
        for one in made:
            one.free()
        raise stretto.errors.IncompatibleError(f"{what} differ: {different}; {hint}")
    for one in made:
        one._rounding = False
    return made


def differences(comm, settings, seconds, most=3):
    """The settings that ranks have otherwise than rank 0, in words; empty where all are equal. Collective. Ranks send digests, and the settings where these
    differ."""
    text = json.dumps(settings, default=bool).encode()  # default: numpy.bool_
    digest = np.frombuffer(hashlib.sha256(text).digest(), np.uint8)
    if (comm.allgather(digest, timeout=seconds)[0] == digest).all():
        return ""
    longest = int(comm.allreduce(np.array([len(text)]), op="max", timeout=seconds)[0][0])
    texts = comm.allgather(np.frombuffer(text.ljust(longest), np.uint8), timeout=seconds)[0]
    given = [json.loads(bytes(one)) for one in texts]
    found = []
    for name in dict.fromkeys(name for one in given for name in one):
        values = [one.get(name) for one in given]
        other = next((rank for rank, value in enumerate(values) if value != values[0]), None)
        if other is not None:
            found.append(f"{name} is {values[0]} on rank 0, {values[other]} on rank {other}")
    return ", ".join(found[:most]) + (f", and {len(found) - most} more" if len(found) > most else "")


class Prepared:
    """A call with all of its arguments but its memory, which are tensors of the host or of CUDA."""

    def __init__(self, addressed, devices):
        self._devices, self._addressed = devices, addressed
        self.run_at, self.run_in_place_at = addressed.run, addressed.run_in_place  # by addresses of the host

    def run(self, send, sends, recv, receives, count):
        """Contiguous tensors, or None, and the elements that are read and written there."""
        one = send if recv is None else recv
        if one.is_cuda:
            self._devices.run(self._addressed, send, sends, recv, receives, count, fills=send is not None)
        else:
            self.run_at(0 if send is None else send.data_ptr(), sends, 0 if recv is None else recv.data_ptr(), receives, count)

    def run_in_place(self, tensor, count):
        if tensor.is_cuda:
            self._devices.run(self._addressed, None, 0, tensor, count, count)
        else:
            self.run_in_place_at(tensor.data_ptr(), count)


class Group:
    """name: of the process group. store: its own, in which the ranks meet."""

    def __init__(self, store, rank, size, name, seconds):
        self.rank, self.size, self.name = rank, size, name
        self.lane, self.devices = Lane(name, self._width), Devices(name)
        self.seconds = seconds  # the limit of each call
        self._store, self._comms = store, [None] * SIDES
        self._broken = None  # the failure of all calls from now on
        _open[name] = self
        self.calls = {}  # that were made before, by what tells them apart: functions of addresses and counts
        self._made = {}

    def set_seconds(self, seconds):
        """The limit of each call from now on."""
        self.seconds = seconds
        self.calls.clear()
        self._made.clear()

    @property
    def comm(self):
        """The communicator. The first use is collective over the group."""
        return self._comm_of(0)

    def _comm_of(self, side):
        if self._broken is not None:
            raise self._broken
        if self._comms[side] is None:
            name = f"torch-{self.name}" + (f"-{side}" if side else "")
            try:
                self._comms[side] = ranks.init(self._store, self.rank, self.size, name=name, timeout=self.seconds)
            except stretto.errors.StrettoError as error:
                self._broken = error
                raise
        return self._comms[side]

    def _width(self):
        """The number of communicators that pay. Collective; equal on all ranks. In the memory of one host no time between messages is left to another call."""
        try:
            return 1 if self.comm.allreduce(np.zeros(1, np.float32), timeout=self.seconds)[1].algorithm == "node" else SIDES
        except stretto.errors.StrettoError as error:
            raise self.ended(error, "allreduce") from None

    def prepared(self, kind, type_, op=_core.Op.sum, root=0, send_in_place=False, recv_in_place=False, sent=(), received=(), seconds=None, side=0):
        """The call with these arguments, which is kept. side: the communicator's number."""
        key = (kind, type_, op, root, send_in_place, recv_in_place, tuple(sent), tuple(received), seconds, side)
        found = self._made.get(key)
        if found is None:
            if len(self._made) > 500:  # as of uneven splits, which differ from call to call
                self._made.clear()
            how = options({"timeout": self.seconds if seconds is None else seconds})
            addressed = _core.Addressed(self._comm_of(side)._comm, how, kind, type_, op, root, send_in_place, recv_in_place, list(sent), list(received))
            found = self._made[key] = Prepared(addressed, self.devices)
        return found

    def ended(self, error, what):
        """The failure of a collective as torch's programs expect it. Where a rank was missing or has ended, later calls on any communicator fail at once."""
        if self._broken is None and isinstance(error, (stretto.errors.WaitTimeoutError, stretto.errors.CarrierError)):
            self._broken = stretto.errors.WaitTimeoutError(f"{UNUSABLE}{str(error).removeprefix(UNUSABLE)}")
            self.calls.clear()
            self._made.clear()
        return self.failed(error, what)

    def failed(self, error, what):
        """A failure with the names of the call and of the group."""
        return of_torch(error, f"{what} of process group {self.name!r}, rank {self.rank} of {self.size}")

    def free(self):
        """Ends the group, collectively over its ranks."""
        waited = min(GRACE, self.seconds)
        done = self.lane.close(waited)
        comms, self._comms = self._comms, [None] * SIDES
        self.calls.clear()
        self._made.clear()
        self._broken = RuntimeError(f"the process group {self.name!r} was destroyed")
        late = "" if done else f"while a started call waited for another rank, after {waited:g} s"
        for comm in filter(None, comms):
            if late:  # it would wait as long
                ranks.leave(comm)
                continue
            began = time.monotonic()
            comm.free()
            took = time.monotonic() - began
            if took > min(LATE, 0.75 * self.seconds):
                late = f"without another rank, which did not come to its end within {took:.1f} s"
        if late:
            logging.getLogger("stretto").warning("the process group %r was destroyed on rank %d of %d %s", self.name, self.rank, self.size, late)

    def abandon(self):
        """Ends the group on this rank alone: its communicators stay with what other ranks may still do with it."""
        for comm in filter(None, self._comms):
            ranks.leave(comm)
        self._comms = [None] * SIDES
        self.calls.clear()
        self._made.clear()
        self._broken = RuntimeError(f"the process group {self.name!r} was aborted")
