#!/usr/bin/env python3
"""Runs bench_node on this machine: 2 ranks bound to a core each, then 4 and 8 ranks on the cores there are, which yield.

usage: run_node.py --json FILE [--ranks 2,4,8] [ARG of bench_node...]
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def launch(mpirun, flavour, ranks, cores):
    """The launcher's words: bound where every rank has a core, sharing cores otherwise (scripts/launch)."""
    if ranks > cores:
        return [str(ROOT / "scripts" / "launch"), mpirun, str(ranks)]
    if flavour == "mpich":
        return [mpirun, "-bind-to", "hwthread", "-n", str(ranks)]
    return [mpirun, "--map-by", "hwthread", "--bind-to", "hwthread", "-n", str(ranks)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True)
    parser.add_argument("--ranks", default="2,4,8")
    options, rest = parser.parse_known_args()
    program = os.path.join(os.environ["BUILD"], "bench", "bench_node")
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    cores = len(os.sched_getaffinity(0))
    for ranks in (int(r) for r in options.ranks.split(",")):
        largest = [] if ranks <= cores else ["--largest", str(16 << 20), "--repeats", "9"]
        command = launch(os.environ["MPIRUN"], os.environ["MPI_FLAVOUR"], ranks, cores)
        result = subprocess.run([*command, program, "--json", options.json, *largest, *rest], env=environment, check=False)
        if result.returncode != 0:
            sys.exit(f"bench_node on {ranks} ranks ended with {result.returncode}")


if __name__ == "__main__":
    main()
