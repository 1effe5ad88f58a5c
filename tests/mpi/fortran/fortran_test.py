"""Programs in Fortran get the same results with the library preloaded, and each of their calls is counted once.

usage: fortran_test.py LAUNCH MPIRUN LIBRARY MPIFORT CALLS STARTS       exit status 77: this MPI has no Fortran
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, MPIFORT, CALLS, STARTS = sys.argv[1:]
RANKS, ROUNDS = 3, 10
WAYS = {"mpif.h": ["-fallow-argument-mismatch"], "module mpi": ["-DMODULE"], "module mpi_f08": ["-DF08"]}
EXPECTED = {"allreduce": 3, "bcast": 1, "allgather": 1, "barrier": 1, "scan": 1, "ibarrier": 2, "iallreduce": 3}

WAYS_TO_COMPLETE = 9  # of starts.F90, each with a call of these that stretto serves
STARTED = ("allreduce", "reduce", "bcast", "reduce_scatter", "reduce_scatter_block", "allgather", "gather", "scatter", "alltoall")


def compiled(name, flags, source, directory):
    program = directory / "_".join((name, pathlib.Path(source).stem, *flags))
    done = subprocess.run([MPIFORT, *flags, source, "-o", program], capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        print(f"{name} {' '.join(flags)}: cannot be compiled: {([line for line in lines if 'Error' in line] or lines)[:1]}")
    return program if done.returncode == 0 else None


def run(*program, **environment):
    settings = [f"{key}={value}" for key, value in environment.items()]
    done = subprocess.run([LAUNCH, MPIRUN, str(RANKS), "env", *settings, *program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and f"ok {RANKS}" in done.stdout, (environment, done.stdout, done.stderr)


def check_starts(name, flags, directory):
    """Every nonblocking and persistent collective is served, in memory and by messages."""
    program = compiled(name, flags, STARTS, directory)
    assert program, name
    run(program)
    # Not run alone: MPI_Gather_init of MPICH 4.0 loses a rank's values. Open MPI 4 has none by these names.
    persistent = compiled(name, [*flags, "-DPERSISTENT"], STARTS, directory)
    forms, program = (["i{}", "{}_start"], persistent) if persistent else (["i{}"], program)
    expected = {form.format(operation): WAYS_TO_COMPLETE * RANKS for form in forms for operation in STARTED}
    core = max(os.sched_getaffinity(0))
    for argument, settings in (("memory", {}), ("messages", {"STRETTO_NODE": 0})):
        file = directory / "starts.json"
        run(program, argument, LD_PRELOAD=LIBRARY, STRETTO_REPORT=file, STRETTO_COMM_CORES=core, **settings)
        served = {}
        for row in json.loads(file.read_text())["calls"]:
            if row["path"] != "MPI":
                served[row["operation"]] = served.get(row["operation"], 0) + row["calls"]
        served = {operation: calls for operation, calls in served.items() if "barrier" not in operation}
        assert served == expected, (name, argument, served, expected)
    return ", ".join(form.format("...") for form in forms)


def main():
    if not os.access(MPIFORT, os.X_OK):
        print(f"skipped: there is no {MPIFORT}")
        return 77
    removed_at_exit = tempfile.TemporaryDirectory()
    directory = pathlib.Path(removed_at_exit.name)
    served = 0
    for name, flags in WAYS.items():
        program = compiled(name, flags, CALLS, directory)
        if not program:
            continue
        run(program)
        file = directory / "report.json"
        run(program, LD_PRELOAD=LIBRARY, STRETTO_REPORT=file)
        counts, own = {}, 0
        for row in json.loads(file.read_text())["calls"]:
            counts[row["operation"]] = counts.get(row["operation"], 0) + row["calls"]
            own += row["calls"] if row["path"] != "MPI" else 0
        expected = {operation: n * RANKS * ROUNDS for operation, n in EXPECTED.items()}
        expected["ibarrier"] += RANKS
        assert counts == expected, (name, counts, expected)
        assert own >= 40 * RANKS, (name, own)  # five of each round can be served, but for the first calls
        run(program, LD_PRELOAD=LIBRARY, STRETTO_REPORT=file, STRETTO_COMM_CORES=max(os.sched_getaffinity(0)))
        started = [row for row in json.loads(file.read_text())["calls"] if row["operation"] == "iallreduce"]
        assert [(row["path"], row["calls"]) for row in started] == [("node", 3 * RANKS * ROUNDS)], (name, started)
        print(f"{name}: ok, and started {check_starts(name, flags, directory)}")
        served += 1
    if not served:
        print("skipped: this MPI's Fortran compiles none of the programs")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
