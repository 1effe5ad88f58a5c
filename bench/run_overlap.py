#!/usr/bin/env python3
"""Runs bench_overlap, and the same for each other MPI of the build: every way on the same two cores of this machine.

usage: run_overlap.py --json FILE [--place HOSTSxRANKSxGBPS]... [ARG of bench_overlap...]
--place 1x2x0, which is taken where none is given: two ranks of this host. 2x1x5: two hosts of a rank each at 5 Gb/s, where messages move on
the communication core and MPI_THREAD_MULTIPLE is asked for; so do the split trees of --splits 0,1,2,3. MPICH is measured again with its
progress threads (MPICH_ASYNC_PROGRESS), which start on the second core and stay there while the ranks move to the first.
"""

import argparse
import os
import subprocess
import sys

from places import ROOT, SKIPPED, NotPermitted, cores, place, programs, skip


# Ranks share a core, so waiting ranks must sleep: settings of scripts/launch for oversubscribed cores.
SLEEPS = ["MPIR_CVAR_POLLS_BEFORE_YIELD=1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE=true", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=1"]


def contests():
    """[(program, MPI as place() has it, where, settings, has progress threads)]: the profiling library is that of the build's MPI."""
    for program, mpi in programs("bench_overlap"):
        if mpi is None:
            yield program, None, "", [f"LD_PRELOAD={os.environ['BUILD']}/src/mpi/libstretto_mpi.so"], False
        elif mpi[0] == "mpich":
            yield program, mpi, ", over MPICH", SLEEPS, False
            yield program, mpi, ", over MPICH with progress threads", [*SLEEPS, "MPICH_ASYNC_PROGRESS=1"], True
        else:
            yield program, mpi, f", over {mpi[0]}", [], False


def measure(name, arguments):
    hosts, ranks, gbps = (float(n) if "." in n else int(n) for n in name.split("x"))
    where = f"{ranks} ranks" if hosts == 1 else f"{hosts} hosts at {gbps} Gb/s, {ranks} a host"
    first, second = sorted(os.sched_getaffinity(0))[:2]
    with place(hosts, gbps, ranks) as command:
        for program, mpi, how, settings, threads in contests():
            argv = ["env", f"STRETTO_COMM_CORES={second}", *settings, "taskset", "-c", str(second if threads else f"{first},{second}"), str(program),
                    "--all-cores", f"{first},{second}", "--cores", str(second), *["--progress-threads"] * threads,
                    "--place", f"{where} on two cores{how}", *["--multiple"] * (hosts > 1 or "--splits" in arguments), *arguments]
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
