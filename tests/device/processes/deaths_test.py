"""A rank that kills itself in a collective of device memory, while devices reach one another: the others' calls fail, and the program ends.

usage: deaths_test.py PROGRAM LAUNCH MPIRUN     over an MPI
       deaths_test.py PROGRAM                   over UCX
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "modules"))
import ranks as launcher  # noqa: E402

PROGRAM, *MPI = sys.argv[1:]
RANKS, DEAD = 3, 1
HANG = 120  # seconds; far more than the call's limit and the start of ranks
# Launchers end a program after a rank's death, so the killed rank runs under a shell that survives it.
OUTLIVED = '"$1" "$2"; ended=$?; [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || sleep 300; exit $ended'


def over_mpi(how):
    command = [*MPI, str(RANKS), "sh", "-c", OUTLIVED, "sh", PROGRAM, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as started:
        printed = []
        try:
            for line in started.stdout:
                printed.append(line)
                if sum(" heard: " in said for said in printed) == RANKS - 1:
                    break
        finally:
            started.terminate()  # the launcher ends its ranks
            started.wait(HANG)
    return "".join(printed)


def over_ucx(how):
    with tempfile.TemporaryDirectory() as store:
        started = launcher.start(RANKS, [PROGRAM, how], store, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        printed = [process.communicate(timeout=HANG)[0] for process in started]
    for rank, process in enumerate(started):
        assert process.returncode == (-9 if rank == DEAD else 0), (process.returncode, printed)
    return "".join(printed)


if __name__ == "__main__":
    if not MPI:
        launcher.skip_without_ucx()
    os.environ["STRETTO_DEVICE_CARRIER"] = "peer"
    for mode in ("killed", "killed_streams"):
        said = over_mpi(mode) if MPI else over_ucx(mode)
        print(said)
        for rank in range(RANKS):
            if rank != DEAD:  # noticed the death, heard of it, or waited for a rank that had heard and left
                words = rf"missing rank [^{rank}]|rank {DEAD}|rank . had failed|rank . gave up|rank . .*has freed the communicator"
                assert re.search(rf"rank {rank} heard: .*({words})", said), said
        # A rank may die between two sums; the others then wait in the agreement, which uses no device.
        assert not MPI or ", agreement" in said or "messages between devices go by peer (CUDA IPC)" in said, said
        assert re.search(rf" heard: .*(missing rank {DEAD}|rank {DEAD} .*has ended)", said), said
