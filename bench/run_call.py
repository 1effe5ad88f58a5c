#!/usr/bin/env python3
"""Runs bench_call on this machine: on 1 rank, where there is nothing but the way through the C API, and on 2.

usage: run_call.py --json FILE [ARG of bench_call...]
"""

import os
import subprocess
import sys

from places import launch


def main():
    program = os.path.join(os.environ["BUILD"], "bench", "bench_call")
    environment = dict(os.environ, STRETTO_NODE="0")  # so that calls end in the MPI
    for ranks in (1, 2):
        result = subprocess.run([*launch(ranks), program, *sys.argv[1:]], env=environment, check=False)
        if result.returncode != 0:
            sys.exit(f"bench_call on {ranks} ranks ended with {result.returncode}")


if __name__ == "__main__":
    main()
