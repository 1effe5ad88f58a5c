"""The filter of HDF5: h5py writes and reads datasets of streams, and so does another process by HDF5_PLUGIN_PATH alone; what is wrong is named."""

import os
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

import stretto  # noqa: E402
from synthetic_fields import rough_rows  # noqa: E402

try:
    from stretto.storage.hdf5 import FILTER, Stretto, plugin_path
except (ImportError, stretto.UnsupportedError) as error:
    pytest.skip(str(error), allow_module_level=True)

SHARED = pathlib.Path(os.environ.get("STRETTO_DATA_DIR", pathlib.Path(__file__).parents[4] / "shared" / "data"))


def wave(dtype=np.float32):
    return (100 * np.sin(np.arange(6000) / 30)).reshape(60, 100).astype(dtype)


def kept(path, x, settings, chunks=(25, 40)):
    """What is found after the file was closed; and bytes of the dataset."""
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=x, chunks=chunks, **settings)
    with h5py.File(path) as file:
        return file["x"][:], file["x"].id.get_storage_size()


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64", "complex64", "complex128"))
@pytest.mark.parametrize("bound", ({"abs": 0.05}, {"rel": 5e-4}))
def test_datasets_keep_a_bound(tmp_path, dtype, bound):
    x = wave(dtype)
    found, size = kept(tmp_path / "x.h5", x, Stretto(**bound))
    assert found.dtype == x.dtype and np.abs(found.astype(complex) - x).max() <= 0.1 + 0.04 * (dtype == "float16") and size < x.nbytes


@pytest.mark.parametrize("dtype", "i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split())
def test_without_a_bound_numbers_keep_their_bits(tmp_path, dtype):
    x = np.random.default_rng(3).integers(0, 256, 16000, np.uint8).view(dtype)[:1000]
    assert kept(tmp_path / "x.h5", x, Stretto(), chunks=(300,))[0].tobytes() == x.tobytes()


def test_without_a_bound_another_filter_may_come_first(tmp_path):
    x = wave()
    assert np.array_equal(kept(tmp_path / "x.h5", x, {"shuffle": True, **Stretto()})[0], x)


def test_a_fill_value_that_nobody_named_is_told_once(tmp_path):
    program = """import h5py, numpy as np, sys
from stretto.storage.hdf5 import Stretto
x = np.random.default_rng(1).normal(280, 15, 40_000)
x[::3] = -9999
with h5py.File(sys.argv[1], "w") as file:
    for name, how in (("named", Stretto(abs=0.1, marks=[-9999])), ("exact", Stretto()), ("x", Stretto(abs=0.1)), ("y", Stretto(rel=1e-3))):
        file.create_dataset(name, data=x.astype("f4" if name == "y" else "f8"), chunks=(20_000,), **how)
        print(name, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "x.h5")], check=True, capture_output=True, text=True)
    names, told = done.stderr.split("stretto: ")
    assert names.split() == ["named", "exact"] and "are -9999, far from all others" in told and told.split()[-2:] == ["x", "y"], done.stderr


def test_filters_after_the_streams_keep_the_bound(tmp_path):
    x = wave()
    found, _ = kept(tmp_path / "x.h5", x, {"fletcher32": True, **Stretto(abs=0.05)})
    assert np.abs(found - x).max() <= 0.05


def test_fill_values_and_nan_keep_their_bits(tmp_path):
    x = wave()
    x[3, 4], x[5, 6] = 1e20, np.nan
    found, _ = kept(tmp_path / "x.h5", x, Stretto(rel=1e-3))
    assert found[3, 4] == x[3, 4] and np.isnan(found[5, 6])
    there = np.isfinite(x) & (x < 1e15)
    assert np.abs(found - x)[there].max() <= 0.2


def test_datasets_grow_and_are_read_in_parts(tmp_path):
    x = wave()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        d = file.create_dataset("x", shape=(0, 100), maxshape=(None, 100), dtype=x.dtype, chunks=(7, 100), **Stretto(abs=1e-3))
        for first in range(0, 60, 20):
            d.resize(first + 20, axis=0)
            d[first:] = x[first:first + 20]
        assert Stretto.of(d) == ("abs", 1e-3) and Stretto.of(file.create_dataset("y", data=x)) is None
    with h5py.File(tmp_path / "x.h5") as file:
        assert np.abs(file["x"][13:31, 5:9] - x[13:31, 5:9]).max() <= 1e-3


def test_another_program_reads_and_writes_by_the_plugin_path_alone(tmp_path):
    x = wave()
    kept(tmp_path / "x.h5", x, Stretto(abs=1e-3))
    np.save(tmp_path / "x.npy", x)
    program = f"""
import h5py, numpy, sys
x = numpy.load("x.npy")
with h5py.File("x.h5", "r+") as file:
    assert abs(file["x"][:] - x).max() <= 1e-3
    file.create_dataset("again", data=x, chunks=(10, 100), compression={FILTER}, compression_opts={Stretto(abs=1e-2).filter_options})
assert "stretto" not in sys.modules
"""
    environment = {**os.environ, "HDF5_PLUGIN_PATH": plugin_path()}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "x.h5") as file:
        assert 1e-3 < np.abs(file["again"][:] - x).max() <= 1e-2


def test_every_wrong_byte_of_a_chunk_is_an_error(tmp_path):
    x = wave()[:5, :20]
    kept(tmp_path / "x.h5", x, Stretto(abs=1e-3), chunks=x.shape)
    with h5py.File(tmp_path / "x.h5") as file:
        chunk = file["x"].id.get_chunk_info(0)
    content = (tmp_path / "x.h5").read_bytes()
    for at in range(chunk.byte_offset, chunk.byte_offset + chunk.size):
        (tmp_path / "y.h5").write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1:])
        with h5py.File(tmp_path / "y.h5") as file, pytest.raises(OSError, match="Can't.* read data"):
            file["x"][:]


def test_chunks_of_other_streams_are_errors(tmp_path):
    x = wave()[:5, :20]
    other = [stretto.compress(y, abs=1) for y in (wave(), x.astype(float), x[:1])]
    for stream in (*map(bytes, other), b"STRT", bytes(64)):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            d = file.create_dataset("x", shape=x.shape, chunks=x.shape, dtype=x.dtype, **Stretto(abs=1e-3))
            d.id.write_direct_chunk((0, 0), stream)
            with pytest.raises(OSError, match="Can't.* read data"):
                d[:]


@pytest.mark.parametrize(("how", "said"), [
    (dict(data=wave(">f4"), **Stretto(abs=1)), "takes little-endian numbers"),
    (dict(data=np.arange(5), **Stretto(abs=1)), "integers are lossless"),
    (dict(data=np.zeros(5, [("a", "f4"), ("b", "i4")]), **Stretto()), "no compound types but complex numbers"),
    (dict(data=wave(), shuffle=True, **Stretto(abs=1)), "is the first of a dataset"),
    (dict(data=wave(), shuffle=True, **Stretto(rel=1e-3)), "is the first of a dataset"),
    (dict(data=wave(), scaleoffset=2, **Stretto(abs=1)), "is the first of a dataset"),
    (dict(data=np.zeros(5, "S3"), **Stretto()), "takes integers of 8 to 64 bits"),
    (dict(data=wave(), compression=FILTER), "takes three numbers"),
    (dict(data=wave(), compression=FILTER, compression_opts=(7, 0, 0)), "takes three numbers"),
    (dict(data=wave(), compression=FILTER, compression_opts=(1, 0, 0)), "not finite and positive"),
    (dict(data=wave(), compression=FILTER, compression_opts=(2, *struct.unpack("<II", struct.pack("<d", np.nan)))), "not finite and positive"),
])
def test_datasets_that_the_filter_does_not_serve_are_refused(tmp_path, how, said):
    with h5py.File(tmp_path / "x.h5", "w") as file, pytest.raises(ValueError, match=said):
        file.create_dataset("x", chunks=True, **how)


@pytest.mark.parametrize(("bound", "kind", "said"), [
    ({"abs": 1, "rel": 1}, stretto.BoundError, "given twice"), ({"abs": 0}, stretto.BoundError, "abs is 0"),
    ({"rel": float("inf")}, stretto.BoundError, "rel is inf"), ({"rel": "x"}, TypeError, "rel is 'x'"),
])
def test_bounds_that_are_none_are_refused(bound, kind, said):
    with pytest.raises(kind, match=said):
        Stretto(**bound)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no real fields here")
@pytest.mark.parametrize("path", sorted(SHARED.glob("*.f[36]*")) if SHARED.is_dir() else [], ids=lambda path: path.stem)
def test_real_fields_keep_their_bound(tmp_path, path):
    x = np.fromfile(path, "<f8" if path.suffix == ".f64" else "<f4")
    data = np.isfinite(x) & (np.abs(x) < 1e15)
    eps = 1e-4 * np.ptp(x[data].astype(np.float64))
    found, size = kept(tmp_path / "x.h5", x, Stretto(abs=eps), chunks=(100_000,))
    there = np.isfinite(x)
    assert np.abs(found[there].astype(np.longdouble) - x[there]).max() <= eps and np.array_equal(np.isnan(found), np.isnan(x)) and size < x.nbytes / 1.5


@pytest.mark.parametrize("dtype", ("float32", "float64", "complex64", "int16", "int64"))
@pytest.mark.parametrize("chunks", ((4, 25, 40), (8, 60, 100), (1, 60, 100), (1, 1, 100)))
def test_chunks_are_predicted_along_their_axes(tmp_path, dtype, chunks):
    x = (rough_rows((8, 60, 100)) * 5).astype(dtype)
    bound = {} if dtype.startswith("int") else {"abs": 0.25}
    if bound:
        x[:, :20, :30] = -9999
    found, sizes = {}, {}
    for coding in ("shaped", "dense"):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=chunks, fillvalue=x.dtype.type(-9999 if bound else 0), **Stretto(coding=coding, **bound))
        with h5py.File(tmp_path / "x.h5") as file:
            found[coding], sizes[coding] = file["x"][:], file["x"].id.get_storage_size()
            words = file["x"].id.get_create_plist().get_filter(0)[2]
    assert np.array_equal(found["shaped"] == -9999, x == -9999) and len(words) in (6, 7, 9, 11)
    assert np.abs(found["shaped"].astype(complex) - x).max() <= (0.4 if bound else 0)
    assert sizes["shaped"] < (0.9 if chunks[1] > 1 and bound else 1.0001) * sizes["dense"]


def test_settings_without_a_legal_shape_are_refused(tmp_path):
    x = rough_rows((60, 100))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(60, 100), **Stretto(abs=0.05))
        stored = file["x"].id.get_create_plist().get_filter(0)[2]
    assert stored[0] == 1 + 512 and stored[6:] == (0, 2, 60, 0, 100, 0)
    content = (tmp_path / "x.h5").read_bytes()
    right = struct.pack("<6I", *stored[6:])
    assert content.count(right) == 1
    for wrong in ((0, 9, 60, 0, 100, 0), (0, 0, 60, 0, 100, 0), (0, 2, 60, 0, 99, 0), (0, 2, 0, 0, 100, 0), (0, 3, 60, 0, 100, 0), (17, 2, 60, 0, 100, 0)):
        (tmp_path / "y.h5").write_bytes(content.replace(right, struct.pack("<6I", *wrong)))
        with h5py.File(tmp_path / "y.h5") as file, pytest.raises(OSError, match="filter"):
            file["x"][:]


def test_datasets_of_both_codings_are_read_and_told_apart(tmp_path):
    x = wave().repeat(20, axis=1) + np.random.default_rng(5).standard_normal((60, 2000)).astype(np.float32)
    found, sizes = {}, {}
    for coding in (None, "shaped", "dense", "fixed"):
        found[coding], sizes[coding] = kept(tmp_path / "x.h5", x, Stretto(abs=0.05, coding=coding), chunks=(60, 2000))
    assert np.array_equal(found["dense"], found["fixed"]) and sizes["dense"] < sizes["fixed"] and sizes[None] == sizes["shaped"]
    assert np.abs(found["shaped"] - x).max() <= 0.05001 and sizes["shaped"] <= sizes["dense"]
    # Three numbers of an older release: fixed, and read as ever.
    filter_ = {"compression": FILTER, "compression_opts": (1, *Stretto(abs=0.05).filter_options[1:])}
    old, size = kept(tmp_path / "x.h5", x, filter_, chunks=(60, 2000))
    assert np.array_equal(old, found["fixed"]) and size == sizes["fixed"]
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(60, 2000), **Stretto(abs=0.05))
        assert Stretto.of(file["x"]) == ("abs", 0.05)
    with pytest.raises(stretto.ArgumentError, match="coding is 'packed'"):
        Stretto(abs=0.05, coding="packed")


def test_an_h5py_that_registers_no_filter_finds_the_library(tmp_path):
    program = """
import sys
import h5py, numpy as np
if hasattr(h5py.h5z, "register_filter"):
    del h5py.h5z.register_filter
from stretto.storage.hdf5 import Stretto
x = np.linspace(0, 1, 5000, dtype=np.float32)
with h5py.File(sys.argv[1], "w") as file:
    file.create_dataset("x", data=x, **Stretto(abs=1e-3))
with h5py.File(sys.argv[1]) as file:
    assert 0 < abs(file["x"][:] - x).max() <= 1e-3
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "x.h5")], check=True)
