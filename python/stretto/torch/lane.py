"""The order of a group's calls: one at a time, as they were made. Started ones run on threads of the group, so that all ranks call the same blocking
form whether they wait or not, and a call completes although nobody waits for it."""

from __future__ import annotations

import collections
import dataclasses
import threading
from collections.abc import Callable

import torch

from stretto.api.core import _core
from stretto.torch import cuda
from stretto.torch.tensors import ranges_overlap, storage_range
from stretto.torch.work import StartedWork


@dataclasses.dataclass
class _Started:
    """A call that waits for its turn, or runs."""

    work: StartedWork
    call: Callable
    number: int | None  # among the calls that may run beside others; None: it runs alone
    memory: list  # address ranges of what such a call reads and writes

    def may_run_beside(self, other):
        return other.number is not None and not any(ranges_overlap(one, its) for one in self.memory for its in other.memory)


class Lane:
    """width: the number of communicators, a function. The thread of the first call that may run beside others asks for it once, in the order of the calls.

    background: nobody waits for a call at once, so that its waits for messages leave the core to others."""

    def __init__(self, name, width=lambda: 1, *, background=False):
        self._background = background
        self._name, self._ask_width, self._width = name, width, None
        self._turns = [threading.Lock()]  # one a communicator, held during its calls
        self._changed = threading.Condition()
        self._queue = collections.deque()
        self._running = []
        self._blocking = self._started = self._numbered = 0  # calls that were made; _numbered: of the started ones, those that may run beside others
        self._pending = 0  # started calls that are not complete
        self._threads, self._closed = [], False  # one a communicator
        self._streams = {}  # of started calls, one for each device of CUDA

    @property
    def calls(self):
        """The number of calls that were made."""
        return self._blocking + self._started

    def run(self, call, *arguments):
        """The call on this thread, after all that were started before."""
        if self._pending and threading.current_thread() not in self._threads:
            self.drain()
        with self._turns[0]:
            self._blocking += 1
            return call(*arguments)

    def start(self, tensors, call, *, beside=False):
        """The Work of a call that the group's thread will make; of tensors of CUDA, on a stream of the group, after the current stream's work so far.

        beside: the call takes the number of a communicator, reads and writes `tensors` alone, and may run beside such calls on other memory. Every call with
        this flag takes the communicators in turns, so that each rank has the same calls on each communicator.
        """
        work = StartedWork(tensors, self._order(tensors))
        memory = [storage_range(one) for one in tensors] if beside else []
        with self._changed:
            if self._closed:
                raise RuntimeError(f"the process group {self._name!r} was destroyed")
            self._queue.append(_Started(work, call, self._numbered if beside else None, memory))
            self._numbered += beside
            self._started += 1
            self._pending += 1
            if not self._threads:
                self._add_thread()
            self._changed.notify_all()
        return work

    def _add_thread(self):
        thread = threading.Thread(target=self._serve, args=(len(self._threads),), name=f"stretto group {self._name}", daemon=True)
        self._threads.append(thread)
        thread.start()

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
        """Completes what was started, for at most so long, and ends the threads. Whether all is complete."""
        done = self.drain(seconds)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads if done else ():
            if threading.current_thread() is not thread:
                thread.join(seconds)
        return done

    def _is_next(self, side):
        """Whether the thread of communicator `side` makes the first waiting call now."""
        if not self._queue:
            return False
        call = self._queue[0]
        if call.number is None or self._width is None:
            return side == 0 and not self._running
        return side == call.number % self._width and all(call.may_run_beside(other) for other in self._running)

    def _find_width(self):
        self._width = self._ask_width()
        with self._changed:
            while len(self._threads) < self._width:
                self._turns.append(threading.Lock())
                self._add_thread()

    def _serve(self, side):
        _core.wait_in_background(self._background)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_next(side) or (self._closed and not self._queue))
                if not self._queue:
                    return
                started = self._queue.popleft()
                self._running.append(started)
                self._changed.notify_all()
            error = None
            try:
                with self._turns[side]:
                    if started.number is None:
                        started.work.run(started.call)
                    else:
                        if self._width is None:
                            self._find_width()
                        started.work.run(lambda: started.call(side))
            except BaseException as raised:  # noqa: BLE001  the Work raises it
                error = raised
            with self._changed:
                self._running.remove(started)
                self._pending -= 1
                self._changed.notify_all()
            started.work.finish(error)
