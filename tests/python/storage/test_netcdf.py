"""Classic NetCDF files: what the NetCDF library writes is read with names, attributes, records and marks; damaged files are refused."""

import struct

import numpy as np
import pytest

import stretto as package

FORMATS = {"NETCDF3_CLASSIC": 1, "NETCDF3_64BIT_OFFSET": 2, "NETCDF3_64BIT_DATA": 5}
TYPES = "i1 i2 i4 f4 f8"


def field(n=500):
    x = (15 + 10 * np.sin(np.arange(12 * n) / 30)).reshape(12, n).astype(np.float32)
    x[3, 20:200] = -999
    return x


def by_library(path, form, records=True, n=500):
    """A file of the NetCDF library, with variables along the records where asked, and others."""
    netcdf = pytest.importorskip("netCDF4")
    x = field(n)
    with netcdf.Dataset(path, "w", format=form) as file:
        file.title = "waves"
        file.createDimension("time", None if records else 12)
        file.createDimension("x", n)
        file.createDimension("letters", 3)
        file.createVariable("time", "f8", ("time",))[:] = np.arange(12)
        tas = file.createVariable("tas", "f4", ("time", "x"), fill_value=np.float32(-999))
        tas.set_auto_mask(False)
        tas[:] = x
        tas.units, tas.coordinates, tas.levels = "K", "lon", np.array([1, 2, 3], np.int32)
        file.createVariable("lon", "f8", ("x",))[:] = np.linspace(0, 1, n)
        file.createVariable("name", "S1", ("letters",))[:] = np.array([b"a", b"b", b"c"])
        for kind in (TYPES + " u1 u2 u4 i8 u8" * (FORMATS[form] == 5)).split():
            file.createVariable(f"v_{kind}", kind, ("time", "letters"))[:] = np.arange(36).reshape(12, 3)
        file.createVariable("number", "f8", ())[...] = 2.5
    return x


@pytest.mark.parametrize(("records", "n"), ((True, 500), (True, 1500), (False, 500)))
@pytest.mark.parametrize("form", FORMATS)
def test_files_of_the_netcdf_library_are_compressed(form, records, n, tmp_path, stretto):
    x = by_library(tmp_path / "a.nc", form, records, n)
    assert (tmp_path / "a.nc").read_bytes()[:4] == b"CDF" + bytes([FORMATS[form]])
    done = stretto.run("compress", "a.nc", "--abs", "0.01")
    assert done.returncode == 0 and "left out: 'name', it is text" in done.stderr, done.stderr
    with package.open(tmp_path / "a.stretto") as file:
        assert file.attributes == {"title": "waves"}
        tas = file["tas"]
        assert tas.axes == ("time", "x") and tas.marks == (-999.0,) and tas.attributes["units"] == "K"
        assert np.array_equal(tas.attributes["levels"], [1, 2, 3]) and tas.attributes["_FillValue"] == -999
        assert np.array_equal(tas[:] == -999, x == -999) and np.abs(tas[:] - x).max() <= 0.01
        assert file["time"].eps == 0 and np.array_equal(file["time"][:], np.arange(12))
        assert file["lon"].eps == 0  # which tas names as its coordinate
        for kind in (TYPES + " u1 u2 u4 i8 u8" * (FORMATS[form] == 5)).split():
            found = file[f"v_{kind}"]
            assert found.dtype == kind and np.abs(found[:].astype(float) - np.arange(36).reshape(12, 3)).max() <= 0.01
        assert abs(file["number"][()] - 2.5) <= 0.01


def test_ratio_reads_the_largest_variable_without_its_marks(tmp_path, stretto):
    by_library(tmp_path / "a.nc", "NETCDF3_CLASSIC")
    assert "range 20" in stretto.succeeds("ratio", "a.nc", "--rel", "1e-3")


@pytest.mark.parametrize("form", FORMATS)
def test_one_variable_along_the_records_has_no_padding(form, tmp_path, stretto):
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(tmp_path / "a.nc", "w", format=form) as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        file.createVariable("v", "i1", ("time", "x"))[:] = np.arange(21).reshape(7, 3)
    stretto.succeeds("compress", "a.nc", "--exact")
    assert np.array_equal(package.load(tmp_path / "a.stretto")["v"], np.arange(21).reshape(7, 3))


@pytest.mark.parametrize("form", FORMATS)
def test_a_truncated_file_is_refused(form, tmp_path, stretto):
    by_library(tmp_path / "a.nc", form)
    content = (tmp_path / "a.nc").read_bytes()
    for length in (4, 7, 8, 60, 400, len(content) // 2, len(content) - 8):
        (tmp_path / "b.nc").write_bytes(content[:length])
        assert "truncated" in stretto.refused("compress", "b.nc", "--abs", "1", status=1)


def test_no_damaged_header_ends_in_a_traceback(tmp_path, stretto):
    by_library(tmp_path / "a.nc", "NETCDF3_64BIT_DATA")
    content = (tmp_path / "a.nc").read_bytes()
    for at in range(4, 900, 7):
        (tmp_path / "b.nc").write_bytes(content[:at] + bytes([content[at] ^ 0x81]) + content[at + 1:])
        assert stretto.run("compress", "b.nc", "--abs", "1", "--no-marks", "--force").returncode in (0, 1, 2)


def hand_made(records, values, version=1):
    """CDF-1 or CDF-2 of the format's description: one variable v(t) of float32, t without limit, and the count of records as given."""
    header = b"CDF" + bytes([version]) + struct.pack(">I", records)
    header += struct.pack(">II", 10, 1) + struct.pack(">I", 1) + b"t\0\0\0" + struct.pack(">I", 0)
    header += struct.pack(">II", 0, 0) + struct.pack(">II", 11, 1) + struct.pack(">I", 1) + b"v\0\0\0" + struct.pack(">II", 1, 0)
    header += struct.pack(">II", 0, 0) + struct.pack(">II", 5, 4)
    begin = len(header) + (4 if version == 1 else 8)
    return header + begin.to_bytes(begin - len(header), "big") + np.asarray(values, ">f4").tobytes()


@pytest.mark.parametrize("version", (1, 2))
def test_a_file_in_writing_has_the_records_written_so_far(version, tmp_path, stretto):
    values = np.sin(np.arange(100)).astype(np.float32)
    for records in (100, 0xffffffff):
        (tmp_path / "a.nc").write_bytes(hand_made(records, values, version))
        stretto.succeeds("compress", "a.nc", "--exact", "--force")
        assert np.array_equal(package.load(tmp_path / "a.stretto")["v"], values)


def test_scipy_writes_what_is_read(tmp_path, stretto):
    scipy = pytest.importorskip("scipy.io")
    x = field()
    with scipy.netcdf_file(tmp_path / "a.nc", "w", version=2) as file:
        file.createDimension("t", None)
        file.createDimension("x", 500)
        file.createVariable("tas", "f4", ("t", "x"))[:] = x
        file.createVariable("n", "i2", ("t",))[:] = np.arange(12)
        file.variables["tas"].missing_value = np.float32(-999)
    stretto.succeeds("compress", "a.nc", "--rel", "1e-4")
    with package.open(tmp_path / "a.stretto") as file:
        assert file["tas"].marks == (-999.0,) and np.array_equal(file["tas"][:] == -999, x == -999)
        assert np.array_equal(file["n"][:], np.arange(12))
