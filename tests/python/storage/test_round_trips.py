"""There and back: what a .stretto file keeps of the file that it comes from, beside values, names and attributes."""

import numpy as np
import pytest

import stretto as package
from stretto.errors import StreamError

MISSING = -9999


def field(*shape):
    x = (15 + 10 * np.sin(np.arange(np.prod(shape)) / 30)).reshape(shape).astype(np.float32)
    x[::3, 5:] = MISSING
    return x


def there_and_back(stretto, first, back, *bound):
    stretto.succeeds("compress", first, "-o", "there.stretto", "--force", *(bound or ("--rel", "1e-4")))
    stretto.succeeds("decompress", "there.stretto", "-o", back)


@pytest.mark.parametrize("back", ("back.h5", "back.nc", "back.zarr"))
@pytest.mark.parametrize("source", ("hdf5", "zarr", "npy"))
def test_a_second_compression_has_the_marks_of_the_first(stretto, source, back):
    pytest.importorskip("zarr", minversion="3.1") if back.endswith(".zarr") else pytest.importorskip("h5py")
    x = field(60, 100)
    if source == "hdf5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(stretto.home / "a.h5", "w") as file:
            file.create_dataset("x", data=x, fillvalue=MISSING)
            file.create_dataset("n", data=np.arange(5, dtype=np.int16), fillvalue=-1)
    elif source == "zarr":
        zarr = pytest.importorskip("zarr", minversion="3.1")
        root = zarr.open_group(stretto.home / "a.zarr", mode="w")
        root.create_array("x", data=x, fill_value=MISSING)
        root.create_array("n", data=np.arange(5, dtype=np.int16), fill_value=-1)
    else:
        np.save(stretto.home / "x.npy", x)
    there_and_back(stretto, {"hdf5": "a.h5", "zarr": "a.zarr", "npy": "x.npy"}[source], back, "--rel", "1e-4", *(["--mark", MISSING] if source == "npy" else []))
    stretto.succeeds("compress", back, "--rel", "1e-4", "-o", "again.stretto")
    with package.open(stretto.home / "there.stretto") as one, package.open(stretto.home / "again.stretto") as again:
        two = again["x" if "x" in again else "back"]  # a lone array of Zarr has its directory's name
        assert one["x"].marks == two.marks == (MISSING,) and two.eps == pytest.approx(one["x"].eps, rel=1e-3)
        assert np.array_equal(two[:] == MISSING, x == MISSING) and np.abs(two[:] - x).max() <= 2 * one["x"].eps
    if source != "npy":
        if back.endswith("zarr"):
            assert pytest.importorskip("zarr").open(stretto.home / back)["n"].fill_value == -1
        else:
            with pytest.importorskip("h5py").File(stretto.home / back) as file:
                assert file["n"].fillvalue == -1 and file["x"].fillvalue == MISSING


def test_hdf5_has_its_chunks_and_the_axes_that_grow(stretto):
    h5py = pytest.importorskip("h5py")
    with h5py.File(stretto.home / "a.h5", "w") as file:
        file.create_dataset("x", data=field(60, 100), chunks=(7, 40), maxshape=(None, 100), compression="gzip", fillvalue=MISSING)
        file.create_dataset("plain", data=field(6, 10), fillvalue=MISSING)
        file.create_dataset("none", shape=(0, 3), chunks=(5, 3), maxshape=(None, 3), dtype="f4", fillvalue=MISSING)
        file.create_dataset("flat", shape=(5, 0), chunks=(5, 3), maxshape=(None, None), dtype="f4", fillvalue=MISSING)
    there_and_back(stretto, "a.h5", "b.h5")
    with h5py.File(stretto.home / "a.h5") as a, h5py.File(stretto.home / "b.h5") as b:
        for name in a:
            assert (b[name].chunks, b[name].maxshape, b[name].fillvalue) == (a[name].chunks, a[name].maxshape, a[name].fillvalue)


def netcdf_file(path, form, own=False):
    """A file with an unlimited dimension and, of NetCDF-4, a group with dimensions of the root's, or its `own` of one name and length."""
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(path, "w", format=form) as file:
        file.title, file.empty, file.unit = "waves", "", "°C"
        for name, length in (("time", None), ("lat", 4), ("lon", 5), *([("bare", None)] if form == "NETCDF4" else [])):
            file.createDimension(name, length)
        file.createVariable("time", "f8", ("time",))[:] = np.arange(3)
        file.createVariable("lat", "f4", ("lat",))[:] = np.arange(4)
        file.createVariable("tas", "f4", ("time", "lat", "lon"))[:] = np.ones((3, 4, 5))
        if form == "NETCDF4":
            file.createVariable("b", "f4", ("bare",))[:] = np.arange(6)
            sub = file.createGroup("sub/er")
            for name, length in (("lat", 4), ("lon", 5)) if own else ():
                sub.createDimension(name, length)
            sub.createVariable("pr", "f4", ("time", "lat", "lon"))[:] = np.ones((3, 4, 5))
            sub["pr"].units = "mm"
    return netcdf


@pytest.mark.parametrize("form", ("NETCDF4", "NETCDF3_CLASSIC"))
def test_netcdf_has_its_unlimited_dimensions(stretto, form):
    netcdf = netcdf_file(stretto.home / "a.nc", form)
    there_and_back(stretto, "a.nc", "b.nc", "--exact")
    with netcdf.Dataset(stretto.home / "a.nc") as a, netcdf.Dataset(stretto.home / "b.nc", "a") as b:
        assert set(b.dimensions) == set(a.dimensions)
        for name in a.dimensions:
            assert b.dimensions[name].isunlimited() == a.dimensions[name].isunlimited() and len(b.dimensions[name]) == len(a.dimensions[name])
        assert b["tas"].dimensions == a["tas"].dimensions and np.array_equal(b["tas"][:], a["tas"][:])
        b["tas"][3] = 7
        assert len(b.dimensions["time"]) == 4
    stretto.succeeds("decompress", "there.stretto", "--array", "tas", "-o", "tas.nc")  # without the variable of its dimension
    with netcdf.Dataset(stretto.home / "tas.nc") as file:
        assert file.dimensions["time"].isunlimited() and not file.dimensions["lat"].isunlimited() and file["tas"].shape == (3, 4, 5)


@pytest.mark.parametrize("own", (False, True))
def test_a_group_has_the_dimensions_that_it_had(stretto, own):
    netcdf = netcdf_file(stretto.home / "a.nc", "NETCDF4", own)
    there_and_back(stretto, "a.nc", "b.nc", "--exact")
    with netcdf.Dataset(stretto.home / "b.nc") as b:
        assert set(b["sub/er"].dimensions) == ({"lat", "lon"} if own else set()) and set(b.dimensions) == {"time", "lat", "lon", "bare"}
        assert b["sub/er/pr"].dimensions == ("time", "lat", "lon")
        assert b["sub/er/pr"].get_dims()[1].group().name == ("er" if own else "/")


def test_arrays_of_python_take_the_dimensions_of_the_groups_above(stretto):
    netcdf = pytest.importorskip("netCDF4")
    with package.open(stretto.home / "a.stretto", "x") as file:
        file.add("lat", np.arange(4.0), axes=["lat"])
        file.add("sub/pr", np.ones((4, 3)), axes=["lat", "x"])
        file.add("other/n", np.ones(7), axes=["lat"])
    stretto.succeeds("decompress", "a.stretto", "-o", "b.nc")
    with netcdf.Dataset(stretto.home / "b.nc") as file:
        assert set(file.dimensions) == {"lat"} and set(file["sub"].dimensions) == {"x"} and set(file["other"].dimensions) == {"lat"}
        assert file["sub/pr"].get_dims()[0].group().name == "/"


def test_netcdf_has_text_as_characters(stretto):
    h5py = pytest.importorskip("h5py")
    netcdf = netcdf_file(stretto.home / "a.nc", "NETCDF4")
    there_and_back(stretto, "a.nc", "b.nc", "--exact")
    with h5py.File(stretto.home / "a.nc") as a, h5py.File(stretto.home / "b.nc") as b:
        for one, other, name in ((a, b, "title"), (a, b, "empty"), (a, b, "unit"), (a["sub/er/pr"], b["sub/er/pr"], "units")):
            types = [attributes.get_id(name).get_type() for attributes in (one.attrs, other.attrs)]
            assert types[0].is_variable_str() == types[1].is_variable_str() and types[0].get_size() == types[1].get_size()
    with netcdf.Dataset(stretto.home / "b.nc") as file:
        assert (file.title, file.empty, file.unit, file["sub/er/pr"].units) == ("waves", "", "°C", "mm")
    stretto.succeeds("compress", "b.nc", "--exact", "-o", "again.stretto")
    with package.open(stretto.home / "again.stretto") as file:
        assert file.attributes == {"title": "waves", "empty": "", "unit": ["°C"]}  # netCDF4 wrote a list of one text


@pytest.mark.parametrize("origin", ({"chunks": [0, 2]}, {"chunks": [2]}, {"chunks": 2}, {"unlimited": [2]}, {"unlimited": [-1]}, {"dimensions": [1, 2]}, {"fill": "x"},
                                    {"fill": None}))
def test_an_origin_that_is_none_is_refused(tmp_path, origin):
    with package.open(tmp_path / "a.stretto", "x") as file:
        file.add("x", np.ones((3, 4)))._entry.origin = origin
    with pytest.raises(StreamError, match=f"'x': .*{next(iter(origin))[:4]}"):
        package.open(tmp_path / "a.stretto")
