"""The environment variables of stretto, and what is said of names like theirs that nothing reads."""

import os

PREFIX = "STRETTO_"
# Those that the library, its modules, the programs and this package read; without the prefix.
KNOWN = ("ARENA_MIN", "ARENA_REPORT", "ARENA_SIZE", "BOUND", "BOUND_MOVES", "CODEC_THREADS", "COMM_CORES", "CONNECTIONS", "CUDA_PLUGIN", "DATA_DIR",
         "DEVICE_CARRIER", "DEVICE_CODES", "DEVICE_MPI", "FIRST_PROCESS", "HIERARCHY", "HOST", "IGNORE_ABOVE", "LEVELS", "LIBEXEC", "LINK_GBIT", "MODULES",
         "NAME", "NCCL", "NODE", "PROFILE", "RANK", "REPORT", "REPRODUCIBLE", "RULES", "SIZE", "SPLIT", "STORE", "TIMEOUT", "UCX", "WAIT")

INSTALLERS = ("ROOT", "DIR", "HOME", "PREFIX", "VERSION")  # what modulefiles and build systems set


def slips(a, b):
    """Letters to insert, drop, replace or swap with their neighbour until `a` is `b`."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y)))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


def unknown(environment=None):
    """[(name, the nearest that stretto reads, whether the profiling library tells it too)] of names that begin like stretto's."""
    found = []
    for name in sorted(os.environ if environment is None else environment):
        own = name.removeprefix(PREFIX)
        if own != name and own not in KNOWN and own not in INSTALLERS:
            nearest = min(KNOWN, key=lambda known: slips(own, known))
            found.append((name, PREFIX + nearest, slips(own, nearest) <= (1 if len(nearest) < 8 else 2)))
    return found


def said(name, nearest):
    return f"{name} is no variable of stretto's, and without effect; the nearest is {nearest}"
