"""A rank of test_torch.py, whose last rank ends without a word: the others raise, and can leave. Says `fine`."""

import datetime
import os
import signal
import sys

import torch
import torch.distributed as dist

import stretto
import stretto.torch  # noqa: F401

file, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("stretto", init_method=f"file://{file}", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
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
