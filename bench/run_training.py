#!/usr/bin/env python3
"""Runs bench_training, a program that knows nothing of stretto, as it is and under the profiling library, in turns: on two ranks of this host,
and on hosts made on it (tests/hosts), there also within a bound.

usage: run_training.py --json FILE [--floats N] [--steps N] [--turns N] [--place NAME]... [--busy]
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from places import SKIPPED, NotPermitted, busy_cores, place, skip

# name: hosts, Gb/s, ranks per host
PLACES = {"1 host": (1, None, 2), "2 hosts 5gbit": (2, 5, 1), "4 hosts 1gbit": (4, 1, 1)}
LIMIT = 600  # seconds after which a run counts as hung
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def ways(hosts, rules):
    """name: settings of the ranks. `rules`: a file that forces a ring."""
    library = pathlib.Path(os.environ["BUILD"]) / "src" / "mpi" / "libstretto_mpi.so"
    preload = {"LD_PRELOAD": str(library)}
    found = {"alone": {}, "exact": preload}
    if hosts > 1:
        found["rel:1e-4"] = {**preload, "STRETTO_BOUND": "rel:1e-4"}
        found["ring"] = {**preload, "STRETTO_RULES": rules}  # exact, by stretto's ring
    return found


def measured(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True)
    line = next(line.split() for line in done.stdout.splitlines() if line.startswith("step "))
    return float(line[1]), float(line[3])


def place_of(name, options, writer):
    hosts, gbps, slots = PLACES[name]
    program = [str(pathlib.Path(os.environ["BUILD"]) / "bench" / "bench_training"), str(options.floats), str(options.steps)]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".rules") as rules, \
            place(hosts, gbps, slots) as command, busy_cores() if options.busy else contextlib.nullcontext():
        rules.write("allreduce schedule:ring\n")
        rules.flush()
        all_ways = ways(hosts, rules.name)
        samples = {way: [] for way in all_ways}
        for _ in range(options.turns):
            for way, settings in all_ways.items():
                samples[way].append(measured(command(["env", *(f"{key}={value}" for key, value in settings.items()), *program])))
    flavour = os.environ["MPI_FLAVOUR"]
    busy = ", busy cores" if options.busy else ""
    medians = {way: statistics.median(ms for ms, _ in taken) for way, taken in samples.items()}
    for way in samples:
        if way == "alone":
            continue
        row = {"bench": "training", "case": f"gradients {options.floats * 4 >> 20} MB p={hosts * slots} {name} {way}{busy}", "metric": "ms",
               "value": medians[way], "unit": "ms", "peer": f"{NAMES.get(flavour, flavour)} alone", "peer_value": medians["alone"],
               "ratio": medians["alone"] / medians[way], "sum": samples[way][0][1], "peer_sum": samples["alone"][0][1]}
        writer.write(json.dumps(row) + "\n")
        writer.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True)
    parser.add_argument("--floats", type=int, default=4 << 20)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--place", action="append", choices=list(PLACES), help="all")
    parser.add_argument("--busy", action="store_true", help="beside a busy process on each core")
    options = parser.parse_args()
    measured = 0
    with open(options.json, "a", encoding="utf-8") as writer:
        for name in options.place or PLACES:
            print(name, flush=True)
            try:
                place_of(name, options, writer)
                measured += 1
            except NotPermitted as reason:
                skip(reason)
            except subprocess.SubprocessError as error:
                print(f"bench_training: {error}", file=sys.stderr)
                return 1
    return 0 if measured else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
