#!/usr/bin/env python3
"""Times streams in Python and by the C functions in turns, on the same arrays, and prints GB/s of both and their ratio.

usage: run_python.py --json FILE [--rounds N]

The C functions are called through ctypes on buffers that exist. In Python `compress` makes a new stream each time, and `decompress` writes to out=,
or to a new array ("new array"). A ratio is the median over rounds of C's time over Python's, of the two calls of a round.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import time

import numpy as np

import stretto

SIZES = (1 << 20, 1 << 24, 1 << 26)  # bytes of values
F32 = 1
BOUND = 1e-3


class C:
    """The functions of stretto_stream.h on buffers of their own."""

    def __init__(self, x, eps=BOUND):
        self.library = ctypes.CDLL(str(pathlib.Path(os.environ["BUILD"], "src", "api", "libstretto.so")))
        self.library.stretto_combine_bound.restype = ctypes.c_size_t
        self.library.stretto_combine_bound.argtypes = (ctypes.c_int, ctypes.c_size_t)
        self.x, self.n, self.eps = x, ctypes.c_size_t(x.size), ctypes.c_double(eps)
        self.capacity = self.library.stretto_combine_bound(F32, x.size)
        self.stream, self.sum, self.values = np.zeros(self.capacity, np.uint8), np.zeros(self.capacity, np.uint8), np.zeros_like(x)
        self.bytes, self.sum_bytes = ctypes.c_size_t(), ctypes.c_size_t()
        self.addresses = [ctypes.c_void_p(a.ctypes.data) for a in (self.x, self.stream, self.sum, self.values)]

    def compress(self):
        x, stream, _, _ = self.addresses
        return self.library.stretto_compress(F32, x, self.n, self.eps, stream, ctypes.c_size_t(self.capacity), ctypes.byref(self.bytes), 1)

    def decompress(self):
        _, stream, _, values = self.addresses
        return self.library.stretto_decompress(stream, self.bytes, values, self.n, 1)

    def add(self):
        _, stream, out, _ = self.addresses
        return self.library.stretto_stream_add(stream, self.bytes, stream, self.bytes, out, ctypes.c_size_t(self.capacity), ctypes.byref(self.sum_bytes), 1)


def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(name, ours, theirs, nbytes, rounds):
    for call in (ours, theirs):
        call()
    pairs = [(timed(theirs), timed(ours)) if turn % 2 else (timed(ours), timed(theirs))[::-1] for turn in range(rounds)]
    peer, own = (statistics.median(times) for times in zip(*pairs))
    return {"bench": "python", "case": f"{name}, {nbytes >> 20} MiB", "metric": "rate", "value": nbytes / own / 1e9, "unit": "GB/s", "peer": "C",
            "peer_value": nbytes / peer / 1e9, "ratio": statistics.median(c / p for c, p in pairs)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", required=True)
    parser.add_argument("--rounds", type=int, default=61)
    given = parser.parse_args()
    with open(given.json, "a", encoding="utf-8") as rows:
        for nbytes in SIZES:
            x = np.cumsum(np.random.default_rng(1).standard_normal(nbytes // 4)).astype(np.float32) / 100
            c, out = C(x), np.empty_like(x)
            c.compress()
            s = stretto.compress(x, abs=BOUND)
            assert bytes(s) == c.stream[:c.bytes.value].tobytes()
            for name, ours, theirs in (("compress", lambda: stretto.compress(x, abs=BOUND), c.compress),
                                       ("decompress", lambda: s.decompress(out=out), c.decompress),
                                       ("decompress, new array", lambda: s.decompress(), c.decompress),
                                       ("add", lambda: s + s, c.add)):
                rows.write(json.dumps(measure(name, ours, theirs, nbytes, given.rounds)) + "\n")


if __name__ == "__main__":
    main()
