#!/usr/bin/env python3
"""Runs bench_short on several hosts of this machine, and the same for each other MPI of the build.

usage: run_short.py --json FILE [--place HOSTSxRANKSxGBPS]... [ARG of bench_short...]
Needs BUILD, MPIRUN and MPI_FLAVOUR in the environment.
"""

import argparse
import subprocess
import sys

from places import SKIPPED, NotPermitted, place, programs, skip

PLACES = ("4x2x1",)
LIMIT = 600  # seconds after which a run counts as hung


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True)
    parser.add_argument("--place", action="append")
    options, rest = parser.parse_known_args()
    measured = 0
    for name in options.place or PLACES:
        count, slots, gbps = (number(n) for number, n in zip((int, int, float), name.split("x")))
        try:
            with place(count, gbps, slots) as command:
                for program, mpi in programs("bench_short"):
                    argv = [program, "--json", options.json, "--place", f"{count} hosts", *rest]
                    subprocess.run(command(argv, mpi), timeout=LIMIT, check=True)
            measured += 1
        except NotPermitted as reason:
            skip(reason)
    return 0 if measured else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
