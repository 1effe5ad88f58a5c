#!/usr/bin/env python3
"""Starts a program on ranks that meet in a store, without a launcher: by the environment that stretto reads.

usage: ranks.py RANKS PROGRAM [ARG...]     exit status 1 when a rank fails, or a key stays in the store; 77, with the reason, where there is no UCX
"""

import ctypes
import os
import subprocess
import sys
import tempfile


def skip_without_ucx():
    """Ends this test as a skipped one where the module over UCX would find no UCX."""
    try:
        ctypes.CDLL(os.environ.get("STRETTO_UCX") or "libucp.so.0")
    except OSError as error:
        print(f"skipped: no UCX: {error}")
        sys.exit(77)


def start(ranks, argv, store, environment=None, one_has=None, **how):
    """The processes. `environment`: more variables for all of them; `one_has`: and for rank 1 alone."""
    started = []
    for rank in range(ranks):
        mine = {**os.environ, "STRETTO_STORE": f"file://{store}", "STRETTO_RANK": str(rank), "STRETTO_SIZE": str(ranks), **(environment or {}),
                **(one_has or {} if rank == 1 else {})}
        started.append(subprocess.Popen(argv, env=mine, **how))
    return started


def main():
    skip_without_ucx()
    ranks, argv = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as store:
        started = start(ranks, argv, store)
        status = max(abs(process.wait()) for process in started)
        left = os.listdir(store)
    if left:
        print(f"left in the store: {left}", file=sys.stderr)
    sys.exit(1 if status or left else 0)


if __name__ == "__main__":
    main()
