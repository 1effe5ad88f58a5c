"""A rank of test_torch.py, whose last rank ends without a word, in a collective or in a backward pass, or does not come: the others raise, and can leave.
Says `fine`."""

import datetime
import logging
import os
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
