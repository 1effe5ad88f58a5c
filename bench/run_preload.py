#!/usr/bin/env python3
"""Runs bench_preload with the profiling library preloaded: 2 ranks bound to a core each.

usage: run_preload.py --json FILE [ARG of bench_preload...]
"""

import os
import pathlib
import subprocess
import sys

from run_node import launch


def main():
    build = pathlib.Path(os.environ["BUILD"])
    library = build / "src" / "mpi" / "libstretto_mpi.so"
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    words = launch(os.environ["MPIRUN"], os.environ["MPI_FLAVOUR"], 2, len(os.sched_getaffinity(0)))
    command = [*words, "env", f"LD_PRELOAD={library}", str(build / "bench" / "bench_preload"), *sys.argv[1:]]
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
