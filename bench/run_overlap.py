#!/usr/bin/env python3
"""Runs bench_overlap: two ranks on one core of this machine, and a communication core on another.

usage: run_overlap.py --json FILE [ARG of bench_overlap...]
"""

import os
import subprocess
import sys

from places import ROOT, cores, skip, SKIPPED


def main():
    usable = sorted(os.sched_getaffinity(0))
    if cores() < 2:
        skip("ranks and a communication core take two cores")
        sys.exit(SKIPPED)
    program = os.path.join(os.environ["BUILD"], "bench", "bench_overlap")
    command = [str(ROOT / "scripts" / "launch"), os.environ["MPIRUN"], "2", "env",
               f"LD_PRELOAD={os.environ['BUILD']}/src/mpi/libstretto_mpi.so", f"STRETTO_COMM_CORES={usable[1]}", "taskset", "-c", str(usable[0]), program,
               "--cores", str(usable[1]), "--place", "both on one core", *sys.argv[1:]]
    result = subprocess.run(command, check=False)
    if result.returncode != 0:
        sys.exit(f"bench_overlap ended with {result.returncode}")


if __name__ == "__main__":
    main()
