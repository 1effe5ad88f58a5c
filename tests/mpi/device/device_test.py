"""Memory of devices, on emulated ones: sums within a bound are stretto's by the program device_sums.cpp, and started calls by device_started.cpp.
All else is left to the MPI by all ranks together, and memory of the host is not, by the program devices.c.

usage: device_test.py LAUNCH MPIRUN LIBRARY PROGRAM PROGRAM_WITH_SUMS PROGRAM_THAT_STARTS PLUGIN CORE
"""

import collections
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM, SUMS, STARTED, PLUGIN, CORE = sys.argv[1:9]
RANKS = 3


MOVED = """bcast                schedule:binomial
allgather            schedule:ring
"""
FORCED = f"""{MOVED}allreduce            schedule:ring payload:fused
reduce               schedule:binomial payload:homomorphic
reduce_scatter       schedule:pairwise payload:homomorphic
reduce_scatter_block schedule:pairwise payload:homomorphic
"""
SUMS_STARTED = ("iallreduce", "ireduce", "ireduce_scatter", "ireduce_scatter_block")


@contextlib.contextmanager
def rules(text):
    with tempfile.NamedTemporaryFile("w", suffix=".rules") as file:
        file.write(text)
        file.flush()
        yield f"STRETTO_RULES={file.name}"


def rows(program, *arguments, environment=(), ranks=RANKS):
    """Of the report of a run."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
        command = [LAUNCH, MPIRUN, str(ranks), "env", f"LD_PRELOAD={LIBRARY}", f"STRETTO_REPORT={report}", *environment, program, *arguments]
        done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return json.loads(report.read_text())["calls"]


def reasons(*environment):
    """How many calls the MPI had, by operation and reason; those of stretto have none."""
    calls = collections.Counter()
    for row in rows(PROGRAM, environment=environment):
        calls[row["operation"], row["why"] if row["path"] == "MPI" else ""] += row["calls"]
    return calls


def what_nothing_asks_for_is_the_mpis():
    calls = reasons()
    assert calls == {
        ("barrier", "the first calls of a communicator"): 64 * RANKS,
        ("barrier", ""): RANKS,
        ("allreduce", "device memory"): 10 * RANKS,
        ("allreduce", ""): 7 * RANKS,
        ("allreduce", "a short call where GPUs are in use"): 5 * RANKS,
        ("iallreduce", "nonblocking"): 4 * RANKS,
    }, calls


def sums_within_a_bound_are_served():
    for payload in ("", "payload:fused"):
        with rules(f"* {payload}\n" if payload else "# none\n") as given:
            found = rows(SUMS, environment=("STRETTO_BOUND=abs:1e-3", given, f"STRETTO_CUDA_PLUGIN={PLUGIN}"))
        left, served = collections.Counter(), collections.Counter()
        for row in found:
            if row["path"] == "MPI":
                left[row["operation"], row["why"]] += row["calls"]
            elif row["why"].startswith("rule of line 1" if payload else "STRETTO_BOUND") and row["path"] != "node":
                served[row["operation"]] += row["calls"]
                assert not payload or (row["path"].endswith("fused") and 0 < row["promised_error"] <= 1e-3), row
        assert served == {"allreduce": 4 * RANKS, "reduce": 2 * RANKS, "reduce_scatter_block": 2 * RANKS}, found
        assert left["allreduce", "device memory"] == RANKS, found


def started_calls_have_the_hosts_bits():
    for ranks in (2, RANKS):
        lines_of(started(ranks, FORCED, "abs:1e-3"), {
            "iallreduce": "ring, fused",
            "ireduce": "binomial, homomorphic",
            "ireduce_scatter": "pairwise, homomorphic",
            "ireduce_scatter_block": "pairwise, homomorphic",
            "ibcast": "binomial",
            "iallgather": "ring",
        })


def started_calls_choose_for_themselves():
    """The range of a relative bound is found on the device."""
    lines_of(started(RANKS, MOVED, "rel:1e-4", 1e-3), dict.fromkeys(SUMS_STARTED))


def started_calls_whose_bound_cannot_be_kept_are_exact():
    """A blocking one is the MPI's then, which takes no memory of emulated devices."""
    reduced = "".join(f"{operation} payload:recompress\n" for operation in ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block"))
    found = started(RANKS, reduced + MOVED, "abs:1e-30", 1e-4, "started")
    refused = {row["operation"] for row in found if "refused; communication cores" in row["why"] and row["promised_error"] == 0}
    assert refused >= set(SUMS_STARTED), found


def started(ranks, text, bound, *arguments):
    """Rows of the program that starts calls. It compares results with the host's."""
    with rules(text) as given:
        return rows(
            STARTED,
            *map(str, arguments),
            environment=(f"STRETTO_BOUND={bound}", given, f"STRETTO_CUDA_PLUGIN={PLUGIN}", "STRETTO_EMULATED_DEVICES=2", f"STRETTO_COMM_CORES={CORE}"),
            ranks=ranks,
        )


def lines_of(found, paths):
    """Each started operation, and what started a persistent one, is stretto's by its path. Sums travel within the bound."""
    served = {row["operation"]: row for row in found if row["path"] != "MPI"}
    left = {row["operation"] for row in found if row["path"] == "MPI"}
    assert all(operation.endswith("_init") for operation in left), found
    for operation, path in paths.items():
        for name in (operation, operation[1:] + "_start"):
            row = served.get(name)
            if row is None and name.endswith("_start"):  # an MPI without persistent collectives
                continue
            assert row and path in (None, row["path"]) and row["why"].endswith("communication cores"), (name, found)
            assert "reduce" not in name or 0 < row["promised_error"] <= 1e-3, row


def without_a_plugin_they_are_the_mpis():
    bounded = reasons("STRETTO_BOUND=abs:1e-3", "STRETTO_CUDA_PLUGIN=/no/such/plugin", f"STRETTO_COMM_CORES={CORE}")
    assert bounded["allreduce", "device memory"] == 10 * RANKS, bounded
    assert bounded["iallreduce", "nonblocking, where GPUs are in use"] == 3 * RANKS, bounded
    assert bounded["iallreduce", "a short call where GPUs are in use"] == RANKS, bounded


def started_calls_that_nothing_asks_for_are_the_mpis():
    exact = reasons(f"STRETTO_CUDA_PLUGIN={PLUGIN}", f"STRETTO_COMM_CORES={CORE}")
    assert exact["iallreduce", "nonblocking, where GPUs are in use"] == 3 * RANKS, exact


if __name__ == "__main__":
    tests = (
        what_nothing_asks_for_is_the_mpis,
        sums_within_a_bound_are_served,
        started_calls_have_the_hosts_bits,
        started_calls_choose_for_themselves,
        started_calls_whose_bound_cannot_be_kept_are_exact,
        started_calls_that_nothing_asks_for_are_the_mpis,
        without_a_plugin_they_are_the_mpis,
    )
    for test in tests:
        test()
        print("ok", test.__name__)
