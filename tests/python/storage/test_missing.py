"""Missing data under a bound: each way into streams keeps the mask of a mark, and ranges leave marks out."""

import json

import numpy as np
import pytest

import stretto as package
from stretto.storage import missing

MARKS = (-999.0, -9999.0, -99.9, -1.0, 32767.0, 1e10, np.nan)
BOUNDS = (1e-4, 0.0037, 0.05, 1.0)
WAYS = ("stream", "container", "command", "hdf5", "hdf5_fill", "numcodecs", "zarr3", "zarr3_fill", "zarr2")
QUICK = ("stream", "container", "hdf5", "numcodecs")


def field(mark, dtype, near):
    """60 x 100 numbers with patches of the mark; the others are a wave, which goes through the mark where `near`."""
    middle = mark if near and np.isfinite(mark) else 15.0
    x = (middle + 10 * np.sin(np.arange(6000) / 30)).reshape(60, 100).astype(dtype)
    x[10:30, 20:60] = mark
    if near:
        x[40:45] = np.nextafter(x[10, 20], dtype(0))
    return x


def through(way, x, mark, bound, path, command):
    """What is left of x: by a way that is told the mark, or finds it."""
    if way == "stream":
        return package.compress(x, abs=bound, marks=[mark]).decompress()
    if way == "container":
        package.save(path / "a.stretto", x, abs=bound, marks=[mark], overwrite=True)
        with package.open(path / "a.stretto", "a") as file:
            file["data"].append(x)
        with package.open(path / "a.stretto") as file:
            assert file["data"].marks == ((mark,) if np.isfinite(mark) else ())
            assert np.array_equal(file["data"][:60], file["data"][60:], equal_nan=True)
            return file["data"][:60]
    if way == "command":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path / "a.nc", "w") as file:
            file["x"] = x
            file["x"].attrs["_FillValue"] = x.dtype.type(mark)
        command.succeeds("compress", path / "a.nc", "-o", path / "a.stretto", "--force", "--abs", bound)
        return package.load(path / "a.stretto")["x"]
    if way.startswith("hdf5"):
        h5py = pytest.importorskip("h5py")
        filters = pytest.importorskip("stretto.storage.hdf5")
        told = {"fillvalue": x.dtype.type(mark)} if way == "hdf5_fill" else {}
        with h5py.File(path / "a.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=(25, 40), **told, **filters.Stretto(abs=bound, marks=() if told else (mark,)))
        with h5py.File(path / "a.h5") as file:
            return file["x"][...]
    if way == "numcodecs":
        codecs = pytest.importorskip("stretto.storage.numcodecs")
        codec = pytest.importorskip("numcodecs").get_codec(json.loads(json.dumps(codecs.Stretto(abs=bound, marks=[mark]).get_config())))
        return codec.decode(codec.encode(x)).reshape(x.shape)
    zarr = pytest.importorskip("zarr", minversion="3.1")
    if way == "zarr2":
        codecs = pytest.importorskip("stretto.storage.numcodecs")
        told = {"zarr_format": 2, "compressors": codecs.Stretto(abs=bound, marks=[mark]), "fill_value": mark}
    else:
        codecs = pytest.importorskip("stretto.storage.zarr")
        marks = () if way == "zarr3_fill" else (mark,)
        told = {"serializer": codecs.Stretto(abs=bound, marks=marks), "compressors": None, **({"fill_value": mark} if not marks else {})}
    made = zarr.create_array(str(path / "a.zarr"), shape=x.shape, chunks=(25, 40), dtype=x.dtype, overwrite=True, **told)
    made[...] = x
    return zarr.open_array(str(path / "a.zarr"))[...]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mark", MARKS)
def test_as_many_are_missing_after_as_before(way, mark, tmp_path, stretto):
    for dtype in (np.float32, np.float64):
        for bound in BOUNDS if way in QUICK else BOUNDS[1:3]:
            for near in (False, True):
                x = field(mark, dtype, near)
                y = through(way, x, mark, bound, tmp_path, stretto)
                there = ~np.isnan(x) if np.isnan(mark) else x != dtype(mark)
                assert np.array_equal(~np.isnan(y) if np.isnan(mark) else y != dtype(mark), there), (dtype, bound, near)
                assert np.array_equal(x[~there].view(np.uint8), y[~there].view(np.uint8))
                assert np.abs(x[there].astype(np.longdouble) - y[there]).max() <= bound


def test_complex_parts_keep_their_marks(tmp_path):
    h5py = pytest.importorskip("h5py")
    filters = pytest.importorskip("stretto.storage.hdf5")
    x = (field(-999.0, np.float32, False) + 1j * field(-999.0, np.float32, False)).astype(np.complex64)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(25, 40), fillvalue=np.complex64(-999 - 999j), **filters.Stretto(abs=0.05))
        assert np.array_equal(file["x"][...] == -999 - 999j, x == -999 - 999j)


def test_a_dataset_made_by_the_properties_of_another_has_its_marks(tmp_path):
    h5py = pytest.importorskip("h5py")
    filters = pytest.importorskip("stretto.storage.hdf5")
    x = field(-99.9, np.float32, True)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, told in (("marks", {"marks": [-99.9]}), ("none", {})):
            first = file.create_dataset(name, data=x, chunks=(25, 40), **filters.Stretto(abs=0.05, **told))
            properties = first.id.get_create_plist()
            again = h5py.Dataset(h5py.h5d.create(file.id, f"{name}2".encode(), first.id.get_type(), first.id.get_space(), dcpl=properties))
            again[...] = x
            assert np.array_equal(again[...], first[...])
            assert again.id.get_create_plist().get_filter(0)[2] == properties.get_filter(0)[2]
            assert filters.Stretto.of(again) == ("abs", 0.05)
        assert np.array_equal(file["marks2"][...] == np.float32(-99.9), x == np.float32(-99.9))


def test_a_relative_bound_counts_no_mark(tmp_path):
    x = field(-9999.0, np.float32, False)
    wave = np.where(x == -9999, 15, x)
    for rel in (1e-2, 1e-4):
        assert package.compress(x, rel=rel, marks=[-9999]).eps == package.compress(wave, rel=rel).eps
    with package.open(tmp_path / "a.stretto", "x") as file:
        assert file.add("x", x, rel=1e-3, marks=[-9999]).eps == package.compress(wave, rel=1e-3).eps


def test_what_a_range_ignores_keeps_its_bits():
    x = field(12.5, np.float32, False) * np.float32(1)
    x[0, :50] = 1234.5678
    y = package.compress(x, rel=0.5, ignore_above=1000).decompress()
    assert np.array_equal(x[0, :50], y[0, :50])
    assert not np.array_equal(x, y)


def test_marks_that_are_no_numbers_or_too_many_are_named():
    x = np.zeros(5, np.float32)
    with pytest.raises(TypeError, match="'a'"):
        package.compress(x, abs=1, marks=["a"])
    with pytest.raises(package.ArgumentError, match="17 marks"):
        package.compress(x, abs=1, marks=range(17))


@pytest.mark.parametrize("verb", ["compress", "ratio"])
def test_a_suspect_is_named_with_the_options_that_settle_it(verb, tmp_path, stretto):
    x = field(-9999.0, np.float32, False)
    x[:30] = -9999
    np.save(tmp_path / "a.npy", x)
    err = stretto.refused(verb, tmp_path / "a.npy", "--rel", "1e-3")
    assert "--mark -9999" in err and "--no-marks" in err
    stretto.succeeds(verb, tmp_path / "a.npy", "--rel", "1e-3", "--mark", "-9999")
    stretto.succeeds(verb, tmp_path / "a.npy", "--rel", "1e-3", "--no-marks", *(["--force"] if verb == "compress" else []))


@pytest.mark.parametrize("verb", ["compress", "ratio"])
@pytest.mark.parametrize(("share", "told"), ((0.07, True), (0.011, True), (0.008, False)))
def test_a_suspect_of_a_hundredth_is_told(verb, share, told, tmp_path, stretto):
    x = (15 + 10 * np.sin(np.arange(60000) / 30)).astype(np.float32)
    x[np.random.default_rng(1).choice(x.size, int(share * x.size), replace=False)] = -9999
    np.save(tmp_path / "a.npy", x)
    done = stretto.run(verb, tmp_path / "a.npy", "--rel", "1e-3")
    assert done.returncode == 0 and ("are -9999, far from all others. --mark -9999 keeps" in done.stderr) is told, done.stderr
    for settled in (("--mark", "-9999"), ("--no-marks",)):
        done = stretto.run(verb, tmp_path / "a.npy", "--rel", "1e-3", *settled, *(["--force"] if verb == "compress" else []))
        assert done.returncode == 0 and "far from" not in done.stderr


@pytest.mark.parametrize("mark", (-9999.0, 1e10))
def test_a_suspect_is_found_beside_values_that_are_more_frequent(mark):
    x = np.random.default_rng(1).gamma(2, 5, 60000)
    x[:18000], x[18000:27000], x[27000:28800] = 0, mark, 1e20
    x = np.random.default_rng(2).permutation(x)
    assert missing.suspect([x[:20000], x[20000:]]) == (mark, 0.15)
    assert missing.suspect([x[x != mark]]) is None and missing.suspect([]) is None


@pytest.mark.parametrize("where", (np.s_[:, 40:], np.s_[:, 1::3], np.s_[1::3]), ids=str)
def test_a_suspect_of_whole_columns_or_rows_is_found(where):
    x = np.random.default_rng(1).normal(280, 15, (8192, 64))
    x[where] = -9999
    share = np.count_nonzero(x == -9999) / x.size
    value, found = missing.suspect([x])
    assert value == -9999 and abs(found - share) < 0.02
    for values in (x, x.astype(np.complex64), x.astype(pytest.importorskip("ml_dtypes").bfloat16)):
        with pytest.warns(UserWarning, match=r"are -(9999|9984), far from all others"):
            missing.warn_of_suspect(values, "no mark is named", 2)


def test_what_the_range_ignores_is_no_suspect(tmp_path, stretto):
    x = field(-9999.0, np.float32, False)
    x[:30] = -9999
    np.save(tmp_path / "a.npy", x)
    done = stretto.run("compress", tmp_path / "a.npy", "-o", tmp_path / "a.stretto", "--rel", "1e-3", "--ignore-above", "5000")
    assert done.returncode == 0 and "far from" not in done.stderr, done.stderr
    assert np.array_equal(next(iter(package.load(tmp_path / "a.stretto").values())) == -9999, x == -9999)
    assert "--mark -9999" in stretto.refused("compress", tmp_path / "a.npy", "--rel", "1e-3", "--ignore-above", "10000")


def test_zeros_beside_small_numbers_are_no_suspect(tmp_path, stretto):
    x = np.maximum(np.sin(np.arange(6000) / 300), 0).astype(np.float32)
    np.save(tmp_path / "a.npy", x)
    stretto.succeeds("compress", tmp_path / "a.npy", "--rel", "1e-3")
