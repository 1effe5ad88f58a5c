"""A thread of the process that advances requests with callbacks or futures, for which no caller waits."""

from __future__ import annotations

import atexit
import os
import threading
import time

PROMPT = 200  # tests in a row before the thread naps between them
NAP = 0.0001  # seconds
GRACE = 2  # seconds in which the thread ends with the program


class Progress:
    def __init__(self):
        self._changed = threading.Condition()
        self._watched, self._thread, self._ends = [], None, False

    def watch(self, request):
        """Advances the request until it is complete."""
        with self._changed:
            self._watched.append(request)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="stretto requests", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self):
        with self._changed:
            self._ends = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(GRACE)

    def _run(self):
        looks = 0
        while True:
            with self._changed:
                if not self._watched and not self._ends:
                    self._changed.wait()
                    looks = 0
                if self._ends:
                    return
                watched = list(self._watched)
            complete = [one for one in watched if self._is_complete(one)]
            if complete:
                with self._changed:
                    self._watched = [one for one in self._watched if one not in complete]
                looks = 0
            looks += 1
            time.sleep(0 if looks < PROMPT else NAP)

    @staticmethod
    def _is_complete(request):
        """Looks where no other thread uses the communicator; one that does advances the request itself."""
        if request._outcome is not None:
            return True
        if not request._lock.acquire(blocking=False):
            return False
        try:
            callbacks = request._advance(request._started.test)
        finally:
            request._lock.release()
        for one in callbacks:  # without the lock: a callback may wait for a thread that uses the communicator
            request._call(one)
        return request._outcome is not None


progress = Progress()
atexit.register(progress.end)
os.register_at_fork(after_in_child=progress.__init__)  # the thread is the parent's
