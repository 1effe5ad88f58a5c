#!/usr/bin/env python3
"""Runs bench_preload with the profiling library preloaded: 2 ranks bound to a core each.

usage: run_preload.py --json FILE [ARG of bench_preload...]
"""

import os
import pathlib
import subprocess
import sys

from places import launch


def main():
    build = pathlib.Path(os.environ["BUILD"])
    library = build / "src" / "mpi" / "libstretto_mpi.so"
    command = [*launch(2), "env", f"LD_PRELOAD={library}", str(build / "bench" / "bench_preload"), *sys.argv[1:]]
    sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
