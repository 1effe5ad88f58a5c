"""What an asynchronous collective gives: torch's Work, completed by the thread of the group."""

from __future__ import annotations

import datetime
import threading
import types

import torch
from torch._C import _dynamo
from torch._C._distributed_c10d import Work

from stretto.torch.cuda import first_device

UNSET = datetime.timedelta(milliseconds=-1)  # what torch passes for "no timeout"


def untraced(entry):
    """A function, or a class with its methods, that torch.compile runs as it is, with all that it calls: torch's C++ calls it while compiled code runs, and
    dynamo would trace it. torch.compiler.disable() has the effect for some microseconds a call, this for none."""
    frames = _dynamo.eval_frame
    try:
        strategy = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
        for one in vars(entry).values() if isinstance(entry, type) else [entry]:
            if isinstance(one, types.FunctionType):
                frames.set_code_exec_strategy(one.__code__, strategy)
    except AttributeError:  # a torch that has other names for these: only programs of torch.compile need them
        pass
    return entry


def result_of(future):
    """What a future holds, raised where it is a failure. C++, as of DDP, reads set_exception() as a result that is no tensor, but a failed then() as a
    failure."""
    value = future.value()
    if isinstance(value, BaseException):
        raise value
    return value


@untraced
class StartedWork(Work):
    """A call on its way. `tensors` hold the result once it is complete. order: of tensors of CUDA, else None."""

    def __init__(self, tensors, order=None):
        super().__init__()
        self._tensors, self._order = tensors, order
        self._done = threading.Event()
        self._error = None
        self._future = self._checked = None  # as filled, and as callers have it
        self._making = threading.Lock()  # of the future

    def run(self, call):
        """Makes the call, on the thread of the group."""
        if self._order is None:
            call()
        else:
            self._order.run(call)

    def finish(self, error=None):
        """The call is complete, or has failed. Called once."""
        with self._making:
            self._error = error
            self._done.set()
            future = self._future
        if future is not None:
            self._fill(future)

    def _fill(self, future):
        if self._error is not None:
            future.set_result(self._error)
        elif self._order is None:
            future.set_result(self._tensors)
        else:
            self._order.complete(future.set_result, self._tensors)

    def wait(self, timeout=UNSET):
        """Returns when the call is complete; raises its failure. A timeout of its own raises RuntimeError, and the call goes on.

        Of tensors of CUDA it returns when the call is enqueued, and the current stream waits for the result.
        """
        if not self._done.is_set():
            limit = None if timeout is None or timeout.total_seconds() <= 0 else timeout.total_seconds()
            if not self._done.wait(limit):
                raise RuntimeError(f"the collective is not complete after {limit} s")
        if self._error is not None:
            raise self._error
        if self._order is not None:
            self._order.join()
        return True

    def synchronize(self):
        self.wait()

    def is_completed(self):
        return self._done.is_set() and (self._order is None or self._error is not None or self._order.is_over())

    def is_success(self):
        return self.is_completed() and self._error is None

    def exception(self):
        return self._error

    def result(self):
        return self._tensors

    def source_rank(self):
        raise RuntimeError("a collective has no source rank")

    _source_rank = source_rank

    def get_future(self):
        """A torch.futures.Future of the list of result tensors."""
        with self._making:
            if self._future is not None:
                return self._checked
            future = self._future = torch.futures.Future() if self._order is None else self._order.future()
            self._checked = future.then(result_of)
            if not self._done.is_set():
                return self._checked
        self._fill(future)
        return self._checked


@untraced
class DoneWork(Work):
    """A call that is complete. Made once a blocking call, so that it holds no more than the result, and no dict: that takes 0.7 µs."""

    __slots__ = ("_tensors",)

    def __init__(self, tensors):
        Work.__init__(self)
        self._tensors = tensors

    def wait(self, timeout=UNSET):
        return True

    def synchronize(self):
        pass

    def is_completed(self):
        return True

    is_success = is_completed

    def exception(self):
        return None

    def result(self):
        return self._tensors

    def get_future(self):
        device = first_device(self._tensors)
        future = torch.futures.Future() if device is None else torch.futures.Future(devices=[device])
        future.set_result(self._tensors)
        return future


@untraced
class Joined(Work):
    """Several calls as one."""

    def __init__(self, works):
        super().__init__()
        self._works = works

    def wait(self, timeout=UNSET):
        for one in self._works:
            one.wait(timeout)
        return True

    synchronize = wait

    def is_completed(self):
        return all(one.is_completed() for one in self._works)

    def is_success(self):
        return all(one.is_success() for one in self._works)

    def exception(self):
        return next((error for one in self._works if (error := one.exception()) is not None), None)

    def result(self):
        return [tensor for one in self._works for tensor in one.result()]

    def get_future(self):
        return torch.futures.collect_all([one.get_future() for one in self._works]).then(lambda _: self.result())
