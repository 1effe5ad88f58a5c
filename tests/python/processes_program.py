"""A rank of test_processes.py: over mpi4py's MPI or, as `ucx`, without one. It sums, hears Ctrl-C, and says `fine`."""

import os
import pathlib
import signal
import sys
import threading
import time

import numpy as np

import stretto

heard = pathlib.Path(sys.argv[4])


def interrupt(seconds=0.2):
    """Ctrl-C, in a moment."""
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def interrupted_while_made(world):
    """Rank 0 alone makes a communicator, and hears Ctrl-C. Then all ranks are as before: the barrier that it left has one on every rank."""
    stretto.Comm(MPI.COMM_SELF)  # takes the slow first steps, so that the barrier hears Ctrl-C
    if world.rank == 0:
        interrupt(1)
        try:
            stretto.Comm(world)
        except KeyboardInterrupt:
            heard.touch()
    while not heard.exists():
        time.sleep(0.01)
    if world.rank != 0:
        world.Ibarrier().Wait()
    world.Barrier()
    if world.rank == 0:
        heard.unlink()
    world.Barrier()


if sys.argv[1] == "mpi":
    from mpi4py import MPI

    if sys.argv[3] == "making":
        interrupted_while_made(MPI.COMM_WORLD)
    comm = stretto.Comm(MPI.COMM_WORLD)
else:
    comm = stretto.init(timeout=60, transports="tcp")
p, rank = comm.size, comm.rank
assert p == int(sys.argv[2])

for n in (1, 1000, 200_000):
    x = np.random.default_rng(rank).standard_normal(n, dtype=np.float32)
    every = [np.random.default_rng(r).standard_normal(n, dtype=np.float32) for r in range(p)]
    gathered, _ = comm.allgather(x)
    assert np.array_equal(gathered, np.stack(every))
    total, report = comm.allreduce(x, rel=1e-3, scope="result")
    assert np.abs(total - np.sum(every, axis=0, dtype=float)).max() <= 1e-3 * np.ptp(every) * (1 + 1e-6), report
    started = comm.iallreduce(x, op="max")
    assert np.array_equal(started.wait()[0], np.max(every, axis=0))

# A rank's contribution to a sum in a host's memory, or over UCX, is its stream; parts of a vector have separate bounds.
left = np.empty(n, np.float32)
total, report = comm.allreduce(x, rel=1e-3, residual=left)
streams = [stretto.compress(one, abs=report.eps) for one in every]
assert np.array_equal(total, stretto.sum(streams).decompress()) and np.array_equal(left, x - streams[rank].decompress()), report
total, report = comm.allreduce(x, segments=[(1000, {}), (n - 1000, {"abs": 0.1})], residual=left)
assert np.array_equal(left[:1000], np.zeros(1000)) and left[1000:].any()
assert np.abs(total[1000:] - np.sum(every, axis=0, dtype=float)[1000:]).max() <= report.segments[1].error_with_rounding
assert np.array_equal(comm.iallreduce(x, op="max").get_future().result()[0], np.max(every, axis=0))

# Parts: the last rank alone, the others backwards.
part = comm.split(int(rank == p - 1), key=-rank)
members = [p - 1] if rank == p - 1 else list(range(p - 2, -1, -1))
assert part.allgather(np.array([rank]))[0].reshape(-1).tolist() == members
assert comm.split(None if rank else 7) is None or rank == 0
assert part.split(part.rank).size == 1
part.free()

# Ctrl-C on rank 0, which waits for the others, ends their calls, too.
call = {"blocking": comm.barrier, "making": comm.barrier, "started": lambda: comm.iallreduce(np.ones(1000)).wait()}[sys.argv[3]]
if rank == 0:
    interrupt()
    try:
        call()
    except KeyboardInterrupt:
        heard.touch()
while not heard.exists():
    time.sleep(0.01)
try:
    call()
except stretto.WaitTimeoutError as error:
    assert "interrupted" in str(error), error
else:
    sys.exit("the call of an interrupted communicator succeeded")
print("fine", flush=True)
# The MPI's end would wait for abandoned calls, and a launcher kills the others when a rank leaves without that end.
heard.with_name(f"fine{rank}").touch()
while not all(heard.with_name(f"fine{r}").exists() for r in range(p)):
    time.sleep(0.01)
os._exit(0)
