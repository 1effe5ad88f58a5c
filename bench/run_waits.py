#!/usr/bin/env python3
"""What waiting costs: processor time of a rank that waits for another, and the time of allreduces beside a busy process on each core.

usage: run_waits.py --json FILE [--ranks N] [--seconds S]

The ranks are processes of this host: in its memory ("node"), and by messages over UCX. Each mode of STRETTO_WAIT has ranks of its own. Where
torch is installed, gloo's all_reduce is measured on the same ranks. Times are means over S seconds.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from places import busy_cores

SIZES = (1 << 10, 1 << 16, 1 << 20)  # bytes of float32
MODES = ("auto", "sleep", "spin")


def mean_us(comm, call, seconds):
    """Mean time of a call; the ranks stop together."""
    for _ in range(5):
        call()
    begin, count, calls = time.perf_counter(), 0, 1
    while True:
        for _ in range(calls):
            call()
        count += calls
        took = time.perf_counter() - begin
        took = comm.allreduce(np.array([took]))[0].item() / comm.size
        if took >= seconds:
            return 1e6 * took / count
        calls = max(1, int(count / max(took, 1e-9) * seconds / 20))


def gloo():
    """Its all_reduce; None without torch."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=os.environ["STRETTO_STORE"] + "-gloo", rank=int(os.environ["STRETTO_RANK"]),
                            world_size=int(os.environ["STRETTO_SIZE"]))
    return lambda x: dist.all_reduce(torch.from_numpy(x))


def rank(what, seconds):
    """One rank; rank 0 prints [[name, value]]."""
    import stretto

    comm, found = stretto.init(), []
    if what == "idle":
        x = np.ones(1 << 18, np.float32)
        out = np.empty_like(x)
        for name, call in (("allreduce", lambda: comm.allreduce(x, out=out)),
                           ("iallreduce().wait()", lambda: comm.iallreduce(x, out=out).wait())):
            call()
            comm.barrier()
            if comm.rank:
                time.sleep(seconds)
            before, begin = time.process_time(), time.perf_counter()
            call()
            found.append((name, (time.process_time() - before) / (time.perf_counter() - begin)))
            comm.barrier()
    else:
        theirs = gloo() if os.environ.get("STRETTO_WAIT") == "auto" and what == "node" else None
        for nbytes in SIZES:
            x = np.ones(nbytes // 4, np.float32)
            out = np.empty_like(x)
            found.append((f"allreduce, {nbytes >> 10} KiB", mean_us(comm, lambda: comm.allreduce(x, out=out), seconds)))
            found.append((f"iallreduce().wait(), {nbytes >> 10} KiB",
                          mean_us(comm, lambda: comm.iallreduce(x, out=out).wait(), seconds)))
            if theirs:
                found.append((f"gloo, {nbytes >> 10} KiB", mean_us(comm, lambda: theirs(x), seconds)))
    if comm.rank == 0:
        print(json.dumps(found))


def ranks(count, what, seconds, **settings):
    with tempfile.TemporaryDirectory() as here:
        store = "file://" + str(pathlib.Path(here, "store"))
        running = [subprocess.Popen([sys.executable, __file__, "--rank", what, "--seconds", str(seconds), "--json", "-"],
                                    stdout=subprocess.PIPE if r == 0 else None,
                                    env={**os.environ, "STRETTO_STORE": store, "STRETTO_SIZE": str(count), "STRETTO_RANK": str(r), **settings})
                   for r in range(count)]
        told, _ = running[0].communicate()
        if any(r.wait() for r in running):
            sys.exit(f"ranks of {what} failed")
        return json.loads(told)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", required=True)
    parser.add_argument("--ranks", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rank", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        return rank(given.rank, given.seconds)
    with open(given.json, "a", encoding="utf-8") as rows:
        def write(case, found, unit):
            for name, value in found:
                rows.write(json.dumps({"bench": "waits", "case": case, "metric": name, "value": value, "unit": unit}) + "\n")

        for place, node in (("node", "1"), ("UCX", "0")):
            for mode in MODES:
                found = ranks(given.ranks, "idle", given.seconds, STRETTO_WAIT=mode, STRETTO_NODE=node)
                write(f"a rank waits, {place}, {mode}", found, "s of processor a second")
        with busy_cores():
            for place, node in (("node", "1"), ("UCX", "0")):
                for mode in MODES:
                    found = ranks(given.ranks, place, given.seconds, STRETTO_WAIT=mode, STRETTO_NODE=node)
                    write(f"beside busy cores, {place}, {mode}", found, "us")


if __name__ == "__main__":
    main()
