"""Where ranks come from: processes that meet in a store, or threads of this process. Those of an MPI come from stretto.Comm."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import numbers
import operator
import os
import pathlib
import sys
import threading
from collections.abc import Callable

from stretto.api.collectives import Comm
from stretto.api.core import _core
from stretto.api.torch_store import adapted, of_torchrun
from stretto.errors import ArgumentError

LOOK = 0.1  # seconds between looks at signals
GRACE = 1  # seconds in which a rank that was interrupted leaves its collective


def init(store=None, rank: int | None = None, size: int | None = None, *, name: str | None = None, timeout: float = 300.0,
         transports: str | None = None) -> Comm:
    """A Comm of processes that torchrun, Slurm, `stretto run --carrier ucx` or ssh started, over UCX and without an MPI.

    Without arguments the store is the directory of STRETTO_STORE=file:///DIRECTORY, and rank and number of ranks are those of STRETTO_RANK and
    STRETTO_SIZE, torchrun, PMI or Slurm. Under torchrun the ranks also meet without STRETTO_STORE: in torchrun's own store.
    store: one of torch.distributed, or an object with set(key, bytes), get(key, seconds), which gives bytes, or None where the key is not there in
      time, and remove(key). With it come rank= and size=.
    name: of the communicator in the store, the same on every rank; communicators of one time have different names.
    timeout: seconds within which all ranks come. transports: as UCX_TLS has them, such as "tcp".

    Raises WaitTimeoutError, which names the ranks that did not come; UnsupportedError where there is no UCX.
    """
    _find_ucx()
    if store is None:
        if rank is not None or size is not None:
            raise ArgumentError("rank and size come with a store; without one they are those of the environment")
        if "STRETTO_STORE" not in os.environ and (found := of_torchrun()) is not None:
            store, rank, size = found
    if store is None:
        make = functools.partial(_core.of_environment, name, float(timeout), transports)
    else:
        if not isinstance(rank, numbers.Integral) or not isinstance(size, numbers.Integral):
            raise ArgumentError(f"with a store come rank and size, not {rank!r} and {size!r}")
        make = functools.partial(_core.of_store, adapted(store), int(rank), int(size), name, float(timeout), transports)
    comm = Comm(make())
    _open.add(comm)
    comm._when_freed = _open.discard
    return comm


def _find_ucx():
    """The wheel of UCX is where the dynamic linker does not look."""
    if "STRETTO_UCX" in os.environ:
        return
    found = importlib.util.find_spec("libucx")
    for directory in (found.submodule_search_locations or ()) if found else ():
        library = pathlib.Path(directory, "lib", "libucp.so.0")
        if library.is_file():
            os.environ["STRETTO_UCX"] = str(library)


# Communicators over UCX that the program may leave to its end: messages on their way are only sent when it is freed.
_open: set[Comm] = set()


@atexit.register
def _free_open():
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

    def rank(self, rank, function, arguments, keywords):
        try:
            comm = Comm(_core.of_threads(self.group, rank))
            self.results[rank] = function(comm, *arguments, **keywords)
        except BaseException as error:  # noqa: BLE001  raised again by run()
            with self.lock:
                self.raised.append(error)
            self.group.cancel()

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
            self.group.cancel()
            for one in work:  # the interpreter may end next, and would meet them inside the library
                one.join(GRACE)
            raise
        if self.raised:
            raise self.raised[0]
        return self.results


def communication_cores(cores):
    """Cores (numbers of Linux's CPUs) on which a thread of this process moves started collectives while the program computes; [] for none."""
    _core.set_communication_cores([operator.index(core) for core in cores])
