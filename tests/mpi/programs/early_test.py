"""Between hosts a communicator is stretto's own only when its calls have taken many times as long as making it.

usage: early_test.py LAUNCH MPIRUN LIBRARY PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM = sys.argv[1:5]
RANKS, FIRST, EACH = 3, 64, 10
EARLY = "the first calls of a communicator"


def counts(directory, *arguments, hosts=False, rules=None):
    """Calls of a rank that the MPI served as the first, and those that stretto served."""
    report = pathlib.Path(directory, "report.json")
    settings = [f"LD_PRELOAD={LIBRARY}", f"STRETTO_REPORT={report}"]
    if rules is not None:
        pathlib.Path(directory, "rules").write_text(rules, encoding="utf-8")
        settings.append(f"STRETTO_RULES={directory}/rules")
    host = 'STRETTO_HOST="host${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" ' if hosts else ""
    command = ["sh", "-c", f'{host}exec env "$@"', "sh", *settings, PROGRAM, *map(str, arguments)]
    subprocess.run([LAUNCH, MPIRUN, str(RANKS), *command], check=True, timeout=200)
    calls = [row for row in json.loads(report.read_text(encoding="utf-8"))["calls"] if row["operation"] == "allreduce"]
    early = sum(row["calls"] for row in calls if row["why"] == EARLY)
    return early // RANKS, sum(row["calls"] for row in calls if row["path"] != "MPI") // RANKS


def main():
    with tempfile.TemporaryDirectory() as directory:
        # With SECONDS 0 there are no calls but MORE.
        assert counts(directory, 8, 0, 200) == (FIRST, 200 - FIRST)
        assert counts(directory, 8, 0, 200, hosts=True) == (200, 0)
        assert counts(directory, 8, 0, 200, hosts=True, rules="* exact\n") == (FIRST, 200 - FIRST)
        assert counts(directory, 8, 0, 200, hosts=True, rules="* ..4095 rel:1e-3\n") == (200, 0)
        # Making one is expected to take 60 ms, at most a fifth of the time of long calls, of which a busy machine does few in that time.
        early, served = counts(directory, 65536, 0.45, EACH, hosts=True)
        assert early > 0 and served >= EACH, (early, served)


if __name__ == "__main__":
    main()
