"""`stretto compress`, `decompress` and `inspect`: files of every kind keep their bound; what is wrong is named, and leaves no file."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import stretto as library
from synthetic_fields import rough_rows

try:
    library.compress(np.zeros(1), abs=1)
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

from stretto.storage import output, sources, transfer  # noqa: E402

SHARED = pathlib.Path(os.environ.get("STRETTO_DATA_DIR", pathlib.Path(__file__).parents[4] / "shared" / "data"))


def field(*shape, dtype=np.float32):
    return (100 * np.sin(np.arange(int(np.prod(shape))) / 30)).reshape(shape).astype(dtype)


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of 1,000 bytes, so that small arrays take many."""
    monkeypatch.setattr(sources, "PIECE", 1000)


def arrays_of(path):
    return library.load(path)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ("float32", ">f8", "int16", "complex64"))
def test_npy_there_and_back(stretto, small_pieces, order, dtype):
    x = np.asarray(field(30, 41, dtype=dtype), order=order)
    np.save(stretto.home / "x.npy", x)
    said = stretto.succeeds("compress", "x.npy", *(() if dtype == "int16" else ("--abs", "0.01")))
    assert "x.stretto: " in said and "30x41" in said
    assert stretto.succeeds("decompress", "x.stretto", "-o", "y.npy").strip() == "y.npy"
    y = np.load(stretto.home / "y.npy")
    assert y.dtype == x.dtype.newbyteorder("=") and y.shape == x.shape and np.abs(y - x).max() <= (0 if dtype == "int16" else 0.0151)


def test_the_coding_of_a_file_is_chosen_and_told(stretto):
    x = rough_rows((40, 3000))
    np.save(stretto.home / "x.npy", x)
    sizes, read = {}, {}
    for coding in (None, "shaped", "dense", "fixed"):
        words = () if coding is None else ("--coding", coding)
        told = json.loads(stretto.succeeds("compress", "x.npy", "--abs", "0.05", "--force", "--json", *words))
        sizes[coding], one = told["bytes"], told["arrays"]["x"]
        assert one["coding"] == (coding or "shaped")
        assert json.loads(stretto.succeeds("inspect", "x.stretto", "--json"))["arrays"]["x"]["coding"] == one["coding"]
        stretto.succeeds("decompress", "x.stretto", "-o", "y.npy", "--force")
        read[coding] = np.load(stretto.home / "y.npy")
        assert np.abs(read[coding] - x).max() <= 0.05001
    assert sizes[None] == sizes["shaped"] < sizes["dense"] < sizes["fixed"] and np.array_equal(read["dense"], read["fixed"])
    said = stretto.refused("compress", "x.npy", "--abs", "0.05", "--force", "--coding", "packed")
    assert "--coding is 'packed'; it takes fixed, dense or shaped" in said


@pytest.mark.parametrize("pieces", (1000, 64 << 20))
def test_raw_values_with_a_shape_are_predicted_along_its_axes(stretto, monkeypatch, pieces):
    monkeypatch.setattr(sources, "PIECE", pieces)
    x = rough_rows((12, 30, 70))
    x[:, :9, :20] = np.nan
    x.tofile(stretto.home / "x.f32")
    size = {}
    for shape in ("12x30x70", "25200"):
        told = json.loads(stretto.succeeds("compress", "x.f32", "--shape", shape, "--abs", "0.05", "--force", "--json"))
        size[shape] = told["arrays"]["x"]["stored"]
        found = arrays_of(stretto.home / "x.stretto")["x"].reshape(x.shape)
        assert np.array_equal(np.isnan(found), np.isnan(x)) and np.nanmax(np.abs(found.astype(np.longdouble) - x)) <= 0.05
    assert pieces == 1000 or size["12x30x70"] < 0.8 * size["25200"]


def test_npz_keeps_names_and_each_array_has_its_bound(stretto, small_pieces):
    x = {"a": field(50, 9), "b": field(300, dtype=np.float64), "n": np.arange(7, dtype=np.uint8), "f": np.asfortranarray(field(6, 70)), "one": np.float32(3)}
    np.savez_compressed(stretto.home / "x.npz", **x, text=np.array(["no"]))
    done = stretto.run("compress", "x.npz", "--rel", "1e-4", "--bound", "b=abs:0.5", "--bound", "f=exact", "--json")
    assert done.returncode == 0 and "left out: 'text', its dtype is <U2" in done.stderr
    told = json.loads(done.stdout)
    assert {name: one["bound"] for name, one in told["arrays"].items()} == {"a": "rel:0.0001", "b": "abs:0.5", "n": None, "f": None, "one": "rel:0.0001"}
    (stretto.home / "x.npz").unlink()
    assert stretto.succeeds("decompress", "x.stretto").strip() == "x.npz"
    y = np.load(stretto.home / "x.npz")
    assert list(y) == list(x) and all(y[name].shape == np.shape(x[name]) for name in x)
    assert np.abs(y["a"] - x["a"]).max() <= 0.0201 and 0.02 < np.abs(y["b"] - x["b"]).max() <= 0.5
    assert np.array_equal(y["f"], x["f"]) and np.array_equal(y["n"], x["n"]) and y["one"] == 3


def test_raw_values_take_shape_and_dtype_or_have_them_in_their_name(stretto, small_pieces):
    x = field(20, 31, dtype=np.float64)
    x.tofile(stretto.home / "v_20x31.f64")
    x.astype(">f8").tofile(stretto.home / "big.bin")
    stretto.succeeds("compress", "v_20x31.f64", "--abs", "0.1")
    stretto.succeeds("compress", "big.bin", "--shape", "20,31", "--dtype", ">f8", "--abs", "0.1", "-o", "big.stretto")
    found, big = arrays_of(stretto.home / "v_20x31.stretto")["v"], arrays_of(stretto.home / "big.stretto")["big"]
    assert found.shape == (20, 31) and np.abs(found - x).max() <= 0.1 and np.array_equal(found, big)
    stretto.succeeds("decompress", "big.stretto", "-o", "back.raw")
    assert (stretto.home / "back.raw").read_bytes() == big.tobytes()


def test_relative_bounds_use_the_whole_array_without_fill_values(stretto, small_pieces):
    x = field(2000)
    x[:1000] /= 1000  # a range of each piece would be far smaller here
    x[5], x[6] = 1e20, np.nan
    np.save(stretto.home / "x.npy", x)
    stretto.succeeds("compress", "x.npy", "--rel", "1e-3")
    with library.open(stretto.home / "x.stretto") as file:
        assert file["x"].eps == pytest.approx(1e-3 * np.ptp(x[7:].astype(float)))
    stretto.succeeds("compress", "x.npy", "--rel", "1e-3", "--ignore-above", "50", "--force")
    with library.open(stretto.home / "x.stretto") as file:
        assert file["x"].eps <= 0.1


def test_hdf5_and_netcdf_keep_names_attributes_and_dimensions(stretto, small_pieces):
    h5py = pytest.importorskip("h5py")
    with h5py.File(stretto.home / "x.nc", "w") as file:
        file.attrs["title"] = "made up"
        lat = file.create_dataset("lat", data=np.linspace(-90, 90, 17))
        lat.make_scale("lat")
        tas = file.create_dataset("tas", data=field(12, 17, 5), chunks=(5, 17, 5), compression="gzip")
        tas.dims[1].attach_scale(lat)
        tas.attrs["coordinates"] = "area lat"
        file.create_dataset("area", data=field(17, 5) / 7)
        tas.attrs.update(units="K", _FillValue=np.float32(1e20), flags=np.array([1, 2], np.int8), words=["a", "b"])
        file.create_dataset("deep/er/count", data=np.arange(6, dtype=">i4"))
        file.create_dataset("text", data="no numbers")
        file.create_dataset("empty", dtype="f4")
        file.create_dataset("none", shape=(0, 3), dtype="f4")
    done = stretto.run("compress", "x.nc", "--abs", "0.01")
    assert done.returncode == 0 and "left out: 'text', its dtype is object" in done.stderr and "left out: 'empty', it is empty" in done.stderr
    with library.open(stretto.home / "x.stretto") as file:
        assert set(file) == {"lat", "tas", "area", "deep/er/count", "none"} and file.attributes == {"title": "made up"}
        assert file["lat"].eps == file["area"].eps == 0 and file["tas"].eps == 0.01 and file["tas"].axes == ("", "lat", "")
        assert file["tas"].attributes["units"] == "K" and file["tas"].attributes["_FillValue"] == np.float32(1e20) and file["tas"].attributes["words"] == ["a", "b"]
    stretto.succeeds("decompress", "x.stretto", "-o", "y.nc")
    with h5py.File(stretto.home / "x.nc") as x, h5py.File(stretto.home / "y.nc") as y:
        assert np.array_equal(x["lat"], y["lat"]) and np.abs(x["tas"][:] - y["tas"][:]).max() <= 0.01 and np.array_equal(x["deep/er/count"], y["deep/er/count"])
        assert y["lat"].is_scale and y["tas"].dims[1][0] == y["lat"] and y["tas"].attrs["units"] == b"K" and y.attrs["title"] == b"made up"
    stretto.succeeds("compress", "x.nc", "--array", "lat", "--bound", "lat=abs:1", "-o", "lat.stretto")
    assert list(arrays_of(stretto.home / "lat.stretto")) == ["lat"]
    assert "has no array 'nothing'; it has" in stretto.refused("compress", "x.nc", "--array", "nothing", "--abs", "1", "-o", "n.stretto")
    assert "cannot be compressed: its dtype is object" in stretto.refused("compress", "x.nc", "--array", "text", "--abs", "1", "-o", "n.stretto")


def test_what_hdf5_has_no_place_for_is_named_and_the_rest_is_written(stretto):
    h5py = pytest.importorskip("h5py")
    attributes = {"mixed": [1, "two"], "long": np.zeros(10_000), "null": None, "deep": {"a": 1}, "units": "K"}
    with library.open(stretto.home / "x.stretto", "x") as file:
        file.attributes.update(attributes)
        file.add("t", field(3, 4), attributes=attributes)
    for name in ("x.h5", "x.nc"):
        done = stretto.run("decompress", "x.stretto", "-o", name)
        assert (done.returncode, done.stdout) == (0, f"{name}\n"), done.stderr
        assert "left out: attribute 'null' of the file, HDF5 has no null" in done.stderr
        for word in ("mixed", "long", "null", "deep"):
            assert f"left out: attribute '{word}' of 't', " in done.stderr
            assert (f"left out: attribute '{word}' of the file, " in done.stderr) is ((name, word) != ("x.nc", "long"))  # such files have room for it
        with h5py.File(stretto.home / name) as file:
            assert set(file.attrs) == {"units", *(["long"] if name == "x.nc" else [])} and set(file["t"].attrs) - {"DIMENSION_LABELS"} == {"units"} and file["t"].attrs["units"] == (b"K" if name == "x.nc" else "K") and np.array_equal(file["t"], field(3, 4))


def test_inspect_tells_what_is_there_and_checks_every_code(stretto):
    library.save(stretto.home / "x.stretto", {"x": field(40, 50), "n": np.arange(5)}, abs=0.1, attributes={"title": "t"})
    told = json.loads(stretto.succeeds("inspect", "x.stretto", "--json", "--check"))
    assert told["arrays"]["x"]["promised_error"] == 0.1 and told["arrays"]["n"]["eps"] == 0 and told["attributes"] == {"title": "t"}
    assert told["bytes"] == (stretto.home / "x.stretto").stat().st_size
    assert "every chunk is whole" in stretto.succeeds("inspect", "x.stretto", "--check")
    content = bytearray((stretto.home / "x.stretto").read_bytes())
    content[700] ^= 1
    (stretto.home / "x.stretto").write_bytes(content)
    stretto.succeeds("inspect", "x.stretto")
    assert "chunk 0 of 'x'" in stretto.refused("inspect", "x.stretto", "--check", status=1)
    (stretto.home / "s").write_bytes(bytes(library.compress(field(5), abs=1)))
    assert json.loads(stretto.succeeds("inspect", "s", "--json"))["kind"] == "stream"


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
@pytest.mark.parametrize("scale", (1, 200, 1e-6))
def test_the_largest_error_holds_after_rounding_to_the_type(stretto, dtype, scale):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
        np.zeros(1, dtype)
    x = (scale * np.sin(np.arange(5000) / 30)).astype(dtype)
    x[7] = np.inf
    with library.open(stretto.home / "x.stretto", "x") as file:
        file.add("x", x[:10], abs=scale * 4e-4).append(x[10:])
        file.add("s", library.compress(x, abs=scale * 4e-4))
    one = json.loads(stretto.succeeds("inspect", "x.stretto", "--json"))["arrays"]["x"]
    y = library.load(stretto.home / "x.stretto")["x"]
    there = np.isfinite(x.astype(float))
    real = np.abs(y.astype(float) - x.astype(float))[there].max()
    assert one["promised_error"] == scale * 4e-4 and real <= one["largest_error"] <= 1.01 * (one["promised_error"] + np.spacing(np.float32(scale)) * 2.0 ** (13 if dtype == "float16" else 16) + 2.0**-25)
    if scale == 200:
        assert real > one["promised_error"]
    library.save(stretto.home / "y.stretto", {"x": x})
    compared = json.loads(stretto.succeeds("compare", "y.stretto", "x.stretto", "--array", "x", "--json"))
    assert str(one["largest_error"]) in json.dumps(compared)
    shown = stretto.succeeds("inspect", "x.stretto")
    assert f"{one['largest_error']:.3g}" in shown and f"{scale * 4e-4:.3g}, rounded to {dtype}" in shown  # of a stream the values are not known


@pytest.mark.parametrize("x", (np.full(50, 7.5), np.full(50, np.nan), np.empty((0, 3)), np.float32(3), np.full(9, 3, np.float16)), ids=lambda x: f"{x.dtype}{x.shape}")
def test_an_array_without_a_range_has_no_error(stretto, x):
    np.save(stretto.home / "x.npy", x)
    said = stretto.succeeds("compress", "x.npy", "--rel", "1e-3")
    assert re.search(r" rel:0\.001 +0 ", said), said
    told = json.loads(stretto.succeeds("inspect", "x.stretto", "--json"))["arrays"]["x"]
    assert told["largest_error"] == 0 and np.array_equal(library.load(stretto.home / "x.stretto")["x"], x, equal_nan=True)


@pytest.mark.parametrize("name", ("q.xyz", "q", "q.csv", "q.stretto", "q.f32", "q.NPY"))
def test_an_ending_that_is_not_written_is_refused(stretto, name):
    library.save(stretto.home / "x.stretto", field(30, 4, dtype=np.float64), abs=1)
    said = stretto.refused("decompress", "x.stretto", "-o", name)
    assert "is the ending of float32, and 'data' is of float64; take .raw" in said if name == "q.f32" else f"{name} has no ending of a file that is written: .npy, " in said
    assert os.listdir(stretto.home) == ["x.stretto"]


@pytest.mark.parametrize("name", ("q.raw", "q.f64", "q.bin"))
def test_raw_values_are_told_with_what_reads_them_again(stretto, name):
    library.save(stretto.home / "x.stretto", field(30, 4, dtype=np.float64), abs=1)
    done = stretto.run("decompress", "x.stretto", "-o", name)
    assert done.returncode == 0 and "left out: shape, dtype and all else but the values, which --shape 30x4 --dtype float64 reads again" in done.stderr
    stretto.succeeds("compress", name, "--shape", "30x4", "--dtype", "float64", "--exact", "-o", "again.stretto")
    assert np.array_equal(*(next(iter(library.load(stretto.home / file).values())) for file in ("x.stretto", "again.stretto")))


def test_names_are_shown_as_they_are(stretto):
    name = "[/red]\x1b[31m"
    library.save(stretto.home / "[x].stretto", {name: field(40)}, abs=1)
    np.savez(stretto.home / "[y].npz", **{name: field(40)})
    for arguments in (("inspect", "[x].stretto"), ("compare", "[y].npz", "[x].stretto"), ("compress", "[y].npz", "--abs", "1")):
        assert "[/red]\\x1b[31m" in stretto.succeeds(*arguments)


def test_a_file_that_is_there_stays_unless_force_is_given(stretto):
    np.save(stretto.home / "x.npy", field(50))
    stretto.succeeds("compress", "x.npy", "--abs", "1")
    before = (stretto.home / "x.stretto").read_bytes()
    assert "x.stretto is there already; --force replaces it" in stretto.refused("compress", "x.npy", "--abs", "0.001")
    assert "x.npy is there already" in stretto.refused("decompress", "x.stretto")
    assert (stretto.home / "x.stretto").read_bytes() == before
    stretto.succeeds("compress", "x.npy", "--abs", "0.001", "--force")
    assert (stretto.home / "x.stretto").read_bytes() != before
    stretto.succeeds("decompress", "x.stretto", "-f")


@pytest.mark.parametrize("name", ("x.npy", "./x.npy", "symbolic.npy", "hard.npy"))
def test_the_input_is_never_replaced(stretto, name):
    np.save(stretto.home / "x.npy", field(50))
    os.symlink(stretto.home / "x.npy", stretto.home / "symbolic.npy")
    os.link(stretto.home / "x.npy", stretto.home / "hard.npy")
    before = (stretto.home / "x.npy").read_bytes()
    said = f"{name} is the input{' x.npy' if name != 'x.npy' else ''}, which is never replaced"
    assert said in stretto.refused("compress", "x.npy", "--abs", "1", "-o", name, "--force")
    assert (stretto.home / "x.npy").read_bytes() == before and (stretto.home / name).exists()


def test_decompressing_never_replaces_its_input(stretto):
    (stretto.home / "d.zarr").mkdir()
    (stretto.home / "d.zarr" / "zarr.json").write_text("{}")
    for name, target, said in (("x.npy", "x.npy", "x.npy is the input"), ("d.zarr/x.stretto", "d.zarr", "d.zarr holds d.zarr/x.stretto")):
        library.save(stretto.home / name, field(50))
        before = (stretto.home / name).read_bytes()
        assert f"{said}, which is never replaced" in stretto.refused("decompress", name, "-o", target, "--force")
        assert (stretto.home / name).read_bytes() == before


@pytest.mark.parametrize(("make", "arguments", "said", "status"), [
    (None, ("compress", "none.npy", "--abs", "1"), "none.npy: no such file or directory", 2),
    (None, ("compress", ".", "--abs", "1"), "is no regular file", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy"), "give --abs or --rel, or --exact", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy", "--abs", "nan"), "--abs is nan", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy", "--abs", "-1"), "--abs is -1", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy", "--abs", "1", "--exact"), "exclude each other", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy", "--bound", "x=most:1"), "--bound 'x=most:1' is none", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy", "--bound", "abs:1"), "a bound of all arrays is --abs 0.01 or --rel 1e-3", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy", "--abs", "1", "--bound", "y=abs:1"), "--bound names 'y'", 2),
    (lambda p: np.save(p / "x.npy", np.arange(9)), ("compress", "x.npy", "--bound", "x=abs:1"), "int64 is lossless", 2),
    (lambda p: np.save(p / "x.npy", np.array([{}]), allow_pickle=True), ("compress", "x.npy", "--abs", "1"), "holds object", 2),
    (lambda p: np.save(p / "x.npy", np.array(["a"])), ("compress", "x.npy", "--abs", "1"), "holds <U1", 2),
    (lambda p: (p / "x.npy").write_bytes(b"\x93NUMPY\x01\x00"), ("compress", "x.npy", "--abs", "1"), "x.npy cannot be read", 1),
    (lambda p: (p / "x.npy").write_bytes(b"nothing"), ("compress", "x.npy", "--abs", "1"), "does not begin as a file of .npy does", 1),
    (lambda p: (p / "x.npz").write_bytes(b"PK\x03\x04 and no zip"), ("compress", "x.npz", "--abs", "1"), "x.npz cannot be read", 1),
    (lambda p: (p / "x.nc").write_bytes(b"CDF\x01" + bytes(60)), ("compress", "x.nc", "--abs", "1"), "holds no array of numbers", 2),
    (lambda p: (p / "x.nc").write_bytes(b"CDF\x01" + bytes(60)), ("compress", "x.nc", "--abs", "1", "--dtype", "f4"), "of classic NetCDF and says its own", 2),
    (lambda p: (p / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(60)), ("compress", "x.h5", "--abs", "1"), "x.h5 cannot be read", 1),
    (lambda p: (p / "x.bin").write_bytes(bytes(12)), ("compress", "x.bin", "--abs", "1"), "takes --dtype, and --shape", 2),
    (lambda p: (p / "x.bin").write_bytes(bytes(12)), ("compress", "x.bin", "--abs", "1", "--shape", "3"), "takes --dtype, such as float32", 2),
    (lambda p: (p / "x.bin").write_bytes(bytes(12)), ("compress", "x.bin", "--abs", "1", "--dtype", "f8"), "12 bytes, no multiple of the 8", 2),
    (lambda p: (p / "x.bin").write_bytes(bytes(12)), ("compress", "x.bin", "--abs", "1", "--dtype", "f4", "--shape", "2x2"), "2x2 has 4 values, and x.bin has 3", 2),
    (lambda p: (p / "x.bin").write_bytes(bytes(12)), ("compress", "x.bin", "--abs", "1", "--dtype", "O"), "--dtype 'O' is none of", 2),
    (lambda p: (p / "x.bin").write_bytes(bytes(12)), ("compress", "x.bin", "--abs", "1", "--dtype", "f4", "--shape", "1x-3"), "is no shape", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy", "--abs", "1", "--dtype", "float32"), "x.npy is a .npy and says its own", 2),
    (lambda p: np.save(p / "x.npy", field(9)), ("compress", "x.npy", "--abs", "1", "--shape", "9"), "x.npy is a .npy and says its own", 2),
    (lambda p: library.save(p / "x", field(9)), ("compress", "x", "--abs", "1", "--dtype", "f4"), "x is a .stretto file and says its own", 2),
    (lambda p: library.save(p / "x.stretto", {"a": field(3), "b": field(3)}), ("decompress", "x.stretto", "-o", "y.npy"), "holds one array", 2),
    (lambda p: library.save(p / "x.stretto", field(3)), ("decompress", "x.stretto", "--array", "b"), "has no array 'b'; it has 'data'", 2),
    (lambda p: library.save(p / "x.stretto", field(3)), ("decompress", "x.stretto", "-o", "none/y.npy"), "none/y.npy: No such file or directory", 1),
    (lambda p: np.save(p / "x.npy", field(3)), ("decompress", "x.npy"), "x.npy is no .stretto file", 2),
    (lambda p: np.save(p / "x.npy", field(3)), ("inspect", "x.npy"), "no .stretto file and no stream", 2),
    (lambda p: (p / "x.stretto").write_bytes(b""), ("decompress", "x.stretto"), "x.stretto does not begin as", 1),
])
def test_what_is_wrong_is_named_and_leaves_no_file(stretto, make, arguments, said, status):
    if make:
        make(stretto.home)
    before = sorted(os.listdir(stretto.home))
    assert said in stretto.refused(*arguments, status=status)
    assert sorted(os.listdir(stretto.home)) == before


@pytest.mark.parametrize("name", ("x.npy", "x.npz", "x.stretto"))
def test_a_file_that_is_cut_is_refused(stretto, name):
    x = field(40)
    {"x.npy": lambda p: np.save(p, x), "x.npz": lambda p: np.savez(p, x=x), "x.stretto": lambda p: library.save(p, x)}[name](stretto.home / name)
    content = (stretto.home / name).read_bytes()
    for end in range(0, len(content), 7):
        (stretto.home / name).write_bytes(content[:end])
        done = stretto.run(*(("decompress", name) if name == "x.stretto" else ("compress", name, "--abs", "1")))
        assert done.returncode in (1, 2) and name in done.stderr
        assert os.listdir(stretto.home) == [name]


@pytest.mark.parametrize("how", ("cut", "written"))
def test_a_file_that_changes_while_it_is_read_is_refused(stretto, monkeypatch, small_pieces, how):
    np.save(stretto.home / "x.npy", field(5000))
    read, count = sources.Variable.read, []

    def reading(self, box=()):
        count.append(box)
        if len(count) == 4:
            with open(stretto.home / "x.npy", "r+b") as file:
                file.truncate(200) if how == "cut" else file.write(b"\x93NUMPY\x01\x00 ")
        return read(self, box)

    monkeypatch.setattr(sources.Variable, "read", reading)
    said = stretto.refused("compress", "x.npy", "--abs", "1", status=1)
    assert ("is truncated" if how == "cut" else "changed while it was read") in said
    assert os.listdir(stretto.home) == ["x.npy"]


def test_ctrl_c_leaves_no_file(stretto, monkeypatch, small_pieces):
    np.save(stretto.home / "x.npy", field(5000))
    library.save(stretto.home / "y.stretto", field(5000))
    read, count = sources.Variable.read, []

    def interrupted(self, box=()):
        count.append(box)
        if len(count) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return read(self, box)

    for arguments in (("compress", "x.npy", "--abs", "1"), ("decompress", "y.stretto"), ("decompress", "y.stretto", "-o", "y.npz")):
        count.clear()
        monkeypatch.setattr(sources.Variable, "read", interrupted)
        stretto.refused(*arguments, status=130)
        assert sorted(os.listdir(stretto.home)) == ["x.npy", "y.stretto"]


def test_a_full_disk_is_status_1_and_leaves_no_file(stretto, monkeypatch):
    np.save(stretto.home / "x.npy", field(5000))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert stretto.refused("compress", "x.npy", "--abs", "1", status=1) == "stretto: x.stretto: No space left on device\n"
    assert os.listdir(stretto.home) == ["x.npy"]


def test_memory_stays_small(stretto):
    """100 MB are compressed and decompressed in a process that may have little more memory than it starts with."""
    program = """
import resource, sys, numpy
from stretto import __main__
import stretto.storage.transfer
from stretto.storage import targets, container
sys.argv = sys.argv[1:]
import stretto; stretto.compress(numpy.zeros(1 << 20), abs=1).decompress()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), used + (64 << 20)))
__main__.main()
"""
    with open(stretto.home / "x.f32", "wb") as file:
        for _ in range(25):
            field(1 << 20).tofile(file)
    for arguments in (("compress", "x.f32", "--rel", "1e-3"), ("decompress", "x.stretto", "-o", "y.raw")):
        done = subprocess.run([sys.executable, "-c", program, "stretto", *arguments], cwd=stretto.home, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert (stretto.home / "y.raw").stat().st_size == (stretto.home / "x.f32").stat().st_size


def test_progress_is_shown_on_a_terminal_alone(monkeypatch):
    from rich.console import Console  # noqa: PLC0415

    monkeypatch.setenv("TERM", "xterm")  # a dumb one shows no progress
    for terminal in (False, True):
        console = Console(force_terminal=terminal, file=open(os.devnull, "w"), record=True)
        with transfer.progress(console, "working", 100) as tell:
            tell(50)
        assert ("working" in console.export_text()) is terminal


def test_an_output_beside_a_link_goes_where_the_link_points(tmp_path):
    (tmp_path / "there").mkdir()
    os.symlink(tmp_path / "there" / "x", tmp_path / "x")
    with output.new_file(tmp_path / "x", True) as made:
        os.write(made.descriptor, b"content")
    assert (tmp_path / "there" / "x").read_bytes() == b"content" and (tmp_path / "x").is_symlink()


def test_zip_members_are_read_in_any_order(tmp_path):
    np.savez(tmp_path / "x.npz", x=field(1000))
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        member = sources._Member(archive, "x.npy")
        for first, count in ((10, 5), (500, 20), (3, 900), (0, 1000)):
            assert np.array_equal(member.read(first, count), field(1000)[first:first + count])


@pytest.mark.skipif(not SHARED.is_dir(), reason="no real fields here")
@pytest.mark.parametrize("path", sorted(SHARED.glob("*.f[36]*")) if SHARED.is_dir() else [], ids=lambda path: path.stem)
def test_real_fields_keep_their_bound(stretto, path):
    stretto.succeeds("compress", path, "--rel", "1e-3", "-o", "x.stretto", "--threads", "2")
    x = np.fromfile(path, "<f8" if path.suffix == ".f64" else "<f4").reshape(sources.shape_of(path, 8 * path.stat().st_size // int(path.suffix[2:]), None))
    with library.open(stretto.home / "x.stretto") as file:
        (one,) = file.values()
        y, counted = one.read(), x[np.abs(x) < 1e15].astype(np.float64)
        assert one.shape == x.shape and one.eps <= 1.0001e-3 * (counted.max() - counted.min())
        there = np.isfinite(x)
        assert np.abs(y[there].astype(np.longdouble) - x[there]).max() <= one.eps and np.array_equal(np.isnan(x), np.isnan(y))
        assert one.ratio > 3


@pytest.mark.parametrize("given, said", ((("--rel", "2"), "--rel 2 allows errors of 2 times"), (("--abs", "1", "--bound", "x=rel:1"), "--bound x=rel:1 allows errors of 1 times")))
def test_a_relative_bound_of_the_whole_range_is_told_of(stretto, given, said):
    np.save(stretto.home / "x.npy", field(50))
    assert said in stretto.run("compress", "x.npy", *given).stderr
    assert "allows errors" not in stretto.run("compress", "x.npy", "--rel", "0.5", "--force").stderr


def test_what_files_of_numpy_do_not_keep_is_named(stretto):
    library.save(stretto.home / "x.stretto", {"a": field(50), "b": field(50)}, abs=1, attributes={"title": "t"})
    said = "left out: attributes and dimensions, which .nc, .h5 and .zarr keep"
    assert said in stretto.run("decompress", "x.stretto").stderr
    library.save(stretto.home / "y.stretto", field(50), abs=1)
    assert stretto.run("decompress", "y.stretto").stderr == ""


def test_an_unknown_ending_is_named_before_the_number_of_arrays(stretto):
    library.save(stretto.home / "x.stretto", {"a": field(50), "b": field(50)}, abs=1)
    assert "out.foo has no ending of a file that is written: .npy" in stretto.refused("decompress", "x.stretto", "-o", "out.foo")
    assert "out.f32 holds one array, and x.stretto has 2" in stretto.refused("decompress", "x.stretto", "-o", "out.f32")
