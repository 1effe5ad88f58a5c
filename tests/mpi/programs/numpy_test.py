"""A script of mpi4py and NumPy prints the same with the library preloaded as without it, and its arrays' collectives are served.

usage: numpy_test.py LAUNCH MPIRUN LIBRARY PROGRAM.py LIBMPI-DIRECTORY        exit status 77: there is no mpi4py
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM, LIBRARIES = sys.argv[1:]
RANKS = 3


def run(**environment):
    settings = [f"{key}={value}" for key, value in environment.items()]
    command = [LAUNCH, MPIRUN, str(RANKS), "env", f"LD_LIBRARY_PATH={LIBRARIES}", *settings, sys.executable, PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def main():
    if not importlib.util.find_spec("mpi4py"):
        print("skipped: there is no mpi4py")
        return 77
    alone = run()
    assert alone.startswith(f"{RANKS} "), alone
    removed_at_exit = tempfile.TemporaryDirectory()
    file = pathlib.Path(removed_at_exit.name) / "report.json"
    with_library = run(LD_PRELOAD=LIBRARY, STRETTO_REPORT=file)
    assert with_library == alone, (alone, with_library)
    served = {row["operation"] for row in json.loads(file.read_text())["calls"] if row["path"] != "MPI"}
    assert {"allreduce", "allgather", "bcast", "alltoall", "reduce_scatter_block"} <= served, served
    print("ok", *sorted(served))
    return 0


if __name__ == "__main__":
    sys.exit(main())
