"""Messages between two ranks. The library has collectives alone, so these travel over a gloo group of the same ranks, which nothing else uses."""

from __future__ import annotations

import collections
import datetime
import threading
import time

import torch
from torch._C import _distributed_c10d as c10d

from stretto.api.torch_store import TorchStore
from stretto.errors import ArgumentError, CarrierError, WaitTimeoutError
from stretto.torch import cuda
from stretto.torch import tensors as memory
from stretto.torch.work import UNSET, untraced


CLOCKS = 0.01  # gloo counts whole milliseconds by a clock of its own
GRACE = 5  # seconds for the answer of rank 0 to arrive


def gloo_group(store, rank, size, timeout):
    """A gloo group whose pairs of ranks connect when they first exchange a message."""
    options = c10d.ProcessGroupGloo._Options()
    options._devices = [c10d.ProcessGroupGloo.create_default_device(lazy_init=True)]
    options._timeout = timeout
    options._threads = 2
    return c10d.ProcessGroupGloo(c10d.PrefixStore("messages/", store), rank, size, options)


class Posts:
    """Messages on their way to gloo, in their order for each peer. The first message between two ranks connects them, and gloo then blocks until the
    other rank comes, for five times the timeout: so it is handed over on a thread of that peer, and the caller waits no longer than it wants.

    A message to any rank connects to all. Those of other peers do not wait for it."""

    def __init__(self, peers):
        self._peers, self._connected = peers, set()
        self._lock, self._queues, self._closed = threading.Lock(), {}, False

    def add(self, message):
        """message.peer: a rank; None for any."""
        with self._lock:
            known = len(self._connected) == self._peers if message.peer is None else message.peer in self._connected
            if self._closed or message.peer in self._queues or not known:
                queue = self._queues.get(message.peer)
                if queue is not None:
                    queue.append(message)
                elif not self._closed:
                    self._queues[message.peer] = collections.deque([message])
                    threading.Thread(target=self._serve, args=(message.peer,), name="stretto messages", daemon=True).start()
                else:
                    message.drop()
                return
        message.post()

    def close(self):
        """Drops what gloo has not got; later messages, too."""
        with self._lock:
            self._closed = True
            waiting = [message for queue in self._queues.values() for message in queue]
            for queue in self._queues.values():
                queue.clear()
        for message in waiting:
            message.drop()

    def _serve(self, peer):
        while True:
            with self._lock:
                if not self._queues[peer]:
                    del self._queues[peer]
                    return
                message = self._queues[peer].popleft()
            if message.post() and peer is not None:
                with self._lock:
                    self._connected.add(peer)


@untraced
class Message(c10d.Work):
    """A message to or from a rank. start(): hands it to gloo, and gives gloo's Work. arrived(): called once by the first wait that sees it complete."""

    def __init__(self, what, peer, group, tensor, start, arrived=None):
        super().__init__()
        self.peer = peer
        self._what, self._group, self._tensor, self._start, self._arrived = what, group, tensor, start, arrived
        self._posted, self._work, self._error = threading.Event(), None, None

    def post(self):
        """Whether gloo took it."""
        try:
            self._work = self._start()
        except BaseException as error:
            self._error = error
        self._start = None
        self._posted.set()
        return self._error is None

    def drop(self):
        """Ends it with an error where gloo has not got it: its group is destroyed."""
        self._error = RuntimeError("the process group was destroyed")
        self._start = None
        self._posted.set()

    def wait(self, timeout=UNSET):
        limit = self._group.seconds if timeout is None or timeout.total_seconds() <= 0 else timeout.total_seconds()
        began = time.monotonic()
        if not self._posted.wait(limit):
            raise self._late(limit)
        if self._error is None:
            try:
                done = self._work.wait(datetime.timedelta(seconds=max(limit - (time.monotonic() - began), CLOCKS)))
            except RuntimeError as error:
                if time.monotonic() - began >= limit - CLOCKS:
                    raise self._late(limit) from None
                self._error = error
        if self._error is not None and not isinstance(self._error, RuntimeError):
            raise self._error
        if self._error is not None:
            other = "another rank" if self.peer is None else f"rank {self.peer}"
            raise self._group.failed(CarrierError(f"the connection to {other} failed, which may have ended: {self._error}"), self._what) from None
        if self._arrived is not None:
            self._arrived()
            self._arrived = None
        return done

    def _late(self, limit):
        other = "no rank" if self.peer is None else f"rank {self.peer}"
        did = "sent nothing" if self._what == "recv" else "received nothing"
        words = f"{other} {'sent anything' if self.peer is None else did} within {limit:g} s"
        return self._group.failed(WaitTimeoutError(words), self._what)

    def synchronize(self):
        self.wait()

    def is_completed(self):
        return self._posted.is_set() and (self._error is not None or self._work.is_completed())

    def is_success(self):
        return self.is_completed() and self._error is None and self._work.is_success()

    def exception(self):
        return self._error or (self._work and self._work.exception())

    def result(self):
        return [self._tensor]

    def source_rank(self):
        return self._work._source_rank()

    _source_rank = source_rank


@untraced
class Messages:
    """`_messages` is the gloo group of an instance, `_group` its Group, and `_posts` its Posts."""

    def send(self, tensors, dst, tag=0):
        tensor = memory.readable(memory.single(tensors, "send"))
        if tensor.is_cuda:
            device, tensor = tensor.device, cuda.to_pinned(tensor)
            cuda.current_stream(device).synchronize()
        return self._post(Message("send", dst, self._group, tensor, lambda: self._messages.send([tensor], dst, tag)))

    def recv(self, tensors, src, tag=0):
        return self._receive(tensors, src, lambda into: self._messages.recv([into], src, tag))

    def recv_anysource(self, tensors, tag=0):
        return self._receive(tensors, None, lambda into: self._messages.recv_anysource([into], tag))

    def _receive(self, tensors, src, receive):
        """A message to a tensor of CUDA comes to pinned memory, and goes from there when somebody waits for it."""
        tensor = into = memory.single(tensors, "recv")
        if not tensor.is_contiguous():
            raise ArgumentError(f"recv into a tensor that is not contiguous (its strides are {tuple(tensor.stride())})")
        arrived = None
        if tensor.is_cuda:
            into = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)

            def arrived():
                tensor.copy_(into, non_blocking=True)
        return self._post(Message("recv", src, self._group, tensor, lambda: receive(into), arrived))

    def _post(self, message):
        self._posts.add(message)
        return message

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """Every rank tells rank 0 that it is here, by the store; rank 0 raises RuntimeError with the ranks that did not come in time.

        Without wait_all_ranks the first missing rank alone is named. The other ranks raise with the same names. Nothing of the group is unusable then. Started
        calls that are not complete are not waited for: they may be what waits for the missing rank.
        """
        group, store = self._group, TorchStore(self._store)
        limit = timeout.total_seconds() if timeout else group.seconds
        end = time.monotonic() + limit
        self._monitored = getattr(self, "_monitored", 0) + 1
        where, what = f"monitored/{self._monitored}", f"monitored_barrier of process group {group.name!r}, rank {group.rank} of {group.size}"
        store.set(f"{where}/{group.rank}", b"here")
        if group.rank != 0:
            missing = store.get(f"{where}/all", limit)
            if missing is None and store.get(f"{where}/0", 0) is None:
                raise RuntimeError(f"{what}: rank 0 did not come within {limit:g} s")
            if missing is None:  # rank 0 came later, and waits as long from then on
                missing = store.get(f"{where}/all", limit + GRACE)
            if missing is None:
                raise RuntimeError(f"{what}: rank 0 did not answer within {2 * limit + GRACE:g} s")
            if missing:
                raise RuntimeError(f"{what}: rank 0 found that ranks did not come within {limit:g} s: {missing.decode()}")
            return
        missing = []
        for rank in range(1, group.size):
            if store.get(f"{where}/{rank}", max(end - time.monotonic(), 0)) is None:
                missing.append(str(rank))
                if not wait_all_ranks:
                    break
        store.set(f"{where}/all", ", ".join(missing).encode())
        if missing:
            raise RuntimeError(f"{what}: ranks that did not come within {limit:g} s: {', '.join(missing)}")
