#!/usr/bin/env python3
"""Runs bench_streams on this machine, on 2 ranks bound to a core each, or as many as are asked for.

usage: run_streams.py --json FILE [--ranks 2] [ARG of bench_streams...]
"""

import argparse
import os
import subprocess
import sys

from places import launch


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="2")
    options, rest = parser.parse_known_args()
    program = os.path.join(os.environ["BUILD"], "bench", "bench_streams")
    for ranks in (int(r) for r in options.ranks.split(",")):
        result = subprocess.run([*launch(ranks), program, *rest], check=False)
        if result.returncode != 0:
            sys.exit(f"bench_streams on {ranks} ranks ended with {result.returncode}")


if __name__ == "__main__":
    main()
