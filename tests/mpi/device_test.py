"""Memory of devices: sums within a bound are stretto's, on emulated devices, by the program device_sums.cpp. All else is left to the MPI by all
ranks together, and memory of the host is not, by the program devices.c.

usage: device_test.py LAUNCH MPIRUN LIBRARY PROGRAM PROGRAM_WITH_SUMS PLUGIN
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM, SUMS, PLUGIN = sys.argv[1:7]
RANKS = 3


def rows(program, *environment):
    """Of the report of a run."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
        command = [LAUNCH, MPIRUN, str(RANKS), "env", f"LD_PRELOAD={LIBRARY}", f"STRETTO_REPORT={report}", *environment, program]
        done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return json.loads(report.read_text())["calls"]


def what_nothing_asks_for_is_the_mpis():
    calls = collections.Counter()
    for row in rows(PROGRAM):
        calls[row["operation"], row["why"] if row["path"] == "MPI" else ""] += row["calls"]
    assert calls == {
        ("barrier", "the first calls of a communicator"): 64 * RANKS,
        ("barrier", ""): RANKS,
        ("allreduce", "device memory"): 10 * RANKS,
        ("allreduce", ""): 7 * RANKS,
        ("allreduce", "a short call where GPUs are in use"): 5 * RANKS,
    }, calls


def sums_within_a_bound_are_served():
    for payload in ("", "payload:fused"):
        with tempfile.NamedTemporaryFile("w", suffix=".rules") as rules:
            rules.write(f"* {payload}\n" if payload else "# none\n")
            rules.flush()
            found = rows(SUMS, "STRETTO_BOUND=abs:1e-3", f"STRETTO_RULES={rules.name}", f"STRETTO_CUDA_PLUGIN={PLUGIN}")
        left, served = collections.Counter(), collections.Counter()
        for row in found:
            if row["path"] == "MPI":
                left[row["operation"], row["why"]] += row["calls"]
            elif row["why"].startswith("rule of line 1" if payload else "STRETTO_BOUND") and row["path"] != "node":
                served[row["operation"]] += row["calls"]
                assert not payload or (row["path"].endswith("fused") and 0 < row["promised_error"] <= 1e-3), row
        assert served == {"allreduce": 4 * RANKS, "reduce": 2 * RANKS, "reduce_scatter_block": 2 * RANKS}, found
        assert left["allreduce", "device memory"] == RANKS, found


def without_a_plugin_they_are_the_mpis():
    bounded = collections.Counter()
    for row in rows(PROGRAM, "STRETTO_BOUND=abs:1e-3", "STRETTO_CUDA_PLUGIN=/no/such/plugin"):
        bounded[row["operation"], row["why"] if row["path"] == "MPI" else ""] += row["calls"]
    assert bounded["allreduce", "device memory"] == 10 * RANKS, bounded


if __name__ == "__main__":
    for test in (what_nothing_asks_for_is_the_mpis, sums_within_a_bound_are_served, without_a_plugin_they_are_the_mpis):
        test()
        print("ok", test.__name__)
