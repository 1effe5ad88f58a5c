"""A program that frees its communicators soon gets its own later, and at last none; one that lasts is served.

usage: short_lived_test.py LAUNCH MPIRUN LIBRARY PROGRAM COMMUNICATORS
"""

import json
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM = sys.argv[1:5]
RANKS, FIRST = 3, 64  # calls of a communicator before it is served, where none was freed soon
COMMUNICATORS, CALLS = int(sys.argv[5]), 70
LAST = FIRST << (min(COMMUNICATORS, 10) + 1)  # a communicator waits at most FIRST << 10 calls


def main():
    removed_at_exit = tempfile.TemporaryDirectory()
    file = pathlib.Path(removed_at_exit.name) / "report.json"
    subprocess.run([LAUNCH, MPIRUN, str(RANKS), "env", f"LD_PRELOAD={LIBRARY}", f"STRETTO_REPORT={file}", PROGRAM, str(COMMUNICATORS),
                    str(CALLS), str(LAST)], check=True, timeout=200)
    calls = [row for row in json.loads(file.read_text())["calls"] if row["operation"] == "allreduce"]
    early = sum(row["calls"] for row in calls if row["why"] == "the first calls of a communicator") // RANKS
    served = sum(row["calls"] for row in calls if row["path"] != "MPI") // RANKS
    assert early + served == COMMUNICATORS * CALLS + LAST, calls
    # The MPI serves 64 calls of the first and of the last communicator, and all of some others, depending on the time
    # of making them.
    assert early > (COMMUNICATORS + 1) * FIRST + CALLS, calls
    assert served > LAST // 2 - 1, calls


if __name__ == "__main__":
    main()
