#!/usr/bin/env python3
"""Runs bench_choose on this host and on several hosts made on it (tests/hosts), as `make bench-choose` does.

usage: run_choose.py --json FILE [--quick] [ARG...]    ARGs go to bench_choose. Needs BUILD and MPIRUN in the environment.
`make bench-choose MPI=mpich` measures the other MPI.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

from hosts import Hosts, NotPermitted  # noqa: E402

LOCAL = (2, 4)  # ranks on one host
NETWORKS = ((2, 1, 1), (2, 5, 1), (4, 1, 1), (4, 2.5, 1), (2, 1, 2))  # hosts, Gb/s, ranks a host
LIMIT = 1800  # seconds until a run is a hang


def arguments(place, profile):
    program = pathlib.Path(os.environ["BUILD"]) / "bench" / "bench_choose"
    return [str(program), "--place", place, "--profile", profile, *sys.argv[1:]]


def main():
    mpirun = os.environ["MPIRUN"]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for ranks in LOCAL:
                print(f"{ranks} ranks on one host", flush=True)
                launch = [str(ROOT / "scripts" / "launch"), mpirun, str(ranks)]
                subprocess.run(launch + arguments("1 host", f"{scratch}/local{ranks}.json"), timeout=LIMIT, check=True)
            for count, gbps, slots in NETWORKS:
                rate = f"{gbps}gbit"
                place = f"{count} hosts {rate}"
                print(f"{count * slots} ranks on {place}", flush=True)
                with Hosts(count, rate=rate, slots=slots) as hosts:
                    argv = arguments(place, f"{scratch}/{count}x{slots}.json")
                    command = hosts.launch_command(mpirun, count * slots, argv)
                    subprocess.run(command, timeout=LIMIT, check=True)
        except NotPermitted as reason:
            print(f"skipped: this machine does not permit several hosts: {reason}")
        except subprocess.SubprocessError as error:
            print(f"bench_choose: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
