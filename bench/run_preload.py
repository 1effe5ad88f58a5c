#!/usr/bin/env python3
"""Runs bench_preload with the profiling library preloaded: on 2 ranks bound to a core each, or on hosts made on this machine.

usage: run_preload.py --json FILE [--hosts N --gbps G] [--ranks R] [ARG of bench_preload...]     R ranks on each host
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from places import SKIPPED, NotPermitted, place, skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--gbps", type=float, default=1)
    parser.add_argument("--ranks", type=int)
    options, rest = parser.parse_known_args()
    build = pathlib.Path(os.environ["BUILD"])
    library = build / "src" / "mpi" / "libstretto_mpi.so"
    ranks = options.ranks or (2 if options.hosts == 1 else 1)
    try:
        with place(options.hosts, options.gbps, ranks) as command, tempfile.NamedTemporaryFile("w") as rules:
            # Between hosts exact calls are served soon only where a rule says so.
            rules.write("* exact\n" if options.hosts > 1 else "")
            rules.flush()
            program = ["env", f"LD_PRELOAD={library}", f"STRETTO_RULES={rules.name}", str(build / "bench" / "bench_preload"), *rest]
            sys.exit(subprocess.run(command(program), check=False).returncode)
    except NotPermitted as reason:
        skip(reason)
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
