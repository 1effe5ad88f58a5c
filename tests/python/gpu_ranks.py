"""A rank of a test with arrays of one GPU that all ranks share: DIRECTORY RANK SIZE LIBRARY, which is cupy, torch or emulated. Says `fine`."""

import os
import sys

import numpy as np

directory, rank, size, library = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
os.environ.update(STRETTO_STORE=f"file://{directory}", STRETTO_RANK=str(rank), STRETTO_SIZE=str(size))

import stretto  # noqa: E402

comm = stretto.init(timeout=60, transports=os.environ.get("UCX_TLS", "tcp"))  # before anything of a GPU is loaded
if library == "cupy":
    import cupy

    on, off = cupy.asarray, cupy.ndarray.get
elif library == "torch":
    import torch

    on, off = (lambda x: torch.from_numpy(x).to("cuda:0")), (lambda x: x.cpu().numpy())
else:
    from gpu_arrays import Library

    on, off = Library.of, Library.numpy


def values(r, n, dtype=np.float32):
    return ((np.arange(n) * 3 + 7 * r) % 11).astype(dtype)


for n in (5, 3000, 200_000):
    every = [values(r, n) for r in range(size)]
    total = np.sum(every, axis=0)
    for later in (True, False):  # the first call is a started one

        def call(name, *arguments, later=later, **keywords):
            return (getattr(comm, "i" + name)(*arguments, **keywords).wait() if later else getattr(comm, name)(*arguments, **keywords))

        found, report = call("allreduce", on(every[rank]))
        np.testing.assert_array_equal(off(found), total)
        assert size == 1 or report.device_carrier, report
        np.testing.assert_array_equal(off(call("allgather", on(every[rank]))[0]), np.stack(every))
        np.testing.assert_array_equal(off(call("reduce_scatter", on(np.concatenate(every)))[0]), size * every[rank])
        np.testing.assert_array_equal(off(call("alltoall", on(np.stack([values(rank + r, n) for r in range(size)])))[0]), np.stack([values(s + rank, n) for s in range(size)]))
        np.testing.assert_array_equal(off(call("bcast", on(every[rank]), root=size - 1)[0]), every[size - 1])
        gathered = call("gather", on(every[rank]))[0]
        assert (gathered is None) == (rank != 0)
        if rank == 0:
            np.testing.assert_array_equal(off(gathered), np.stack(every))
        bounded, report = call("allreduce", on(every[rank]), rel=1e-3, payload="fused")
        assert np.abs(off(bounded) - total).max() <= report.promised_error * (1 + 1e-6) + 1e-6, report
        if rank == 1 and size > 2:  # on the host, where the others are on the GPU
            found = call("allreduce", every[rank])[0]
        else:
            found = off(call("allreduce", on(every[rank]))[0])
        np.testing.assert_array_equal(found, total)
while not comm.device_done():
    pass
print(f"messages by {report.device_carrier}" if rank == 0 else "", "fine", flush=True)
comm.free()
