"""The communication hook of DistributedDataParallel: the mean of a bucket within a bound, on a thread beside the backward pass."""

import math

import torch

from stretto.errors import UnsupportedError
from stretto.torch import wire
from stretto.torch.state import SMALL, State


def hook(state: State, bucket) -> torch.futures.Future[torch.Tensor]:
    """model.register_comm_hook(state, hook): the mean of the bucket over the ranks, within the bound of `state`."""
    buffer, parameters, gradients, is_last = bucket.buffer(), bucket.parameters(), bucket.gradients(), bucket.is_last()
    if buffer.layout != torch.strided:
        raise UnsupportedError(f"a bucket of gradients of layout {buffer.layout}; dense gradients are served (as of Embedding(sparse=False))")
    if not buffer.is_cpu and not buffer.is_cuda:
        raise UnsupportedError(f"a bucket on the device {str(buffer.device)!r}; gradients in the host's memory and in CUDA's are served")
    future = torch.futures.Future(devices=[buffer.device]) if buffer.is_cuda else torch.futures.Future()

    def run():
        try:
            with torch.no_grad():
                average(state, buffer, parameters, gradients)
            if is_last:
                state.end_step()
        except BaseException as error:  # DDP waits for this future alone
            future.set_result(error)
            raise
        future.set_result(buffer)

    state.lane.start([buffer], run)
    return future.then(result)


def result(future):
    """The tensor of a future, or the failure in its place. DDP reads set_exception() as a result that is no tensor, but a failed then() as a failure."""
    value = future.value()
    if isinstance(value, BaseException):
        raise value
    return value


def average(state, buffer, parameters, gradients):
    """The mean over the ranks in the place of the flat buffer of these gradients."""
    comm, totals = state.comm, state.totals
    if state.wire and buffer.dtype != torch.bfloat16:
        for report in wire.allreduce_mean(comm, buffer, state.exact.how):
            totals.add(report)
        return
    if not state.bound or totals.steps < state.warmup_steps or buffer.numel() == 0:
        totals.add(comm.allreduce(buffer, out=buffer, op="mean", **state.exact.how)[1])
        return
    left = state.residuals.of(parameters, gradients) if state.residuals else None
    if left is not None:
        if not math.isfinite(left.sum()):  # a sum reads memory once, nan_to_num_ also writes all of it
            left.nan_to_num_(0, 0, 0)
        buffer.add_(left)
    segments = parts_of(state, comm, buffer, parameters, gradients)
    if len(segments) == 1:
        report = comm.allreduce(buffer, out=buffer, op="mean", residual=left, **segments[0][1])[1]
    else:
        report = comm.allreduce(buffer, out=buffer, op="mean", residual=left, segments=segments)[1]
    totals.add(report)


def parts_of(state, comm, buffer, parameters, gradients):
    """(values, options) of the parts of a bucket; neighbours that are exact, or have a bound together, are one part."""
    sizes = []  # [values, whether exact, whether the next parameter may join]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        exact = id(parameter) in state.exclude or (state.per_parameter and gradient.numel() < SMALL)
        joins = exact or not state.per_parameter
        if sizes and joins and sizes[-1][2] and sizes[-1][1] == exact:
            sizes[-1][0] += gradient.numel()
        else:
            sizes.append([gradient.numel(), exact, joins])
    values = buffer.split([size for size, _, _ in sizes])
    bounds = iter(state.bound.of(comm, [part for part, (_, exact, _) in zip(values, sizes) if not exact]))
    return [(size, state.exact.how if exact else next(bounds)) for size, exact, _ in sizes]
