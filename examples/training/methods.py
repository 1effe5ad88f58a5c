"""How gradients are averaged: hooks that torch ships, and those of stretto, by the names of train.py."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

import stretto.torch

HOOKS = ("none", "bf16", "powersgd1", "powersgd4", "int8", "int8-rows", "stretto", "stretto-bf16")


def bf16(group, bucket):
    """torch's own bf16_compress_hook. Under its own name DistributedDataParallel refuses it without NCCL, though gloo sums bfloat16."""
    return default_hooks.bf16_compress_hook(group, bucket)


def quantised(group, bucket, length=None):
    """The arithmetic of torch's quantization_pertensor_hook and, with rows of `length` values, of quantization_perchannel_hook: 8 bits a value, a scale and a
    zero point a row, and an all-gather of them. torch's own expect a future of lists of lists, which gloo does not give."""
    values = bucket.buffer()
    rows = values.view(1, -1) if length is None else torch.nn.functional.pad(values, (0, -values.numel() % length)).view(-1, length)
    low, high = (side.clamp(*limits) for side, limits in zip(rows.aminmax(dim=1, keepdim=True), ((None, 0), (0, None))))
    scale = ((high - low) / 255).clamp_min(torch.finfo(torch.float32).eps)
    zero = (-low / scale).round()
    scales = [torch.empty(2, *scale.shape) for _ in range(group.size())]
    dist.all_gather(scales, torch.stack((scale, zero)), group=group)
    sent = (rows / scale).round_().add_(zero).clamp_(0, 255).to(torch.uint8)
    every = [torch.empty_like(sent) for _ in scales]

    def mean(_):
        total = torch.zeros_like(rows)
        for one, (its_scale, its_zero) in zip(every, scales):
            total += (one.to(torch.float32) - its_zero).mul_(its_scale)
        return total.div_(len(every)).view(-1)[:values.numel()]

    return dist.all_gather(every, sent, group=group, async_op=True).get_future().then(mean)


def quantised_rows(group, bucket):
    return quantised(group, bucket, 512)


def powersgd(state, bucket):
    """torch's powerSGD_hook, a bucket at a time. It starts its later calls from gloo's threads, in an order that may differ between ranks."""
    future = powerSGD_hook.powerSGD_hook(state, bucket)
    future.wait()
    return future


def of(name, group, powersgd_start=10, **how):
    """(state, hook) for register_comm_hook. `group`: the process group of the model. `how`: options of stretto.torch.State, for the hooks of stretto."""
    if name.startswith("powersgd"):
        return powerSGD_hook.PowerSGDState(group, matrix_approximation_rank=int(name[-1]), start_powerSGD_iter=powersgd_start), powersgd
    return {
        "none": lambda: (group, default_hooks.allreduce_hook),
        "bf16": lambda: (group, bf16),
        "int8": lambda: (group, quantised),
        "int8-rows": lambda: (group, quantised_rows),
        "stretto": lambda: (stretto.torch.State(group=group, **how), stretto.torch.hook),
        "stretto-bf16": lambda: (stretto.torch.State(wire="bf16", group=group), stretto.torch.hook),
    }[name]()
