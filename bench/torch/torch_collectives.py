"""Times collectives of torch.distributed over stretto and gloo, in turns, on the ranks that torchrun started.

    torchrun --nproc-per-node 2 bench/torch/torch_collectives.py [OPERATION...]

A line an operation and size: medians of rank 0's calls in µs. STRETTO_WAIT=spin keeps waiting ranks awake (docs/node.md).
"""

import statistics
import sys
import time
import warnings

import torch
import torch.distributed as dist

import stretto.torch  # noqa: F401

SIZES = ((64, 300), (32 << 10, 200), (1 << 20, 40), (64 << 20, 3))  # bytes of the whole vector, calls per turn
TURNS = 5


def all_reduce(values, size):
    return lambda group: dist.all_reduce(values, group=group)


def reduce_scatter(values, size):
    out = torch.empty(values.numel() // size)
    return lambda group: dist.reduce_scatter_single(out, values, group=group)


def all_gather(values, size):
    part = torch.ones(values.numel() // size)
    return lambda group: dist.all_gather_single(values, part, group=group)


OPERATIONS = {function.__name__: function for function in (all_reduce, reduce_scatter, all_gather)}


def times(call, groups, calls):
    """Seconds of each call over each group."""
    taken = {name: [] for name in groups}
    for group in groups.values():
        for _ in range(3):
            call(group)
    for _ in range(TURNS):
        for name, group in groups.items():
            dist.barrier()
            for _ in range(calls):
                began = time.perf_counter()
                call(group)
                taken[name].append(time.perf_counter() - began)
    return taken


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("stretto")
    groups, size = {"gloo": dist.new_group(backend="gloo"), "stretto": dist.group.WORLD}, dist.get_world_size()
    for name in sys.argv[1:] or OPERATIONS:
        for nbytes, calls in SIZES:
            call = OPERATIONS[name](torch.ones(nbytes // 4), size)
            median = {which: statistics.median(taken) * 1e6 for which, taken in times(call, groups, calls).items()}
            if dist.get_rank() == 0:
                print(f"{name} {nbytes} B: gloo {median['gloo']:.1f}, stretto {median['stretto']:.1f}, {median['gloo'] / median['stretto']:.1f} times", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
