"""A rank of test_torch.py, whose last rank ends without a word, in a collective or in a backward pass: the others raise, and can leave. Says `fine`."""

import datetime
import os
import signal
import sys

import torch
import torch.distributed as dist

import stretto
import stretto.torch

file, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("stretto", init_method=f"file://{file}", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))


def backward():
    """The last rank ends in the second backward pass of a model with the hook."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.Linear(300, 300)), bucket_cap_mb=0.1)
    model.register_comm_hook(stretto.torch.State(rms=0.01, error_feedback=True), stretto.torch.hook)
    model(torch.randn(4, 300)).sum().backward()
    if rank == size - 1:
        model.module[0].weight.register_hook(lambda gradient: os.kill(os.getpid(), signal.SIGKILL))
    try:
        model(torch.randn(4, 300)).sum().backward()
    except RuntimeError as error:
        assert f"rank {size - 1}" in str(error), error
    else:
        sys.exit("a backward pass without the last rank succeeded")


if sys.argv[4] == "backward":
    backward()
    print("fine", flush=True)
    os._exit(0)
values = torch.ones(100_000)
dist.all_reduce(values)
if rank == size - 1:
    os.kill(os.getpid(), signal.SIGKILL)
for call in (lambda: dist.all_reduce(values), lambda: dist.all_reduce(values, async_op=True).wait()):
    try:
        call()
    except dist.DistBackendError as error:
        assert isinstance(error, stretto.StrettoError) and f"rank {size - 1}" in str(error), error
    else:
        sys.exit("a call without its last rank succeeded")
print("fine", flush=True)
os._exit(0)
