#!/usr/bin/env python3
"""Runs bench_hosts on several hosts of this machine (tests/hosts), as `make bench-hosts` does.

usage: run_hosts.py --json FILE [--place HOSTSxRANKSxGBPS] [--busy] [ARG...]
ARGs go to bench_hosts, and replace those that places of several ranks have. --place (4x2x1: four hosts of two ranks each at 1 Gb/s) runs that place alone, and may be repeated. --busy keeps a process busy on each core.
Needs BUILD, MPIRUN and MPI_FLAVOUR in the environment.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys

from places import SKIPPED, NotPermitted, busy_cores, place, skip

# places that two cores can drive at full bandwidth
PLACES = ("2x1x1", "4x1x1", "2x1x5", "2x2x1", "2x3x1", "4x2x1", "4x3x1")
# Hosts of several ranks: raw and streams inside hosts, a ring that ignores hosts, and hierarchical schedules.
SEVERAL = (("--fields", "marmousi_rtm"), ("--payloads", "raw,mixed,fused"), ("--repeat", "3"),
           ("--schedules", "ring,recursive_doubling,hierarchical_ring,hierarchical_recursive_doubling,node"))
DATA = os.environ.get("STRETTO_DATA_DIR", str(pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))
LIMIT = 1800  # seconds after which a run counts as hung


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--place", action="append")
    parser.add_argument("--busy", action="store_true")
    arguments, rest = parser.parse_known_args()
    program = pathlib.Path(os.environ["BUILD"]) / "bench" / "bench_hosts"
    measured = 0
    for name in arguments.place or PLACES:
        count, slots, gbps = (number(n) for number, n in zip((int, int, float), name.split("x")))
        rate = f"{gbps:g}gbit"
        argv = [program, "--data", DATA, "--rate", rate, "--gbps", f"{gbps:g}", "--hosts", count]
        for option, value in SEVERAL if slots > 1 else ():
            argv += [] if option in rest else [option, value]
        argv += rest
        try:
            with place(count, gbps, slots) as command, busy_cores() if arguments.busy else contextlib.nullcontext():
                print(f"{count} hosts of {slots} at {rate}", flush=True)
                subprocess.run(command(argv), timeout=LIMIT, check=True)
            measured += 1
        except NotPermitted as reason:
            skip(reason)
        except subprocess.SubprocessError as error:
            print(f"bench_hosts on {count} hosts of {slots} at {rate}: {error}", file=sys.stderr)
            return 1
    return 0 if measured else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
