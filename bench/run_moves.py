#!/usr/bin/env python3
"""Runs bench_moves with the profiling library preloaded, on hosts made on this machine.

usage: run_moves.py --json FILE [--place HOSTSxRANKSxGBPS] [ARG of bench_moves...]     --place may be repeated
"""

import argparse
import os
import pathlib
import subprocess
import sys

from places import SKIPPED, NotPermitted, place, skip

DATA = os.environ.get("STRETTO_DATA_DIR", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--place", action="append")
    options, rest = parser.parse_known_args()
    build = pathlib.Path(os.environ["BUILD"])
    for name in options.place or ("2x1x1", "4x1x1"):
        hosts, ranks, gbps = (number(n) for number, n in zip((int, int, float), name.split("x")))
        words = ["env", f"LD_PRELOAD={build / 'src' / 'mpi' / 'libstretto_mpi.so'}", "STRETTO_BOUND_MOVES=1",
                 build / "bench" / "bench_moves", "--data", DATA, *rest]
        try:
            with place(hosts, gbps, ranks) as command:
                print(f"{hosts} hosts of {ranks} at {gbps:g} Gb/s", flush=True)
                code = subprocess.run(command(words), check=False).returncode
        except NotPermitted as reason:
            skip(reason)
            return SKIPPED
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
