#!/usr/bin/env python3
"""Times files of arrays: containers, the command, HDF5 with stretto's filter and with gzip, Zarr, NumPy's own, and the C functions in memory, in turns.

usage: run_files.py --json FILE [--rounds N]

A field is written and read again, each way in each round; a rate is the median over rounds, in GB/s of values. "smaller" is the bytes of the values over
those of the file. gzip (level 4, with shuffle) is given the values, of which it keeps every bit, and values that were rounded onto a grid within the
same bound. The command is timed as the function behind it; its process takes the time of a start besides, which has a row of its own.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from rich.console import Console

import stretto
from run_python import C
from stretto import ratio
from stretto.storage import transfer

try:
    import h5py
    import zarr
    from stretto.storage.hdf5 import Stretto
    from stretto.storage.zarr import Stretto as Chunks
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

BYTES = 64 << 20
REL = 1e-4
FIELDS = {"marmousi_rtm": "marmousi_rtm_12x286x941.f32", "glosea4_ts": "glosea4_ts_13x6x145x192.f32"}
GZIP = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
silent = Console(file=open(os.devnull, "w"))


def fields():
    """(name, array) of about BYTES: real ones repeated along their first axis, or one that is made up."""
    folder = pathlib.Path(os.environ.get("STRETTO_DATA_DIR", ""))
    found = [(name, folder / file) for name, file in FIELDS.items() if (folder / file).is_file()]
    if not found:
        yield "synthetic", np.tile(ratio.synthetic(), (BYTES // 4 // 1024**2, 1, 1))
    for name, path in found:
        x, _, _ = ratio.read(path)
        yield name, np.tile(x, (round(BYTES / x.nbytes), *(1,) * (x.ndim - 1)))


def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


class Ways:
    """(write, read, file) of each way, in a directory."""

    def __init__(self, here, x):
        self.here, self.x, self.eps = here, x, REL * float(x.max() - x.min())
        self.rounded = (np.round(x.astype(np.float64) / (2 * self.eps)) * (2 * self.eps)).astype(np.float32)
        np.save(here / "in.npy", x)
        self.c, self.out = C(x.reshape(-1), self.eps), np.empty_like(x)

    def hdf5(self, name, values, **settings):
        path, chunks = self.here / name, (1, *self.x.shape[1:])

        def write():
            with h5py.File(path, "w") as file:
                file.create_dataset("x", data=values, chunks=chunks, **settings)

        def read():
            with h5py.File(path) as file:
                file["x"].read_direct(self.out)

        return write, read, path

    def zarr(self, name, compressors):
        path = self.here / name
        made = zarr.create_array(path, shape=self.x.shape, chunks=(1, *self.x.shape[1:]), dtype=self.x.dtype, serializer=Chunks(abs=self.eps),
                                 compressors=compressors)

        def write():
            made[...] = self.x

        return write, lambda: made[...], path

    def all(self):
        container, made, back, raw = (self.here / name for name in ("x.stretto", "command.stretto", "back.npy", "raw.npy"))
        bounds = transfer.Bounds(self.eps, None, False, ())
        yield "C functions, in memory", self.c.compress, self.c.decompress, None
        yield "stretto.save, load", lambda: stretto.save(container, self.x, abs=self.eps, overwrite=True), lambda: stretto.load(container), container
        yield ("stretto compress, decompress", lambda: transfer.compress(silent, self.here / "in.npy", made, bounds, force=True),
               lambda: transfer.decompress(silent, made, back, force=True), made)
        yield ("HDF5, stretto", *self.hdf5("filter.h5", self.x, **Stretto(abs=self.eps)))
        yield ("HDF5, gzip of the values", *self.hdf5("gzip.h5", self.x, **GZIP))
        yield ("HDF5, gzip of rounded values", *self.hdf5("rounded.h5", self.rounded, **GZIP))
        yield ("Zarr, stretto", *self.zarr("plain.zarr", None))
        yield ("Zarr, stretto and zstd", *self.zarr("zstd.zarr", "auto"))
        yield "NumPy's save, load", lambda: np.save(raw, self.x), lambda: np.load(raw), raw


def rows(name, x, here, rounds):
    ways = Ways(here, x)
    whole = list(ways.all())
    seconds = {(what, way): [] for way, *_ in whole for what in ("write", "read")}
    for turn in range(rounds + 1):  # the first turn is uncounted
        for way, write, read, _ in whole[::1 if turn % 2 else -1]:
            for what, call in (("write", write), ("read", read)):
                took = timed(call)
                if turn:
                    seconds[what, way].append(took)
    assert np.abs(stretto.load(here / "x.stretto")["data"] - x).max() <= ways.eps
    case = f"{name}, {x.nbytes >> 20} MiB within {REL:g} of the range"
    for way, _, _, path in whole:
        size = ways.c.bytes.value if not path else sum(one.stat().st_size for one in (path, *path.rglob("*")) if one.is_file())
        for what in ("write", "read"):
            yield {"bench": "files", "case": case, "metric": f"{what}: {way}", "value": x.nbytes / statistics.median(seconds[what, way]) / 1e9, "unit": "GB/s",
                   "smaller": x.nbytes / size}


def start():
    """Seconds of a process of the command that compresses one value."""
    with tempfile.TemporaryDirectory() as here:
        np.save(os.path.join(here, "x.npy"), np.zeros(1, np.float32))
        command = [sys.executable, "-m", "stretto", "compress", "x.npy", "--abs", "1", "--force"]
        found = [timed(lambda: subprocess.run(command, cwd=here, check=True, capture_output=True)) for _ in range(5)]
    return {"bench": "files", "case": "a process of the command", "metric": "start", "value": statistics.median(found), "unit": "s"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with open(given.json, "a", encoding="utf-8") as out:
        for name, x in fields():
            with tempfile.TemporaryDirectory() as here:
                for row in rows(name, x, pathlib.Path(here), given.rounds):
                    out.write(json.dumps(row) + "\n")
        out.write(json.dumps(start()) + "\n")


if __name__ == "__main__":
    main()
