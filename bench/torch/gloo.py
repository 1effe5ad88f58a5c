"""The collectives of bench_carriers.cpp by gloo, through torch.distributed, on the ranks of a launcher. Run by run_carriers.py in a venv of
its own: prints {"case", "us"} a line on rank 0.

usage: gloo.py STORE PLACE COLLECTIVES SIZES SECONDS
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

WARM_UP = 3


def first(*names):
    return int(next(os.environ[name] for name in names if name in os.environ))


def calls(ranks, size):
    """name: (function, tensor that is rewritten)"""
    n = max(size // 4, 1)
    block = max(n // ranks, 1)
    whole, part, all_ = torch.zeros(n), torch.zeros(block), torch.zeros(block * ranks)
    return {
        "allreduce": (lambda: dist.all_reduce(whole), whole),
        "reduce_scatter": (lambda: dist.reduce_scatter_tensor(part, all_), all_),
        "allgather": (lambda: dist.all_gather_into_tensor(all_, part), part),
        "broadcast": (lambda: dist.broadcast(whole, 0), whole),
    }


def main():
    store, place, collectives, sizes, seconds = sys.argv[1:]
    rank, ranks = first("OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"), first("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    for name in collectives.split(","):
        for size in map(int, sizes.split(",")):
            call, tensor = calls(ranks, size)[name]
            times, repeats, k = [], 3, -WARM_UP
            while k < repeats:
                tensor.fill_(k + rank)
                dist.barrier()
                begun = time.perf_counter()
                call()
                took = torch.tensor([time.perf_counter() - begun])
                dist.all_reduce(took, dist.ReduceOp.MAX)
                if k >= 0:
                    times.append(took.item() * 1e6)
                if k == -1:
                    repeats = min(max(int(float(seconds) / took.item()), 3), 200)
                k += 1
            if rank == 0:
                print(json.dumps({"case": f"{name} {size} B, {ranks} ranks, {place}", "us": statistics.median(times)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
