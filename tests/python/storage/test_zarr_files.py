"""Zarr's directories as files of the command: read with names, axes, attributes and marks, and written whole or not at all."""

import os

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3.1")

import stretto as package  # noqa: E402


def wave(dtype=np.float32):
    x = (100 * np.sin(np.arange(6000) / 30)).reshape(60, 100).astype(dtype)
    x[10:30, 20:60] = -999
    return x


def group(path, form=3):
    """A group of both levels: tas(y, x) with a fill value, its axis x, an integer, and text."""
    root = zarr.open_group(path, mode="w", zarr_format=form, attributes={"title": "waves"})

    def add(name, x, axes, **told):
        told = {**told, "dimension_names": axes} if form == 3 else {**told, "attributes": {"_ARRAY_DIMENSIONS": axes, **told.get("attributes", {})}}
        root.create_array(name, shape=x.shape, dtype=x.dtype, chunks=tuple(-(-n // 3) for n in x.shape), **told)[...] = x

    add("deep/tas", wave(), ["y", "x"], fill_value=-999, attributes={"units": "K"})
    add("deep/x", np.linspace(0, 1, 100), ["x"])
    add("n", np.arange(60, dtype=np.int16), ["y"])
    add("big", wave(">f8"), ["y", "x"], fill_value=-999.0)
    add("text", np.array(["a", "b"]), ["two"])


@pytest.mark.parametrize("form", (2, 3))
def test_a_group_keeps_names_axes_attributes_and_masks(form, tmp_path, stretto):
    group(tmp_path / "a.zarr", form)
    done = stretto.run("compress", "a.zarr/", "--rel", "1e-3")
    assert done.returncode == 0 and "left out: 'text', its dtype is" in done.stderr, done.stderr
    with package.open(tmp_path / "a.stretto") as file:
        assert set(file) == {"deep/tas", "deep/x", "n", "big"} and file.attributes == {"title": "waves"}
        tas = file["deep/tas"]
        assert tas.axes == ("y", "x") and tas.attributes["units"] == "K" and tas.marks == (-999.0,)
        for one in (tas, file["big"]):
            assert np.array_equal(one[:] == -999, wave() == -999) and np.abs(one[:] - wave()).max() <= 0.2 and one.eps <= 0.2
        assert file["deep/x"].eps == 0 and np.array_equal(file["n"][:], np.arange(60))
    stretto.succeeds("decompress", "a.stretto", "-o", "b.zarr")
    back = zarr.open_group(tmp_path / "b.zarr", mode="r")
    tas = back["deep/tas"]
    assert dict(back.attrs) == {"title": "waves"} and tas.attrs["units"] == "K"
    assert tas.metadata.dimension_names == ("y", "x") and tas.fill_value == -999
    assert np.array_equal(tas[:], package.load(tmp_path / "a.stretto")["deep/tas"])
    assert np.array_equal(back["n"][:], np.arange(60)) and back["n"].dtype == np.int16
    assert "deep/tas" in stretto.succeeds("compare", "a.zarr", "b.zarr")
    assert "60x100 float64" in stretto.succeeds("ratio", "a.zarr", "--rel", "1e-3")


@pytest.mark.parametrize("dtype", ("float32", "complex64", "bool", "uint16", "float16"))
def test_one_array_is_an_array_at_the_root(dtype, tmp_path, stretto):
    x = wave().astype(dtype)
    package.save(tmp_path / "a.stretto", x)
    stretto.succeeds("decompress", "a.stretto", "-o", "a.zarr")
    assert np.array_equal(zarr.open_array(tmp_path / "a.zarr", mode="r")[...], x)
    stretto.succeeds("compress", "a.zarr", "--exact", "-o", "b.stretto")
    with package.open(tmp_path / "b.stretto") as file:
        assert list(file) == ["a"] and np.array_equal(file["a"][...], x)


def test_arrays_longer_than_a_piece_come_back(tmp_path, stretto):
    x = np.sin(np.arange(3 * 700 * 1100) / 900).astype(np.float32).reshape(3, 700, 1100)
    for name, chunks in (("rows", (2, 700, 1100)), ("columns", (3, 700, 100)), ("small", (1, 50, 60))):
        zarr.create_array(tmp_path / f"{name}.zarr", shape=x.shape, chunks=chunks, dtype=x.dtype)[...] = x
        stretto.succeeds("compress", f"{name}.zarr", "--exact", "-o", "a.stretto", "--force")
        stretto.succeeds("decompress", "a.stretto", "-o", "back.zarr", "--force")
        back = zarr.open_array(tmp_path / "back.zarr", mode="r")
        assert np.array_equal(back[...], x) and back.chunks == (1, 700, 1100)


def test_numbers_without_a_shape_and_empty_arrays_come_back(tmp_path, stretto):
    package.save(tmp_path / "a.stretto", {"one": np.float64(2.5), "none": np.zeros((0, 3), np.float32)})
    stretto.succeeds("decompress", "a.stretto", "-o", "a.zarr")
    stretto.succeeds("compress", "a.zarr", "--exact", "--force")
    found = package.load(tmp_path / "a.stretto")
    assert found["one"] == 2.5 and found["none"].shape == (0, 3)


def test_only_a_directory_of_zarr_is_replaced(tmp_path, stretto):
    package.save(tmp_path / "a.stretto", wave())
    (tmp_path / "b.zarr").mkdir()
    (tmp_path / "b.zarr" / "precious").write_text("text", encoding="utf-8")
    assert "--force" in stretto.refused("decompress", "a.stretto", "-o", "b.zarr")
    assert "never replaced" in stretto.refused("decompress", "a.stretto", "-o", "b.zarr", "--force")
    assert os.listdir(tmp_path / "b.zarr") == ["precious"]
    stretto.succeeds("decompress", "a.stretto", "-o", "c.zarr")
    assert "--force" in stretto.refused("decompress", "a.stretto", "-o", "c.zarr")
    package.save(tmp_path / "d.stretto", 2 * wave())
    stretto.succeeds("decompress", "d.stretto", "-o", "c.zarr", "--force")
    assert np.array_equal(zarr.open_array(tmp_path / "c.zarr", mode="r")[...], 2 * wave())
    assert sorted(os.listdir(tmp_path)) == ["a.stretto", "b.zarr", "c.zarr", "d.stretto"]


def test_what_fails_leaves_nothing_behind(tmp_path, stretto):
    package.save(tmp_path / "a.stretto", {"a": wave(), "b": np.arange(9)})
    content = bytearray((tmp_path / "a.stretto").read_bytes())
    content[100] ^= 1
    (tmp_path / "a.stretto").write_bytes(content)
    assert "chunk 0" in stretto.refused("decompress", "a.stretto", "-o", "a.zarr", status=1)
    assert os.listdir(tmp_path) == ["a.stretto"]


def test_attributes_that_json_lacks_are_left_out_by_name(tmp_path, stretto):
    package.save(tmp_path / "a.stretto", wave(), attributes={"limit": np.inf, "levels": np.arange(3), "z": np.complex64(1j)})
    done = stretto.run("decompress", "a.stretto", "-o", "a.zarr")
    assert done.returncode == 0 and "attribute 'limit'" in done.stderr and "attribute 'z'" in done.stderr
    assert dict(zarr.open(tmp_path / "a.zarr", mode="r").attrs) == {"levels": [0, 1, 2]}


@pytest.mark.parametrize(("make", "said", "status"), [
    (lambda p: (p / "a.zarr").mkdir(), "no array or group of Zarr", 2),
    (lambda p: ((p / "a.zarr").mkdir(), (p / "a.zarr" / "zarr.json").write_text("no JSON")), "cannot be read", 1),
    (lambda p: zarr.open_group(p / "a.zarr", mode="w"), "holds no array of numbers", 2),
])
def test_directories_that_hold_no_arrays_are_refused(make, said, status, tmp_path, stretto):
    make(tmp_path)
    assert said in stretto.refused("compress", "a.zarr", "--abs", "1", status=status)


def test_a_damaged_chunk_is_named(tmp_path, stretto):
    made = zarr.create_array(tmp_path / "a.zarr", shape=(60, 100), chunks=(60, 100), dtype="f4")
    made[...] = wave()
    chunk = tmp_path / "a.zarr" / "c" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:50])
    assert "a.zarr cannot be read" in stretto.refused("compress", "a.zarr", "--abs", "1", "--no-marks", status=1)


def test_shape_and_dtype_are_refused(tmp_path, stretto):
    zarr.create_array(tmp_path / "a.zarr", shape=(3,), dtype="f4")
    assert "says its own shape" in stretto.refused("compress", "a.zarr", "--abs", "1", "--dtype", "f4")


@pytest.mark.parametrize("form", (2, 3))
def test_the_fill_value_of_xarray_is_a_mark(form, tmp_path, stretto):
    xarray = pytest.importorskip("xarray")
    x = wave()
    data = xarray.Dataset({"tas": (("y", "x"), np.where(x == -999, np.nan, x))}, {"x": np.arange(100.0)})
    data.to_zarr(tmp_path / "a.zarr", encoding={"tas": {"_FillValue": np.float32(-999)}}, zarr_format=form, consolidated=False)
    stretto.succeeds("compress", "a.zarr", "--abs", "0.05")
    with package.open(tmp_path / "a.stretto") as file:
        assert file["tas"].marks == (-999.0,) and file["x"].eps == 0
        assert np.array_equal(file["tas"][:] == -999, x == -999)
    stretto.succeeds("decompress", "a.stretto", "-o", "b.zarr")
    back = xarray.open_zarr(tmp_path / "b.zarr", consolidated=False)
    assert np.array_equal(np.isnan(back["tas"]), x == -999) and back["tas"].dims == ("y", "x")
