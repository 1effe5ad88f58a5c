"""Random MPI programs under the profiling library, each with its control: the same program and seed under plain MPI.

usage: torture.py LAUNCH MPIRUN LIBRARY PROGRAM [--hours H | --jobs N] [--seconds S] [--seed N]

A job draws ranks (2 to 7), threads, and how the library is set; a wrong result or a hang ends it, and the message has the
command, whose last arguments are seconds, seed and bound.
"""

import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time

BOUND = "1e-6"  # beside sums of small integers
SETTINGS = (
    {},
    {"STRETTO_NODE": "0"},
    {"STRETTO_BOUND": f"abs:{BOUND}"},
    {"STRETTO_BOUND": f"abs:{BOUND}", "STRETTO_NODE": "0"},
    {"STRETTO_RULES": "streams.rules", "STRETTO_BOUND": f"abs:{BOUND}"},
    {"STRETTO_RULES": "forced.rules"},
    {"STRETTO_REPRODUCIBLE": "1"},
)
PATIENCE = 120  # seconds beyond a job's own, after which it hangs


def run(command):
    """Runs a job to its end. Returns its row; raises where it is wrong, fails or hangs."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True) as started:
        try:
            printed, _ = started.communicate(timeout=float(command[-3]) + PATIENCE)
        except subprocess.TimeoutExpired:
            started.terminate()  # the launcher ends its ranks
            printed, _ = started.communicate()
            raise AssertionError(f"{command} hangs:\n{printed}") from None
    line = re.search(r"^\{.*\}$", printed, re.MULTILINE)
    assert started.returncode == 0 and line, f"{command} ends with {started.returncode}:\n{printed}"
    return json.loads(line[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("launch", "mpirun", "library", "program"):
        parser.add_argument(name)
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    if (a.hours > 0) == (a.jobs > 0) or a.seconds <= 0:
        parser.error("either --hours or --jobs is a positive number, and so is --seconds")
    rules = os.path.join(os.path.dirname(__file__), "..", "mpi")
    cores = sorted(os.sched_getaffinity(0))
    draws, end, calls = random.Random(a.seed), time.monotonic() + 3600 * a.hours, 0
    for number in itertools.count():
        if number == a.jobs if a.jobs else time.monotonic() >= end:
            break
        variables = dict(draws.choice(SETTINGS))
        if "STRETTO_RULES" in variables:
            variables["STRETTO_RULES"] = os.path.join(rules, variables["STRETTO_RULES"])
        if draws.randrange(2):
            variables["STRETTO_COMM_CORES"] = str(cores[-1])
        ranks, seed = draws.randrange(2, 8), draws.randrange(1 << 32)
        bound = BOUND if "STRETTO_BOUND" in variables else "0"
        program = [a.program, str(a.seconds), str(seed), bound]
        launch = [a.launch, a.mpirun, str(ranks)]
        run([*launch, a.program, str(a.seconds / 4), str(seed), "0"])
        row = run([*launch, "env", f"LD_PRELOAD={a.library}", *(f"{k}={v}" for k, v in variables.items()), *program])
        calls += row["calls"]
        print(f"{number} {ranks} ranks, seed {seed}, {variables}: {json.dumps(row)}", flush=True)
    print(f"tortured: {calls} calls, all right")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as wrong:
        sys.exit(f"error: {wrong}")
