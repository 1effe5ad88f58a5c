#!/usr/bin/env python3
"""Times a whole program, plain and under the profiling library in turns, and prints the medians and their ratio.

usage: run_programs.py --json FILE [--ranks N] [--hosts N --gbps G] [--repeats N] [--name NAME] [--directory DIR]
                       [--set NAME=VALUE]... PROGRAM [ARG...]

Times are of whole processes, launching and MPI_Init with them. A ratio is the plain program's time over ours, of the two
runs of a turn. PROGRAM's output goes to a file, and is shown where PROGRAM fails.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from places import SKIPPED, NotPermitted, place, skip


def interval(values):
    """The order statistics that hold the median with 95 % (those of a fair coin), or the extremes of few values."""
    v, n = sorted(values), len(values)
    k = max((k for k in range(n // 2 + 1) if sum(math.comb(n, i) for i in range(k)) / 2**n <= 0.025), default=0)
    return v[max(k - 1, 0)], v[n - max(k, 1)]


def seconds(command, directory, timeout):
    """How long it takes; ends this program where the command fails."""
    with tempfile.TemporaryFile() as printed:
        begun = time.monotonic()
        try:
            done = subprocess.run(command, cwd=directory, stdout=printed, stderr=subprocess.STDOUT, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            sys.exit(f"error: {' '.join(command)} takes more than {timeout} s")
        took = time.monotonic() - begun
        if done.returncode != 0:
            printed.seek(0)
            text = printed.read()[-2000:].decode(errors="replace")
            sys.exit(f"{text}\nerror: {' '.join(command)} ended with status {done.returncode}")
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--gbps", type=float, default=1)
    parser.add_argument("--repeats", type=int, default=9, help="turns")
    parser.add_argument("--name", help="in the table; PROGRAM's name otherwise")
    parser.add_argument("--directory", help="where PROGRAM runs")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="in the environment of PROGRAM, not of the launcher")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of one run")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.program:
        skip("no program was named; bench-programs ARGS='--ranks 4 PROGRAM ARG...' times one")
        sys.exit(SKIPPED)
    if options.repeats < 1 or options.ranks < 1:
        parser.error(f"--repeats {options.repeats} and --ranks {options.ranks} must be 1 or more")
    program = shutil.which(options.program[0])
    if program is None:
        parser.error(f"no program '{options.program[0]}'")
    argv = [str(pathlib.Path(program).resolve()), *options.program[1:]]
    library = pathlib.Path(os.environ["BUILD"]) / "src" / "mpi" / "libstretto_mpi.so"
    try:
        with place(options.hosts, options.gbps, options.ranks) as command:
            plain, ours = command(["env", *options.set, *argv]), command(["env", f"LD_PRELOAD={library}", *options.set, *argv])
            run = lambda words: seconds(words, options.directory, options.timeout)  # noqa: E731
            run(plain)  # reads what is on the disk
            turns = []
            for turn in range(options.repeats):
                first, second = (plain, ours) if turn % 2 == 0 else (ours, plain)
                a, b = run(first), run(second)
                turns.append((a, b) if turn % 2 == 0 else (b, a))
    except NotPermitted as reason:
        skip(reason)
        sys.exit(SKIPPED)
    low, high = interval([p / o for p, o in turns])
    row = {
        "bench": "programs",
        "case": options.name or pathlib.Path(program).name,
        "metric": f"{options.ranks} ranks" if options.hosts == 1 else f"{options.hosts} hosts of {options.ranks} ranks",
        "value": statistics.median(o for _, o in turns),
        "unit": "s",
        "peer": "plain",
        "peer_value": statistics.median(p for p, _ in turns),
        "ratio": statistics.median(p / o for p, o in turns),
        "ratio_low": low,
        "ratio_high": high,
        "turns": options.repeats,
    }
    with open(options.json, "a", encoding="utf-8") as rows:
        rows.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
