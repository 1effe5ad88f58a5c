#!/usr/bin/env python3
"""Runs bench_overlap, and the same for each other MPI of the build: ranks on one core of this machine, and communication cores on another.

usage: run_overlap.py --json FILE [--place HOSTSxRANKSxGBPS]... [ARG of bench_overlap...]
--place 1x2x0, which is taken where none is given: two ranks of this host. 2x1x5: two hosts of a rank each at 5 Gb/s, where messages move on
the communication cores and MPI_THREAD_MULTIPLE is asked for; so do the split trees of --splits 0,1,2,3. MPICH is measured again with its progress threads (MPICH_ASYNC_PROGRESS).
"""

import argparse
import os
import subprocess
import sys

from places import ROOT, SKIPPED, NotPermitted, cores, place, programs, skip


# Ranks share a core: one that waits must sleep, as scripts/launch tells where ranks are more than cores.
SLEEPS = ["MPIR_CVAR_POLLS_BEFORE_YIELD=1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE=true", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=1"]


def contests():
    """[(program, MPI as place() has it, where, settings)]: the profiling library is that of the build's MPI."""
    for program, mpi in programs("bench_overlap"):
        if mpi is None:
            yield program, None, "", [f"LD_PRELOAD={os.environ['BUILD']}/src/mpi/libstretto_mpi.so"]
        elif mpi[0] == "mpich":
            yield program, mpi, ", over MPICH", SLEEPS
            yield program, mpi, ", over MPICH with progress threads", [*SLEEPS, "MPICH_ASYNC_PROGRESS=1"]
        else:
            yield program, mpi, f", over {mpi[0]}", []


def measure(name, arguments):
    hosts, ranks, gbps = (float(n) if "." in n else int(n) for n in name.split("x"))
    where = f"{ranks} ranks on one core" if hosts == 1 else f"{hosts} hosts at {gbps} Gb/s, {ranks} a host, ranks on one core"
    first, second = sorted(os.sched_getaffinity(0))[:2]
    with place(hosts, gbps, ranks) as command:
        for program, mpi, how, settings in contests():
            argv = ["env", f"STRETTO_COMM_CORES={second}", *settings, "taskset", "-c", str(first), str(program), "--cores", str(second),
                    "--place", where + how, *["--multiple"] * (hosts > 1 or "--splits" in arguments), *arguments]
            one = [str(ROOT / "scripts" / "launch"), mpi[1] if mpi else os.environ["MPIRUN"], str(ranks), *argv]
            if subprocess.run(one if hosts == 1 else command(argv, mpi), check=False).returncode != 0:
                sys.exit(f"{program} failed: {where}{how}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--place", action="append")
    options, arguments = parser.parse_known_args()
    if cores() < 2:
        skip("ranks and a communication core take two cores")
        sys.exit(SKIPPED)
    measured = 0
    for name in options.place or ["1x2x0"]:
        try:
            measure(name, arguments)
            measured += 1
        except NotPermitted as reason:
            skip(reason)
    sys.exit(0 if measured else SKIPPED)


if __name__ == "__main__":
    main()
