"""Streams, files and sums, whose bytes are the same on every machine: a digest of each, beside the one that x86-64 found.

    python same_bits.py             in one process, whose threads are ranks
    python same_bits.py ucx         one of two ranks over UCX, which meet in STRETTO_STORE
    python same_bits.py mpi         one of three ranks of mpi4py's MPI
"""

import hashlib
import pathlib
import sys
import tempfile

import numpy as np

import stretto

EXPECTED = {
    "streams": "c5d5ee15de660d08",
    "sums": "0a8edcb0c6e4862a",
    "file": "45f89baf7a5c94df",
    "ranks": "d9afbcaccd99071e",
    "three ranks": "ca085604ea1215d8",
}
DTYPES = (np.float16, np.float32, np.float64, np.complex64, np.complex128)


def field(n, seed):
    """Smooth and rough parts, zeros, a few large values: made of integers alone, since sines differ between machines in their last bits."""
    i = np.arange(n, dtype=np.int64)
    rough = (i * 2654435761 + seed * 40503) % 65536 - 32768
    smooth = np.abs((i + 97 * seed) % 2000 - 1000)
    x = np.where(i // 500 % 3 == 0, rough, smooth).astype(np.float64) / 1024
    x[i % 1009 == 0] *= 1000
    x[i // 300 % 7 == 3] = 0
    return x


def special(n, seed):
    x = field(n, seed)
    x[[1, 5, n // 2]] = np.nan, np.inf, -np.inf
    return x


def streams():
    for dtype in DTYPES:
        x = special(5000, 1).astype(dtype)
        for bound in ({"abs": 1e-3}, {"abs": 0.5}, {"rel": 1e-4}):
            for coding in ("fixed", "dense"):
                s = stretto.compress(x, coding=coding, **bound)
                yield bytes(s)
                yield s.decompress().tobytes()
    for dtype in (np.int32, np.int64):
        yield bytes(stretto.compress((field(5000, 2) * 1024).astype(dtype)))


def sums():
    for coding in ("fixed", "dense"):
        parts = [stretto.compress(special(3000, k).astype(np.float32), abs=1e-3, coding=coding) for k in range(5)]
        yield bytes(stretto.sum(parts))
        yield stretto.sum(parts).mean().tobytes()
        yield bytes(parts[0] - parts[1].min(parts[2]))


def file():
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "fields.stretto"
        x = field(40_000, 3).reshape(40, 50, 20)
        stretto.save(path, {"a": x.astype(np.float32), "b": x, "c": np.arange(100)}, rel={"a": 1e-4, "b": 1e-6}, attributes={"units": "m"})
        yield path.read_bytes()
        yield stretto.load(path)["a"].tobytes()


def ranks(comm):
    """What every rank gets of all ranks' sums: within a bound in code space, and exact ones in an order that is always the same."""
    for n in (10, 100_000):
        x = field(n, comm.rank).astype(np.float32)
        total, _ = comm.allreduce(x, abs=1e-3, scope="contribution", payload="homomorphic")
        wanted = sum(field(n, rank).astype(np.float32) for rank in range(comm.size))
        assert np.abs(total - wanted).max() <= comm.size * 1e-3 * (1 + 1e-4) + 1e-3, (comm.rank, n)
        yield total.tobytes()
        yield comm.allreduce(x / 3, reproducible=True)[0].tobytes()
        yield comm.allgather(x)[0].tobytes()
    comm.barrier()


def digest(parts):
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:16]


def check(name, found):
    assert found == EXPECTED[name], f"{name}: {found}, not {EXPECTED[name]}"
    print(f"{name}: {found}", flush=True)


if len(sys.argv) == 1:
    for each in (streams, sums, file):
        check(each.__name__, digest(each()))
    for size, name in ((2, "ranks"), (3, "three ranks")):
        for found in stretto.threads(size)(lambda comm: digest(ranks(comm)))():
            check(name, found)
elif sys.argv[1] == "mpi":
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    with stretto.Comm(world) as comm:
        found = digest(ranks(comm))
    every = world.gather(found)
    if world.rank == 0:
        print(MPI.Get_library_version().split("\n")[0].split(",")[0])
        assert len(every) == 3, every
        for found in every:
            check("three ranks", found)
else:
    check("ranks", digest(ranks(stretto.init(timeout=120, transports="tcp"))))
