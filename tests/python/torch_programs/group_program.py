"""A rank of test_torch.py: communicators of torch's process groups, whose ranks meet in the groups' stores. Says `fine`."""

import os

import torch
import torch.distributed as dist

import stretto

dist.init_process_group("gloo")
comm = stretto.init(dist.group.WORLD, transports="tcp")
x = torch.full((5,), comm.rank + 1, dtype=torch.bfloat16)
request = comm.iallreduce(x, out=x, op="avg")
assert request.get_future(torch.futures.Future).then(lambda done: done.value()[0]).wait() is x and (x == (comm.size + 1) / 2).all()
first = dist.new_group([0, 1])
if dist.get_rank() < 2:
    both = stretto.init(first, transports="tcp")
    assert (both.rank, both.size, both.allreduce(torch.ones(2))[0].tolist()) == (dist.get_rank(), 2, [2, 2])
else:
    try:
        stretto.init(first)
    except stretto.ArgumentError as error:
        assert "not in the process group" in str(error), error
again = stretto.init(dist.group.WORLD, transports="tcp")
part = again.split(again.rank % 2)
assert part.allreduce(torch.ones(1))[0].item() == (2, 1)[again.rank % 2]
try:
    stretto.init(dist.group.WORLD, 0, 1)
except stretto.ArgumentError:
    print("fine", flush=True)
dist.barrier()
os._exit(0)
