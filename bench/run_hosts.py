#!/usr/bin/env python3
"""Runs bench_hosts on several hosts of this machine (tests/hosts), as `make bench-hosts` does.

usage: run_hosts.py --json FILE [ARG...]    ARGs go to bench_hosts. Needs BUILD and MPIRUN in the environment.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

from hosts import Hosts, NotPermitted  # noqa: E402

NETWORKS = ((2, 1), (4, 1), (2, 5))  # hosts, Gb/s: what two cores can drive at the wire's rate
DATA = os.environ.get("STRETTO_DATA_DIR", str(ROOT.parent / "shared" / "data"))
LIMIT = 1800  # seconds until a network's run is a hang


def main():
    program = pathlib.Path(os.environ["BUILD"]) / "bench" / "bench_hosts"
    for count, gbps in NETWORKS:
        rate = f"{gbps}gbit"
        argv = [program, "--data", DATA, "--rate", rate, "--gbps", gbps, *sys.argv[1:]]
        try:
            with Hosts(count, rate=rate) as hosts:
                print(f"{count} hosts at {rate}", flush=True)
                subprocess.run(hosts.launch_command(os.environ["MPIRUN"], count, argv), timeout=LIMIT, check=True)
        except NotPermitted as reason:
            print(f"skipped: this machine does not permit several hosts: {reason}")
            return 0
        except subprocess.SubprocessError as error:
            print(f"bench_hosts on {count} hosts at {rate}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
