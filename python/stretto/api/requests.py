"""Collectives that were started."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from stretto.api.progress import progress
from stretto.api.report import Report
from stretto.errors import StrettoError

PROMPT = 100  # looks of a coroutine before it naps between them
NAP = 0.0005  # seconds


class Started:
    """A started call of the extension, and what is left to do once it is complete: finish(report), which may be None."""

    def __init__(self, started, finish=None):
        self.test, self.wait = started.test, started.wait
        self._started, self._finish = started, finish

    def report(self):
        report = Report(*self._started.report())
        if self._finish is not None:
            self._finish(report)
        return report


class Batch:
    """Several started calls as one."""

    def __init__(self, started):
        self._started, self._left, self._failure = started, list(started), None

    def _each(self, look):
        """Advances all, also those after one that failed, whose memory is in use until they are complete. Whether all are complete."""
        left, kept = self._left, []
        for i, one in enumerate(left):
            try:
                if look(one) is False:
                    kept.append(one)
            except StrettoError as error:
                self._failure = self._failure or error
            except BaseException:  # Ctrl-C: this one and those after it are not complete
                self._left = kept + left[i:]
                raise
        self._left = kept
        if not self._left and self._failure is not None:
            raise self._failure
        return not self._left

    def test(self):
        return self._each(lambda one: one.test())

    def wait(self):
        self._each(lambda one: one.wait())

    def report(self):
        return Report.of_segments([one.report() for one in self._started])


class Request:
    """A started collective. Its arrays are borrowed until it is complete.

    wait() and `await` give what the blocking method returns: the result and a report. All requests of a communicator advance whenever one of them is
    tested or waited for. A request with a callback or a future is also advanced by a thread of this process. One without, that is dropped before it is
    complete, keeps its arrays, and its communicator, for good.
    """

    def __init__(self, lock, started, result):
        self._lock = lock  # of the communicator, which one thread uses at a time
        self._started, self._result = started, result
        self._outcome = None  # (report, failure), once complete
        self._callbacks: list[Callable[[Request], Any]] = []

    def _look(self, look):
        """Whether it is complete after look(), which is test or wait of the started call. Raises the failure of the collective."""
        if self._outcome is None:
            with self._lock:
                callbacks = self._advance(look)
            for one in callbacks:
                self._call(one)
        if self._outcome is None:
            return False
        if self._outcome[1] is not None:
            raise self._outcome[1]
        return True

    def _advance(self, look):
        """Sets the outcome where look() finds it. Returns the callbacks that are due then, to be called without the lock, which is held here."""
        if self._outcome is not None:
            return []
        try:
            if look() is False:
                return []
            outcome = self._started.report(), None
        except Exception as error:  # noqa: BLE001  whatever it is, the caller gets it
            outcome = None, error
        callbacks, self._callbacks = self._callbacks, []
        self._outcome = outcome
        return callbacks

    def test(self) -> bool:
        """Whether it is complete. Raises the failure of the collective."""
        return self._look(self._started.test)

    def wait(self) -> tuple[np.ndarray | None, Report]:
        """Waits for its end, or for Ctrl-C, which ends the collective. Returns (result, report), or raises the failure of the collective."""
        self._look(self._started.wait)
        return self._result, self._outcome[0]

    @property
    def report(self) -> Report:
        """What ran; of a complete collective."""
        if not self.test():
            raise RuntimeError("the collective is not complete: wait for it first")
        return self._outcome[0]

    def add_done_callback(self, function: Callable[[Request], Any]) -> None:
        """Has function(request) called once, when the collective is complete or has failed; at once where it is already.

        It is called by the thread that finds the collective complete: one that tests or waits, or a thread of this process that advances requests with
        callbacks. Inside it wait() returns at once. What it raises is logged (logger "stretto"), and goes no further.
        """
        with self._lock:
            if self._outcome is None:
                self._callbacks.append(function)
                progress.watch(self)
                return
        self._call(function)

    def get_future(self, kind: Callable[[], Any] = concurrent.futures.Future) -> Any:
        """A future of (result, report), or of the failure of the collective. It completes without a wait for this request.

        kind: makes the future, whose set_result and set_exception are called; torch.futures.Future for a communication hook of torch.
        """
        future = kind()

        def fill(request):
            report, failure = request._outcome
            if failure is None:
                future.set_result((request._result, report))
            else:
                future.set_exception(failure)

        self.add_done_callback(fill)
        return future

    def _call(self, function):
        try:
            function(self)
        except Exception:
            logging.getLogger("stretto").exception("a callback of a request raised")

    def __await__(self):
        looks = 0
        while not self.test():
            looks += 1
            yield from asyncio.sleep(0 if looks < PROMPT else NAP).__await__()
        return self._result, self._outcome[0]


Request.__module__ = "stretto"
