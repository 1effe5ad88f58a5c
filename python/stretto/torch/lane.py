"""The order of a group's calls: one at a time, as they were made. Started ones run on a thread of the group, so that all ranks call the same blocking
form whether they wait or not, and a call completes although nobody waits for it."""

from __future__ import annotations

import collections
import threading

import torch

from stretto.torch import cuda
from stretto.torch.work import StartedWork


class Lane:
    def __init__(self, name):
        self._name = name
        self._turn = threading.Lock()  # held during a call
        self._changed = threading.Condition()
        self._queue = collections.deque()
        self.calls = 0  # that were made
        self._pending = 0  # started calls that are not complete
        self._thread, self._closed = None, False
        self._streams = {}  # of started calls, one for each device of CUDA

    def run(self, call, *arguments):
        """The call on this thread, after all that were started before."""
        if self._pending and threading.current_thread() is not self._thread:
            self.drain()
        with self._turn:
            self.calls += 1
            return call(*arguments)

    def start(self, tensors, call):
        """The Work of a call that the group's thread will make; of tensors of CUDA, on a stream of the group, after the current stream's work so far."""
        work = StartedWork(tensors, self._order(tensors))
        with self._changed:
            if self._closed:
                raise RuntimeError(f"the process group {self._name!r} was destroyed")
            self._queue.append((work, call))
            self._pending += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=f"stretto group {self._name}", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return work

    def _order(self, tensors):
        device = cuda.first_device(tensors)
        if device is None:
            return None
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        return cuda.Order(device, self._streams[device])

    def drain(self, seconds=None):
        """Waits until all started calls are complete. Whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending, seconds)

    def close(self, seconds):
        """Completes what was started, for at most so long, and ends the thread. Whether all is complete."""
        done = self.drain(seconds)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if done and self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join(seconds)
        return done

    def _serve(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if not self._queue:
                    return
                work, call = self._queue.popleft()
            error = None
            try:
                with self._turn:
                    self.calls += 1
                    work.run(call)
            except BaseException as raised:  # noqa: BLE001  the Work raises it
                error = raised
            with self._changed:
                self._pending -= 1
                self._changed.notify_all()
            work.finish(error)
