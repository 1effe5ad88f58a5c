"""Where the C++ programs and the MPI launcher are.

Programs (stretto-measure, ...) and libraries to preload are looked for in, in this order: the directories of STRETTO_LIBEXEC;
libexec/stretto (lib, lib64) of the prefix that this package is installed in; the builds of the checkout that this package belongs to;
the PATH (LD_LIBRARY_PATH). A checkout may have been built with several MPIs; the build of the launcher's MPI comes first.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from stretto.errors import Failure

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
LAUNCHERS = ("mpirun", "mpiexec.hydra", "mpiexec")
DIRECTORIES = {"stretto-doctor": "apps/doctor", "stretto-measure": "apps/measure", "stretto-model": "apps/model",
               "libstretto_arena.so": "src/node", "libstretto_mpi.so": "src/mpi"}


def builds(flavour=None):
    """Release builds of the checkout, that of `flavour` first, then the newest."""
    found = [path for path in (CHECKOUT / "build").glob("release*") if (path / "CMakeCache.txt").is_file()]
    return sorted(found, key=lambda path: (path.name != f"release-{flavour}", -path.stat().st_mtime))


def given():
    return [pathlib.Path(directory) for directory in os.environ.get("STRETTO_LIBEXEC", "").split(os.pathsep) if directory]


def program(name, flavour=None):
    """The path of one of our programs."""
    places = [*given(), pathlib.Path(sys.prefix) / "libexec" / "stretto", *(build / DIRECTORIES[name] for build in builds(flavour))]
    for place in places:
        if os.access(place / name, os.X_OK) and (place / name).is_file():
            return str(place / name)
    found = shutil.which(name)
    if found:
        return found
    raise Failure(f"the program {name} is not there; looked in {', '.join(map(str, places))} and on the PATH.\n"
                  "Build it (make build), or set STRETTO_LIBEXEC to the directory that holds it.")


def library(name, flavour=None):
    """The path of one of our libraries that are preloaded."""
    places = [*given(), *(pathlib.Path(sys.prefix) / lib for lib in ("lib", "lib64")),
              *(build / DIRECTORIES[name] for build in builds(flavour)),
              *(pathlib.Path(place) for place in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if place)]
    for place in places:
        if (place / name).is_file():
            return str((place / name).resolve())
    raise Failure(f"the library {name} is not there; looked in {', '.join(map(str, places))}.\n"
                  "Build it (make build), or set STRETTO_LIBEXEC to the directory that holds it.")


def configured_launcher():
    """The launcher that the newest build of the checkout was configured with."""
    for build in builds():
        cache = (build / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^MPIEXEC_EXECUTABLE:\w+=(.+)$", cache, re.MULTILINE)
        if found and os.access(found[1], os.X_OK):
            return found[1]
    return None


def launcher(given=None):
    """The launching command as a list: what the user gave (words of a shell), or mpirun where it is found."""
    if given:
        words = shlex.split(given)
        if not words:
            raise Failure("--mpirun is empty; give a command, as in --mpirun 'mpirun -n 4'")
        if shutil.which(words[0]) is None:
            raise Failure(f"no MPI launcher: {words[0]!r} is no program that can be run")
        return words
    for name in LAUNCHERS:
        if shutil.which(name):
            return [name]
    found = configured_launcher()
    if found:
        return [found]
    raise Failure(f"no MPI launcher: none of {', '.join(LAUNCHERS)} is on the PATH. Load your MPI's module, or give the command, "
                  "as in --mpirun '/opt/mpi/bin/mpirun -n 4'.")


def cores():
    """Cores that this process may use; two threads of one count once, as a launcher counts."""
    together = set()
    for cpu in os.sched_getaffinity(0):
        path = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        together.add(path.read_text(encoding="utf-8") if path.exists() else str(cpu))
    return len(together)


def placed(flavour, given, hosts, ranks):
    """The launcher's words for hosts and ranks. Open MPI refuses more ranks than cores until it is told that they share them: it is,
    unless the user (--mpirun, --hosts) or a batch system says where ranks go."""
    words = []
    if hosts:
        words += ["-hosts" if flavour == "mpich" else "--host", hosts]
    elsewhere = given or hosts or any(name in os.environ for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"))
    if flavour == "openmpi" and not elsewhere and ranks and ranks > cores():
        words += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    if ranks:
        words += ["-n", str(ranks)]
    return words


def flavour(command):
    """openmpi, mpich or other, by what the launcher says of itself."""
    try:
        done = subprocess.run([command[0], "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "other"
    text = done.stdout + done.stderr
    if "HYDRA" in text:
        return "mpich"
    return "openmpi" if any(word in text for word in ("Open MPI", "prterun", "PRRTE")) else "other"
