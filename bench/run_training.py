#!/usr/bin/env python3
"""Runs bench_training, a program that knows nothing of stretto, as it is and under the profiling library, in turns: on two ranks of this host,
and on hosts made on it (tests/hosts), there also within a bound.

usage: run_training.py --json FILE [--floats N] [--steps N] [--turns N] [--place NAME]...
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

from hosts import Hosts, NotPermitted  # noqa: E402
from run_node import launch  # noqa: E402

# name: hosts, Gb/s
PLACES = {"1 host": (1, None), "2 hosts 5gbit": (2, 5), "4 hosts 1gbit": (4, 1)}
LIMIT = 600  # seconds until a run is a hang
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def ways(hosts):
    """name: settings of the ranks."""
    library = pathlib.Path(os.environ["BUILD"]) / "src" / "mpi" / "libstretto_mpi.so"
    preload = {"LD_PRELOAD": str(library)}
    found = {"alone": {}, "exact": preload}
    if hosts > 1:
        found["rel:1e-4"] = {**preload, "STRETTO_BOUND": "rel:1e-4"}
    return found


def measured(command, environment):
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True)
    line = next(line.split() for line in done.stdout.splitlines() if line.startswith("step "))
    return float(line[1]), float(line[3])


def place_of(name, options, writer):
    hosts, gbps = PLACES[name]
    ranks = 2 if hosts == 1 else hosts
    program = [str(pathlib.Path(os.environ["BUILD"]) / "bench" / "bench_training"), str(options.floats), str(options.steps)]
    samples = {way: [] for way in ways(hosts)}

    def turns(command_of, environment):
        for _ in range(options.turns):
            for way, settings in ways(hosts).items():
                command = command_of(["env", *(f"{key}={value}" for key, value in settings.items()), *program])
                samples[way].append(measured(command, environment))

    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    mpirun, flavour = os.environ["MPIRUN"], os.environ["MPI_FLAVOUR"]
    if hosts == 1:
        turns(lambda argv: [*launch(mpirun, flavour, ranks, len(os.sched_getaffinity(0))), *argv], environment)
    else:
        with Hosts(hosts, rate=f"{gbps}gbit") as made:
            turns(lambda argv: made.launch_command(mpirun, ranks, argv), None)
    medians = {way: statistics.median(ms for ms, _ in taken) for way, taken in samples.items()}
    for way in samples:
        if way == "alone":
            continue
        row = {"bench": "training", "case": f"gradients {options.floats * 4 >> 20} MB p={ranks} {name} {way}", "metric": "ms",
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
    options = parser.parse_args()
    with open(options.json, "a", encoding="utf-8") as writer:
        for name in options.place or PLACES:
            print(name, flush=True)
            try:
                place_of(name, options, writer)
            except NotPermitted as reason:
                print(f"skipped: this machine does not permit several hosts: {reason}")
            except subprocess.SubprocessError as error:
                print(f"bench_training: {error}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
