"""Coders of arrays within an absolute bound, alike in use: stretto's three codings, and others where their packages are there (scripts/requirements_bench.txt).

A coder is a function of an array and a bound. Its result is (compress, decompress, size): compress() returns what decompress(it) turns into an array, and
size(it) has its bytes. All run on one core. A package that is missing raises ImportError; an array that a coder does not take raises ValueError.
"""

import itertools

import numpy as np

from stretto.api import arrays, streams

CHUNK = 1 << 14  # values that are rounded at a time, so that they stay in the cache
numbers = itertools.count()


def stretto(coding):
    """One of stretto's codings; None: shaped streams, which take the array's own shape."""
    def coder(x, eps):
        core, (kind, parts), out = arrays._core, arrays.type_of(x.dtype), np.empty_like(x)
        values, to, coded = arrays.buffer(x), arrays.buffer(out), getattr(core.Coding, coding or "dense")
        shape = [] if coding else streams.extents(x.shape, parts)

        def decompress(stream):
            core.decompress(stream, to, 1, 1)
            return out

        return lambda: core.compress(kind, values, eps, False, 1, [], coding=coded, shape=shape), decompress, len

    return coder


def step_of(x, eps):
    """The width of a grid whose points are within eps of all values, though float arithmetic rounds the quotient and the product."""
    return 2 * (eps - 2 * float(np.spacing(np.abs(x).max())))


def rounder(x, step, dtype):
    """A function that writes x / step, rounded to integers: as numbers of `dtype`, or multiplied by step again if dtype is the type of x."""
    values, out, part = x.reshape(-1), np.empty(x.size, dtype), np.empty(CHUNK, x.dtype)
    inverse, step = x.dtype.type(1 / step), x.dtype.type(step)

    def rounded():
        for at in range(0, x.size, CHUNK):
            some = part[:min(CHUNK, x.size - at)]
            np.multiply(values[at:at + CHUNK], inverse, out=some)
            np.rint(some, out=some)
            np.multiply(some, step if dtype == x.dtype else 1, out=out[at:at + CHUNK], casting="unsafe")
        return out

    return rounded


def multiplied(codes, step, out):
    for at in range(0, codes.size, CHUNK):
        np.multiply(codes[at:at + CHUNK], out.dtype.type(step), out=out[at:at + CHUNK], casting="unsafe")
    return out


def pcodec(x, eps):
    """On int32 codes, which it packs better than the rounded values themselves."""
    from pcodec import ChunkConfig, standalone  # noqa: PLC0415  optional, as all below

    step, config = step_of(x, eps), ChunkConfig()
    codes, back, out = rounder(x, step, np.int32), np.empty(x.size, np.int32), np.empty(x.size, x.dtype)

    def decompress(blob):
        standalone.simple_decompress_into(blob, back)
        return multiplied(back, step, out)

    return lambda: standalone.simple_compress(codes(), config), decompress, len


def blosc2_lz4(x, eps):
    import blosc2  # noqa: PLC0415

    step = step_of(x, eps)
    codes, back, out = rounder(x, step, np.int32), np.empty(x.size, np.int32), np.empty(x.size, x.dtype)
    settings = {"codec": blosc2.Codec.LZ4, "clevel": 1, "filters": [blosc2.Filter.BITSHUFFLE], "typesize": 4, "nthreads": 1}

    def decompress(blob):
        blosc2.decompress2(blob, dst=back, nthreads=1)
        return multiplied(back, step, out)

    return lambda: blosc2.compress2(codes(), **settings), decompress, len


def rounding_zstd(x, eps):
    """Multiples of the largest power of two within twice the bound: values whose last bits are zero, shuffled by bits before zstd."""
    import blosc2  # noqa: PLC0415

    values, out = rounder(x, 2.0 ** np.floor(np.log2(2 * eps)), x.dtype), np.empty(x.size, x.dtype)
    settings = {"codec": blosc2.Codec.ZSTD, "clevel": 1, "filters": [blosc2.Filter.BITSHUFFLE], "typesize": x.itemsize, "nthreads": 1}

    def decompress(blob):
        blosc2.decompress2(blob, dst=out, nthreads=1)
        return out

    return lambda: blosc2.compress2(values(), **settings), decompress, len


def zfp(x, eps):
    import zfpy  # noqa: PLC0415

    if x.ndim > 4:
        raise ValueError("more than 4 dimensions")
    kind, out = zfpy.dtype_to_ztype(x.dtype), np.empty_like(x)
    return (lambda: zfpy.compress_numpy(x, tolerance=eps, write_header=False),
            lambda blob: zfpy._decompress(blob, kind, x.shape, out, tolerance=eps), len)


def sz3(x, eps):
    from pysz import sz, szConfig, szErrorBoundMode  # noqa: PLC0415

    if x.ndim > 4:
        raise ValueError("more than 4 dimensions")
    config = szConfig()
    config.errorBoundMode, config.absErrorBound, config.openmp = szErrorBoundMode.ABS, eps, False
    return lambda: sz.compress(x, config)[0], lambda blob: sz.decompress(blob, x.dtype, x.shape)[0], len


def of_hdf5(name, dimensions):
    """A filter of hdf5plugin, on a file in memory with one chunk."""
    def coder(x, eps):
        import h5py  # noqa: PLC0415
        import hdf5plugin  # noqa: PLC0415

        if x.ndim not in dimensions:
            raise ValueError(f"{x.ndim} dimensions")
        settings, out = getattr(hdf5plugin, name)(absolute=eps), np.empty_like(x)

        def compress():
            file = h5py.File(f"{name}{next(numbers)}", "w", driver="core", backing_store=False, rdcc_nbytes=0)
            file.create_dataset("x", data=x, chunks=x.shape, **settings)
            file.flush()
            return file

        def decompress(file):
            file["x"].read_direct(out)
            return out

        return compress, decompress, lambda file: file["x"].id.get_storage_size()

    return coder


OURS = {"stretto fixed": stretto("fixed"), "stretto dense": stretto("dense"), "stretto shaped": stretto(None)}
PEERS = {"blosc2 (LZ4) of codes": blosc2_lz4, "bit rounding and zstd": rounding_zstd, "pcodec of codes": pcodec, "zfp": zfp,
         "SZ2": of_hdf5("SZ", (1, 2, 3, 4)), "SZ3": sz3, "SPERR": of_hdf5("Sperr", (2, 3))}
CODERS = {**OURS, **PEERS}
