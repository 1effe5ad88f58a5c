"""Means of gradients that travel as bfloat16 and are summed in float32: each rank sums a part of all ranks' values, and sends it to all."""

from __future__ import annotations

import torch


def mean_parts(comm, values, how):
    """This rank's part of the mean over the ranks, in float32. `values` are flat and a multiple of comm.size long."""
    sent = values.to(torch.bfloat16)
    received = torch.empty_like(sent)
    report = comm.alltoall(sent, out=received, **how)[1]
    return received.view(comm.size, -1).to(torch.float32).sum(0).div_(comm.size), report


def allreduce_mean(comm, buffer, how):
    """The mean in the place of the flat buffer. Returns the reports of both calls."""
    count = buffer.numel()
    padded = torch.nn.functional.pad(buffer, (0, -count % comm.size))
    part, first = mean_parts(comm, padded, how)
    part = part.to(torch.bfloat16)
    gathered = torch.empty_like(padded, dtype=torch.bfloat16)
    second = comm.allgather(part, out=gathered.view(comm.size, -1), **how)[1]
    buffer.copy_(gathered[:count])
    return [first, second]
