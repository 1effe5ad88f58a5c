"""Programs in Fortran get the same results with the library preloaded, and each of their calls is counted once.

usage: fortran_test.py LAUNCH MPIRUN LIBRARY MPIFORT SOURCE        exit status 77: this MPI has no Fortran
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, MPIFORT, SOURCE = sys.argv[1:]
RANKS, ROUNDS = 3, 10
WAYS = {"mpif.h": ["-fallow-argument-mismatch"], "module mpi": ["-DMODULE"], "module mpi_f08": ["-DF08"]}
EXPECTED = {"allreduce": 3, "bcast": 1, "allgather": 1, "barrier": 1, "scan": 1, "ibarrier": 2, "iallreduce": 3}


def compiled(name, flags, directory):
    program = directory / name.replace(" ", "_").replace(".", "_")
    done = subprocess.run([MPIFORT, *flags, SOURCE, "-o", program], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name}: cannot be compiled: {[line for line in done.stderr.splitlines() if 'Error' in line][:1]}")
    return program if done.returncode == 0 else None


def run(program, directory, **environment):
    settings = [f"{key}={value}" for key, value in environment.items()]
    done = subprocess.run([LAUNCH, MPIRUN, str(RANKS), "env", *settings, program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and f"ok {RANKS}" in done.stdout, (environment, done.stdout, done.stderr)


def main():
    if not os.access(MPIFORT, os.X_OK):
        print(f"skipped: there is no {MPIFORT}")
        return 77
    directory = pathlib.Path(tempfile.mkdtemp())
    served = 0
    for name, flags in WAYS.items():
        program = compiled(name, flags, directory)
        if not program:
            continue
        run(program, directory)
        file = directory / "report.json"
        run(program, directory, LD_PRELOAD=LIBRARY, STRETTO_REPORT=file)
        counts, own = {}, 0
        for row in json.loads(file.read_text())["calls"]:
            counts[row["operation"]] = counts.get(row["operation"], 0) + row["calls"]
            own += row["calls"] if row["path"] != "MPI" else 0
        expected = {operation: n * RANKS * ROUNDS for operation, n in EXPECTED.items()}
        assert counts == expected, (name, counts, expected)
        assert own >= 40 * RANKS, (name, own)  # five of each round can be served, but for the first calls
        run(program, directory, LD_PRELOAD=LIBRARY, STRETTO_REPORT=file, STRETTO_COMM_CORES=max(os.sched_getaffinity(0)))
        started = [row for row in json.loads(file.read_text())["calls"] if row["operation"] == "iallreduce"]
        assert [(row["path"], row["calls"]) for row in started] == [("node", 3 * RANKS * ROUNDS)], (name, started)
        print(f"{name}: ok")
        served += 1
    if not served:
        print("skipped: this MPI's Fortran compiles none of the programs")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
