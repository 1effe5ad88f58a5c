"""Collectives that were started."""

from __future__ import annotations

import asyncio

import numpy as np

from stretto.api.report import Report

PROMPT = 100  # looks of a coroutine before it naps between them
NAP = 0.0005  # seconds


class Request:
    """A started collective. Its arrays are borrowed until it is complete.

    wait() and `await` give what the blocking method returns: the result and a report. All requests of a communicator advance whenever one of them is
    tested or waited for. A request that is dropped before it is complete keeps its arrays, and its communicator, for good.
    """

    def __init__(self, started, result):
        self._started, self._result = started, result

    def test(self) -> bool:
        """Whether it is complete. Raises the failure of the collective."""
        return self._started.test()

    def wait(self) -> tuple[np.ndarray | None, Report]:
        """Waits for its end, or for Ctrl-C, which ends the collective. Returns (result, report), or raises the failure of the collective."""
        self._started.wait()
        return self._result, self.report

    @property
    def report(self) -> Report:
        """What ran; of a complete collective."""
        if not self._started.test():
            raise RuntimeError("the collective is not complete: wait for it first")
        return Report(*self._started.report())

    def __await__(self):
        looks = 0
        while not self._started.test():
            looks += 1
            yield from asyncio.sleep(0 if looks < PROMPT else NAP).__await__()
        return self._result, self.report


Request.__module__ = "stretto"
