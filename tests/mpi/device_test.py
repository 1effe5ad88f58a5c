"""Memory of devices is left to the MPI by all ranks together, and that of the host is not, on the program devices.c.

usage: device_test.py LAUNCH MPIRUN LIBRARY PROGRAM
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM = sys.argv[1:5]
RANKS = 3

with tempfile.TemporaryDirectory() as scratch:
    report = pathlib.Path(scratch) / "report.json"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
    command = [LAUNCH, MPIRUN, str(RANKS), "env", f"LD_PRELOAD={LIBRARY}", f"STRETTO_REPORT={report}", PROGRAM]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    calls = collections.Counter()
    for row in json.loads(report.read_text())["calls"]:
        calls[row["operation"], row["why"] if row["path"] == "MPI" else ""] += row["calls"]

assert calls == {
    ("barrier", "the first calls of a communicator"): 64 * RANKS,
    ("barrier", ""): RANKS,
    ("allreduce", "device memory"): 10 * RANKS,
    ("allreduce", ""): 7 * RANKS,
    ("allreduce", "a short call where GPUs are in use"): 5 * RANKS,
}, calls
