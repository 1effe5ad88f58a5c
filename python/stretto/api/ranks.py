"""Where ranks come from: processes that meet in a store, or threads of this process. Those of an MPI come from stretto.Comm."""

from __future__ import annotations

import atexit
import functools
import logging
import math
import numbers
import operator
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable

from stretto.api.collectives import Comm
from stretto.api.core import _core
from stretto.api.directory_store import DirectoryStore
from stretto.api.torch_store import adapted, of_group, of_torchrun
from stretto.errors import ArgumentError
from stretto.launch import programs

LOOK = 0.1  # seconds between checks for signals
PATIENCE = 60  # seconds after which a rank says whom it waits for, or half of its limit where that is less
GRACE = 1  # grace period in seconds of an interrupted rank in a collective


def init(store=None, rank: int | None = None, size: int | None = None, *, name: str | None = None, timeout: float | None = None,
         transports: str | None = None) -> Comm:
    """A Comm of processes that torchrun, Slurm, `stretto run --carrier ucx` or ssh started, over UCX and without an MPI.

    Without arguments the store is the directory of STRETTO_STORE=file:///DIRECTORY, and rank and number of ranks are those of STRETTO_RANK and
    STRETTO_SIZE, torchrun, PMI or Slurm. Under torchrun the ranks also meet without STRETTO_STORE: in torchrun's own store.
    store: a process group of torch, such as torch.distributed.group.WORLD, whose ranks and store are taken; a store of torch.distributed; or an object
      with set(key, bytes), get(key, seconds), which gives bytes, or None where the key is not there in time, and remove(key). With a store come rank=
      and size=. A store is not used any more when init returns, but by split.
    name: of the communicator in the store, the same on every rank; communicators of one time have different names.
    timeout: seconds within which all ranks come; without it those of STRETTO_TIMEOUT, else 300. After 60, or half of a shorter limit, the logger "stretto"
      names ranks of a store of the program's that have not come. transports: as UCX_TLS has them, such as "tcp".

    Raises WaitTimeoutError, which names the ranks that did not come; UnsupportedError where there is no UCX.
    """
    programs.find_ucx()
    timeout = _seconds_of_environment() if timeout is None else timeout
    found = None if store is None else of_group(store)
    if found is not None or store is None:
        if rank is not None or size is not None:
            raise ArgumentError("rank and size come with a store; a process group has its own, and without a store they are those of the environment")
        if store is None and "STRETTO_STORE" not in os.environ:
            found = of_torchrun(float(timeout))
        if found is not None:
            store, rank, size = found
    if store is None:
        comm = Comm(_core.of_environment(name, float(timeout), transports))
        return _kept(comm, DirectoryStore.of_environment, name or os.environ.get("STRETTO_NAME"), timeout, transports)
    if not isinstance(rank, numbers.Integral) or not isinstance(size, numbers.Integral):
        raise ArgumentError(f"with a store come rank and size, not {rank!r} and {size!r}")
    return _of_store(adapted(store), int(rank), int(size), name, timeout, transports)


def _seconds_of_environment():
    """The limit of a creation that names none."""
    text = os.environ.get("STRETTO_TIMEOUT", "")
    try:
        seconds = float(text or 300)
    except ValueError:
        seconds = 0.0
    if not (math.isfinite(seconds) and seconds > 0):
        raise ArgumentError(f"STRETTO_TIMEOUT: {text!r} is no positive number of seconds")
    return seconds


def _of_store(store, rank, size, name, timeout, transports):
    meeting = _Meeting(store, rank, size, float(timeout))
    return _kept(Comm(_core.of_store(meeting, rank, size, name, float(timeout), transports)), lambda: store, name, timeout, transports)


class _Meeting:
    """A store during a creation, which tells the logger "stretto" once whom it has waited for: rank 0 all that have not come, the others rank 0."""

    def __init__(self, store, rank, size, limit):
        self._store, self._rank, self._size, self._limit = store, rank, size, limit
        self.set, self.remove = store.set, store.remove
        self._began, self._patience = time.monotonic(), min(PATIENCE, limit / 2)
        self._looks_at = self._began + self._patience

    def get(self, key, seconds):
        found = self._store.get(key, seconds)
        if found is None and time.monotonic() >= self._looks_at:
            missing = self._missing("/".join(key.split("/")[:2]))
            self._looks_at = math.inf if missing else time.monotonic() + self._patience
            if missing:
                logging.getLogger("stretto").warning(
                    "rank %d of %d has waited %.0f s to make the communicator %r; ranks that have not come: %s. It fails after %g s.", self._rank, self._size,
                    time.monotonic() - self._began, key.split("/")[1], ", ".join(map(str, missing)), self._limit)
        return found

    def _missing(self, prefix):
        """Ranks without a key of theirs, which each leaves when it comes."""
        others = range(1, self._size) if self._rank == 0 else (0,)
        return [rank for rank in others if self._store.get(f"{prefix}/hello/{rank}", 0) is None]


def _kept(comm, store, name, timeout, transports):
    """The communicator, which is freed at the program's end. store(): where ranks of parts of it meet."""
    _open[comm] = None
    comm._when_freed = lambda freed: _open.pop(freed, None)
    rank = comm.rank

    def subset(members, number):
        parts_name = f"{name or 'stretto'}-{number}-{members[0]}"  # groups of one split have different first members
        return _of_store(store(), members.index(rank), len(members), parts_name, timeout, transports)

    comm._subset = subset
    return comm


# Communicators over UCX that the program may leave to its end: messages on their way are only sent when it is freed.
# In the order in which they were made, which is the same on all ranks of each.
_open: dict[Comm, None] = {}


# Others in which a thread may still wait at the program's end: without its memory that thread would end the process.
_left: list[Comm] = []


def leave(comm: Comm) -> None:
    """Has the program's end not free a communicator."""
    _open.pop(comm, None)
    _left.append(comm)


@atexit.register
def _free_open():
    if _left:
        _core.end_program()
    if getattr(sys, "last_type", None) is not None:  # the program ended by an exception, and others may still be inside a collective
        return
    for comm in list(_open):
        try:
            comm.free()
        except Exception as error:  # noqa: BLE001  nobody is left to be told
            print(f"stretto: a communicator was not freed: {error}", file=sys.stderr)


def threads(n: int) -> Callable[[Callable], Callable[..., list]]:
    """Makes a function one that n ranks run, threads of this process, for notebooks and tests.

    threads(4)(function)(*arguments) calls function(comm, *arguments) on each rank, and returns the list of their results. Where a rank raises, the others
    are ended in their collectives, and its exception is raised here.
    """
    n = operator.index(n)
    if n < 1:
        raise ArgumentError(f"{n} ranks; 1 or more")

    def of_ranks(function):
        @functools.wraps(function)
        def run(*arguments, **keywords):
            return _Ranks(n).run(function, arguments, keywords)

        return run

    return of_ranks


class _Ranks:
    def __init__(self, n):
        self.group = _core.ThreadGroup(n)
        self.results, self.raised, self.lock = [None] * n, [], threading.Lock()
        self.meeting = {}  # of parts that are being made: [group, ranks that have not come]
        self.parts, self.cancelled = weakref.WeakKeyDictionary(), False  # communicators of parts: their groups

    def comm(self, group, rank, path):
        """The communicator of a rank. path: which split of which split it is of; () for the first."""
        comm = Comm(_core.of_threads(group, rank))

        def subset(members, number):
            where = (*path, number, members[0])
            with self.lock:
                entry = self.meeting.setdefault(where, [None, len(members)])
                if entry[0] is None:
                    entry[0] = _core.ThreadGroup(len(members))
                entry[1] -= 1
                if entry[1] == 0:
                    del self.meeting[where]
                if self.cancelled:
                    entry[0].cancel()
            made = self.comm(entry[0], members.index(rank), where)
            with self.lock:
                self.parts[made] = entry[0]
                if self.cancelled:
                    entry[0].cancel()
            return made

        comm._subset = subset
        return comm

    def cancel(self):
        """Ends the ranks in their collectives, those of parts too."""
        with self.lock:
            self.cancelled = True
            for group in (self.group, *(entry[0] for entry in self.meeting.values()), *self.parts.values()):
                group.cancel()

    def rank(self, rank, function, arguments, keywords):
        try:
            self.results[rank] = function(self.comm(self.group, rank, ()), *arguments, **keywords)
        except BaseException as error:  # noqa: BLE001  raised again by run()
            with self.lock:
                self.raised.append(error)
            self.cancel()

    def run(self, function, arguments, keywords):
        work = [threading.Thread(target=self.rank, args=(rank, function, arguments, keywords), name=f"stretto rank {rank}", daemon=True)
                for rank in range(len(self.results))]
        for one in work:
            one.start()
        try:
            for one in work:
                while one.is_alive():
                    one.join(LOOK)
        except BaseException:
            self.cancel()
            for one in work:  # the interpreter may end next, and would meet them inside the library
                one.join(GRACE)
            raise
        if self.raised:
            raise self.raised[0]
        return self.results


def communication_cores(cores):
    """Cores (numbers of Linux's CPUs) on which a thread of this process moves started collectives while the program computes; [] for none."""
    _core.set_communication_cores([operator.index(core) for core in cores])
