"""Every collective that mpi.h declares is wrapped, whatever its form; and the library calls none by its public name.

usage: generate_test.py LIBRARY COMPILER [FLAG...]
"""

import re
import subprocess
import sys

LIBRARY, *COMPILER = sys.argv[1:]

POINT_TO_POINT = {"Isend", "Ibsend", "Issend", "Irsend", "Irecv", "Iprobe", "Improbe", "Imrecv", "Isendrecv", "Isendrecv_replace"}
NOT_OF_DATA = {"Comm_idup", "Comm_idup_with_info"}
BETWEEN_GROUPS = {"Comm_accept", "Comm_connect", "Comm_join", "Comm_spawn", "Comm_spawn_multiple", "Intercomm_create", "Intercomm_create_from_groups"}
OF_THOSE_THAT_ARE = {"Comm_disconnect", "Comm_free", "Comm_get_parent"}
PERSISTENT_POINT_TO_POINT = {"Send", "Bsend", "Ssend", "Rsend", "Recv", "Psend", "Precv"}


def declared():
    done = subprocess.run([*COMPILER, "-E", "-"], input="#include <mpi.h>\n", capture_output=True, text=True, check=True)
    text = re.sub(r"\s+", " ", done.stdout)
    return {name: arguments for name, arguments in re.findall(r"\bMPI_([A-Z]\w*) ?\(([^()]*)\)", text)}


def collectives(functions):
    """Found without the table: nonblocking ones have a communicator and a request, and take the I off for the blocking form."""
    found = set()
    for name, arguments in functions.items():
        base = name.removesuffix("_c")
        if "MPI_Comm " not in arguments or "MPI_Request" not in arguments:
            continue
        if base.endswith("_init"):
            stem = base.removesuffix("_init")
            if stem not in PERSISTENT_POINT_TO_POINT:
                found |= {name, stem}
        elif base.startswith("I") and base not in POINT_TO_POINT:
            found |= {name, base[1:].capitalize()}
    return {n for n in found | {n + "_c" for n in found} if n in functions}


def makes(name, arguments):
    """Intracommunicators, or the info of one counts."""
    later = "MPI_Request" in arguments and "MPI_Info info" not in arguments
    return name not in BETWEEN_GROUPS | OF_THOSE_THAT_ARE and not later and re.search(r"MPI_Comm ?\* ?\w+", arguments)


def symbols(kind):
    done = subprocess.run(["nm", "-D", LIBRARY], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines() if f" {kind} " in line}


if __name__ == "__main__":
    wanted = {"MPI_" + name for name in collectives(declared())}
    assert len(wanted) >= 44, sorted(wanted)
    missing = wanted - symbols("T")
    assert not missing, f"not wrapped: {sorted(missing)}"
    called = {name for name in symbols("U") if re.match(r"MPI_[A-Z]\w*$", name)}
    assert not called, f"called by their public names: {sorted(called)}"
    shown = {name for name in symbols("T") if not name.lower().startswith(("mpi_", "mpix_"))}
    assert not shown, f"shown without need: {sorted(shown)}"
    makers = {"MPI_" + name for name, arguments in declared().items() if makes(name, arguments)}
    assert len(makers) >= 12 and makers <= symbols("T"), f"not wrapped: {sorted(makers - symbols('T'))}"
    print(f"{len(wanted)} collectives are wrapped")
