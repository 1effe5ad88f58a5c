"""Messages between two ranks. The library has collectives alone, so these travel over a gloo group of the same ranks, which nothing else uses."""

from __future__ import annotations

import datetime

import torch
from torch._C import _distributed_c10d as c10d

from stretto.torch import cuda
from stretto.torch import tensors as memory
from stretto.torch.work import UNSET


def gloo_group(store, rank, size, timeout):
    """A gloo group whose pairs of ranks connect when they first exchange a message."""
    options = c10d.ProcessGroupGloo._Options()
    options._devices = [c10d.ProcessGroupGloo.create_default_device(lazy_init=True)]
    options._timeout = timeout
    options._threads = 2
    return c10d.ProcessGroupGloo(c10d.PrefixStore("messages/", store), rank, size, options)


class StagedReceive(c10d.Work):
    """A message that comes to pinned memory, and goes from there to a tensor of CUDA when somebody waits for it."""

    def __init__(self, work, pinned, tensor):
        super().__init__()
        self._work, self._pinned, self._tensor = work, pinned, tensor

    def wait(self, timeout=UNSET):
        done = self._work.wait() if timeout is None or timeout.total_seconds() <= 0 else self._work.wait(timeout)
        if self._pinned is not None:
            self._tensor.copy_(self._pinned, non_blocking=True)
            self._pinned = None
        return done

    def synchronize(self):
        self.wait()

    def is_completed(self):
        return self._work.is_completed()

    def is_success(self):
        return self._work.is_success()

    def exception(self):
        return self._work.exception()

    def result(self):
        return [self._tensor]

    def source_rank(self):
        return self._work._source_rank()

    _source_rank = source_rank


class Messages:
    """`_messages` is the gloo group of an instance, and `_group` its Group."""

    def send(self, tensors, dst, tag=0):
        tensor = memory.readable(memory.single(tensors, "send"))
        if tensor.is_cuda:
            device, tensor = tensor.device, cuda.to_pinned(tensor)
            cuda.current_stream(device).synchronize()
        return self._messages.send([tensor], dst, tag)

    def recv(self, tensors, src, tag=0):
        return self._received(memory.single(tensors, "recv"), lambda into: self._messages.recv([into], src, tag))

    def recv_anysource(self, tensors, tag=0):
        return self._received(memory.single(tensors, "recv"), lambda into: self._messages.recv_anysource([into], tag))

    @staticmethod
    def _received(tensor, receive):
        if not tensor.is_cuda:
            return receive(tensor)
        into = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        return StagedReceive(receive(into), into, tensor)

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """Every rank tells rank 0 that it is here, by the store; rank 0 raises RuntimeError with the ranks that did not come in time.

        Without wait_all_ranks the first missing rank alone is named. The other ranks raise where rank 0 did. Nothing of the group is unusable then.
        """
        group, store = self._group, self._store
        limit = timeout or datetime.timedelta(seconds=group.seconds)
        self._monitored = getattr(self, "_monitored", 0) + 1
        where = f"monitored/{self._monitored}"
        group.lane.drain(limit.total_seconds())
        if group.rank != 0:
            store.set(f"{where}/{group.rank}", "here")
            try:
                store.wait([f"{where}/all"], limit)
            except c10d.DistStoreError:
                raise RuntimeError(f"monitored_barrier of process group {group.name!r}: rank 0 did not answer within {limit}") from None
            if store.get(f"{where}/all") != b"here":
                raise RuntimeError(f"monitored_barrier of process group {group.name!r}: rank 0 found ranks missing")
            return
        missing = []
        for rank in range(1, group.size):
            try:
                store.wait([f"{where}/{rank}"], datetime.timedelta(milliseconds=1) if missing else limit)
            except c10d.DistStoreError:
                missing.append(rank)
                if not wait_all_ranks:
                    break
        store.set(f"{where}/all", "missing" if missing else "here")
        if missing:
            raise RuntimeError(f"monitored_barrier of process group {group.name!r}: ranks that did not come within {limit}: {', '.join(map(str, missing))}")
