#!/usr/bin/env python3
"""Runs bench_node on this machine: 2 ranks bound to a core each, then 4 and 8 ranks on the cores there are, which yield.

usage: run_node.py --json FILE [--ranks 2,4,8] [ARG of bench_node...]
"""

import argparse
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from places import cores, launch  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True)
    parser.add_argument("--ranks", default="2,4,8")
    options, rest = parser.parse_known_args()
    program = os.path.join(os.environ["BUILD"], "bench", "bench_node")
    for ranks in (int(r) for r in options.ranks.split(",")):
        usual = {} if ranks <= cores() else {"--largest": str(16 << 20), "--repeats": "9"}
        limits = [word for name, value in usual.items() if not any(given.split("=")[0] == name for given in rest) for word in (name, value)]
        result = subprocess.run([*launch(ranks), program, "--json", options.json, *limits, *rest], check=False)
        if result.returncode != 0:
            sys.exit(f"bench_node on {ranks} ranks ended with {result.returncode}")


if __name__ == "__main__":
    main()
