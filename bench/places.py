"""Where the ranks of a benchmark run: on this machine, or on hosts made on it (tests/hosts). Of the environment it needs BUILD,
MPIRUN and MPI_FLAVOUR, as scripts/bench sets them.
"""

import contextlib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

from hosts import Hosts, NotPermitted  # noqa: E402

__all__ = ["ROOT", "SKIPPED", "Hosts", "NotPermitted", "busy_cores", "cores", "launch", "place", "programs", "skip"]

SKIPPED = 77  # exit status of a benchmark that this machine cannot run


def skip(reason):
    """Says why a benchmark, or a place of it, is not measured here: a NotPermitted, or words."""
    if isinstance(reason, NotPermitted):
        reason = f"this machine does not permit several hosts: {reason}"
    print(f"skipped: {reason}", flush=True)


def cores():
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def busy_cores():
    """Keeps a process busy on each core of this machine, for as long as the context is open."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores())]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def launch(ranks, mpi=None):
    """The words that launch a program on ranks of this machine: bound where every rank has a core, sharing cores otherwise (scripts/launch).
    `mpi`: flavour and launcher, where it is not the environment's."""
    flavour, mpirun = mpi or (os.environ["MPI_FLAVOUR"], os.environ["MPIRUN"])
    if ranks > cores():
        return [str(ROOT / "scripts" / "launch"), mpirun, str(ranks)]
    if flavour == "mpich":
        return [mpirun, "-bind-to", "hwthread", "-n", str(ranks)]
    return ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
            mpirun, "--map-by", "hwthread", "--bind-to", "hwthread", "-n", str(ranks)]


def programs(name):
    """[(program, MPI as launch() has it)]: that of the build's MPI, and those of the others that it found."""
    bench = pathlib.Path(os.environ["BUILD"]) / "bench"
    found = [(bench / name, None)]
    for line in (bench / "mpis").read_text(encoding="utf-8").splitlines():
        flavour, launcher = line.split(maxsplit=1)
        found.append((bench / f"{name}_{flavour}", (flavour, launcher)))
    return found


@contextlib.contextmanager
def place(hosts, gbps, slots, flow=None):
    """Gives a function from a program's words, and the MPI as launch() has it, to the words that run it on every rank: `slots` ranks on each
    of `hosts` hosts, joined by links of `gbps` Gb/s, on which a TCP connection has at most `flow` Gb/s, if given. One host is this machine as
    it is. Raises NotPermitted where hosts cannot be made."""
    if hosts == 1:
        yield lambda argv, mpi=None: [*launch(slots, mpi), *map(str, argv)]
        return
    with Hosts(hosts, rate=f"{gbps}gbit", slots=slots, flow=flow and f"{flow}gbit") as made:
        yield lambda argv, mpi=None: made.launch_command(mpi[1] if mpi else os.environ["MPIRUN"], hosts * slots, argv)
