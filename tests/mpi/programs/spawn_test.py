"""A program that spawns others without the library, or connects to them, computes with them by the MPI, and by itself as ever.

usage: spawn_test.py LAUNCH MPIRUN LIBRARY PROGRAM
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM = sys.argv[1:]
RANKS = 2  # and as many spawned
TIMES = 8  # of each collective on a communicator: a sum of 24 KB, a bcast of 4 B, a barrier
FIRST = 7  # calls of a communicator before it is served: of 22, 1 and 1 units of use, until they are 64
REMOVED_AT_EXIT = tempfile.TemporaryDirectory()
REPORT = pathlib.Path(REMOVED_AT_EXIT.name) / "report.json"


def calls_of(*arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
    settings = [f"LD_PRELOAD={LIBRARY}", f"STRETTO_REPORT={REPORT}"]
    command = [LAUNCH, MPIRUN, str(RANKS), "env", *settings, PROGRAM, *arguments]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    if done.stdout == "no ports\n":
        return None
    assert f"{RANKS} of {2 * RANKS} with a library preloaded, 0 errors" in done.stdout, (done.stdout, done.stderr)
    counts = {}
    for row in json.loads(REPORT.read_text())["calls"]:
        key = "served" if row["path"] != "MPI" else row["why"]
        counts[key] = counts.get(key, 0) + row["calls"]
    return counts


def what_is_not_all_ours_is_the_mpis():
    for arguments, meetings in (((), 1), (("connect",), 2)):
        counts = calls_of(*arguments)
        if counts is None:
            print("skipped: this MPI opens no ports")
            continue
        # Each meeting has a merged communicator, with one more sum, and its duplicate; each has its first calls. The
        # world agrees on the port.
        together = meetings * (2 * 3 * TIMES + 1 - 2 * FIRST)
        assert counts.pop("processes outside MPI_COMM_WORLD") == RANKS * together, counts
        assert counts.pop("the first calls of a communicator") == RANKS * FIRST * (1 + 2 * meetings), counts
        assert counts == {"served": RANKS * (2 * 3 * TIMES + 1 - FIRST)}, counts


if __name__ == "__main__":
    what_is_not_all_ours_is_the_mpis()
