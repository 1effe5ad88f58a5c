"""A rank of test_torch.py, whose last rank ends without a word, in a collective or in a backward pass, or does not come: the others raise, and can leave.
Says `fine`."""

import datetime
import logging
import os
import pathlib
import re
import signal
import sys
import time

import torch
import torch.distributed as dist

import stretto
import stretto.torch

logging.basicConfig(stream=sys.stderr, force=True)  # pytest's handlers are the test's
file, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("stretto", init_method=f"file://{file}", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))


def backward(hooked):
    """The last rank ends in the second backward pass of a model, with the hook or without one."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.Linear(300, 300)), bucket_cap_mb=0.1)
    if hooked:
        model.register_comm_hook(stretto.torch.State(rms=0.01, error_feedback=True), stretto.torch.hook)
    model(torch.randn(4, 300)).sum().backward()
    if rank == size - 1:
        model.module[0].weight.register_hook(lambda gradient: os.kill(os.getpid(), signal.SIGKILL))
    try:
        model(torch.randn(4, 300)).sum().backward()
    except RuntimeError as error:
        assert f"rank {size - 1} (process" in str(error) and "Pickl" not in str(error), error
    else:
        sys.exit("a backward pass without the last rank succeeded")


def missing(steps):
    """The last rank makes so many steps, and then none while the others wait for it: these raise after the timeout of the State's group."""
    group = dist.new_group(timeout=datetime.timedelta(seconds=8), backend="gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.Linear(300, 300)), bucket_cap_mb=0.1)
    model.register_comm_hook(stretto.torch.State(rms=0.01, group=group), stretto.torch.hook)
    for _ in range(steps):
        model(torch.randn(4, 300)).sum().backward()
    store = torch.distributed.PrefixStore("missing", dist.group.WORLD.get_group_store())
    if rank == size - 1:
        store.wait([f"raised {other}" for other in range(size - 1)], datetime.timedelta(seconds=100))
        return
    try:
        model(torch.randn(4, 300)).sum().backward()
    except RuntimeError as error:
        assert str(size - 1) in str(error) and " 8" in str(error), error
        assert ("is the hook registered on all ranks" in str(error)) == (steps == 0), error
    else:
        sys.exit("a backward pass without the last rank succeeded")
    store.set(f"raised {rank}", "")


def silent():
    """The last rank connects to no other, and sends nothing, until these have raised."""
    limit = 8
    store = torch.distributed.PrefixStore("silent", dist.group.WORLD.get_group_store())
    group = dist.new_group(timeout=datetime.timedelta(seconds=limit), backend="stretto")
    values = torch.full((5,), float(rank))
    if rank == size - 1:
        store.wait([f"raised {other}" for other in range(size - 1)], datetime.timedelta(seconds=100))
        return
    dist.send(values, 1, group=group) if rank == 0 else dist.recv(values, 0, group=group)  # who comes is served
    assert values[0] == 0
    began = time.monotonic()
    try:
        dist.recv(values, size - 1, group=group) if rank == 0 else dist.irecv(values, size - 1, group=group).wait()
    except stretto.WaitTimeoutError as error:
        assert isinstance(error, dist.DistBackendError) and f"rank {size - 1} sent nothing within {limit} s" in str(error), error
        assert time.monotonic() - began < 4 * limit  # gloo itself takes five times as long
    else:
        sys.exit("a message that nobody sent was received")
    store.set(f"raised {rank}", "")


def queued(how):
    """The last rank makes two calls of five, and ends, destroys its group or waits. Each of the other works of the others names it."""
    limit = 6 if how == "waits" else 60
    group = dist.new_group(timeout=datetime.timedelta(seconds=limit), backend="stretto")
    store = torch.distributed.PrefixStore("queued", dist.group.WORLD.get_group_store())
    values = [torch.ones(1 << 19) for _ in range(5)]
    for one in values[:3]:
        dist.all_reduce(one, group=group)
    works = [dist.all_reduce(one, group=group, async_op=True) for one in (values[:2] if rank == size - 1 else values)]
    for work in works[:2]:
        work.wait()
    if rank == size - 1:
        store.wait([f"waits {other}" for other in range(size - 1)], datetime.timedelta(seconds=100))
        if how == "ends":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "leaves":
            dist.destroy_process_group(group)
        store.wait([f"raised {other}" for other in range(size - 1)], datetime.timedelta(seconds=100))
        return
    store.set(f"waits {rank}", "")
    began = time.monotonic()
    for work in (*works[2:], None):
        try:
            work.wait() if work else dist.all_reduce(values[0], group=group)
        except dist.DistBackendError as error:
            assert f"allreduce of process group {group.group_name!r}, rank {rank} of {size}" in str(error), error
            assert re.search(rf"(missing |missing is |for |, |: )rank {size - 1}( \(process| \(its message\)| in its)", str(error)), error
            assert how != "leaves" or "has freed the communicator" in str(error), error
        else:
            sys.exit("a call without the last rank succeeded")
    assert time.monotonic() - began < (2 * limit if how == "waits" else limit)
    store.set(f"raised {rank}", "")


def stopped(how):
    """The last rank is stopped. The others can destroy the group, also while a call waits for it, and end; a warning says so."""
    # The end waits for a started call for up to 5 s: a shorter timeout might end the call first.
    group = dist.new_group(timeout=datetime.timedelta(seconds=60 if how == "waits" else 4), backend="stretto")
    store = torch.distributed.PrefixStore("stopped", dist.group.WORLD.get_group_store())
    values = torch.ones(1 << 19)
    dist.all_reduce(values, group=group)
    if rank == size - 1:
        store.set("process", str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    process = int(store.get("process"))
    while pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)
    said = []
    watch = logging.Handler()
    watch.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("stretto").addHandler(watch)
    if how == "waits":
        dist.all_reduce(values, group=group, async_op=True)
    name = group.group_name
    dist.destroy_process_group(group)
    reason = "while a started call waited for another rank" if how == "waits" else "without another rank, which did not come to its end"
    told = f"the process group {name!r} was destroyed on rank {rank} of {size} {reason}"
    store.set(f"destroyed {rank}", "")
    store.wait([f"destroyed {other}" for other in range(size - 1)], datetime.timedelta(seconds=100))
    if rank == 0:
        os.kill(process, signal.SIGCONT)
    assert any(told in one for one in said), said


def monitored():
    """The last rank does not come. Others name it after the limit of the call, though calls that wait for that rank are on their way."""
    store = torch.distributed.PrefixStore("monitored", dist.group.WORLD.get_group_store())
    barrier = dist.group.WORLD.monitored_barrier
    barrier(datetime.timedelta(seconds=60))
    if rank == size - 1:
        store.wait([f"raised {other}" for other in range(size - 1)], datetime.timedelta(seconds=100))
        return
    work = dist.all_reduce(torch.ones(5), async_op=True)
    for every in (False, True):
        try:
            barrier(datetime.timedelta(seconds=2), wait_all_ranks=every)
        except RuntimeError as error:
            told = "ranks that did not" if rank == 0 else "rank 0 found that ranks did not"
            assert f"rank {rank} of {size}: {told} come within 2 s: {size - 1}" in str(error), error
        else:
            sys.exit("a barrier without the last rank was passed")
    assert not work.is_completed()
    store.set(f"raised {rank}", "")


if sys.argv[4] == "stopped":
    stopped(sys.argv[5])
    print("fine", flush=True)
    sys.exit()  # as programs end: no thread that still waits may end the process otherwise
if sys.argv[4] in ("queued", "monitored"):
    queued(sys.argv[5]) if sys.argv[4] == "queued" else monitored()
    print("fine", flush=True)
    os._exit(0)
if sys.argv[4] == "silent":
    silent()
    print("fine", flush=True)
    os._exit(0)
if sys.argv[4] == "missing":
    missing(int(sys.argv[5]))
    print("fine", flush=True)
    os._exit(0)
if sys.argv[4] in ("backward", "plain"):
    backward(hooked=sys.argv[4] == "backward")
    print("fine", flush=True)
    os._exit(0)
values = torch.ones(100_000)
dist.all_reduce(values)
if rank == size - 1:
    os.kill(os.getpid(), signal.SIGKILL)
for number, call in enumerate((lambda: dist.all_reduce(values), lambda: dist.all_reduce(values, async_op=True).wait())):
    try:
        call()
    except dist.DistBackendError as error:
        assert isinstance(error, stretto.StrettoError) and f"rank {size - 1}" in str(error), error
        assert "reached its timeout" not in str(error) and (number > 0 or isinstance(error, stretto.CarrierError)), repr(error)
    else:
        sys.exit("a call without its last rank succeeded")
print("fine", flush=True)
os._exit(0)
