"""`stretto compare`: figures that can be computed by hand, in pieces as in one; pictures and pages; what cannot be compared is named."""

import json
import math
import re
import types

import numpy as np
import pytest

import stretto as library

try:
    library.compress(np.zeros(1), abs=1)
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

from stretto.storage import compare, sources  # noqa: E402


def field(*shape, dtype=np.float32):
    return (100 * np.sin(np.arange(int(np.prod(shape))) / 30)).reshape(shape).astype(dtype)


def figures(stretto, x, y, *options):
    np.save(stretto.home / "x.npy", x)
    np.save(stretto.home / "y.npy", y)
    return json.loads(stretto.succeeds("compare", "x.npy", "y.npy", "--json", *options))[0]


@pytest.mark.parametrize("piece", (300, 4 << 20))
def test_figures_are_those_of_the_definitions(stretto, monkeypatch, piece):
    monkeypatch.setattr(sources, "PIECE", piece)
    x = field(9, 20, 10, dtype=np.float64)
    error = np.random.default_rng(3).uniform(-1, 1, x.shape)
    error[4, 3, 2] = 5
    found = figures(stretto, x, x + error)
    flat = error.ravel() - error.mean()
    assert (found["largest"], found["where"]) == (pytest.approx(5), [4, 3, 2]) and found["original"] == x[4, 3, 2]
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(error**2))) and found["mean"] == pytest.approx(error.mean())
    assert found["span"] == np.ptp(x) and found["psnr"] == pytest.approx(20 * math.log10(np.ptp(x) / found["rmse"]))
    assert found["autocorrelation"] == pytest.approx([flat[:-lag] @ flat[lag:] / (flat @ flat) for lag in range(1, 11)])
    assert sum(found["histogram"]["counts"]) == x.size and found["compared"] == x.size and found["differing"] == 0


def ssim_of(x, y, span):
    """By its definition, window by window."""
    found = []
    for a, b in zip(x.reshape(-1, *x.shape[-2:]), y.reshape(-1, *x.shape[-2:])):
        for i in range(a.shape[0] - 6):
            for j in range(a.shape[1] - 6):
                p, q = a[i:i + 7, j:j + 7], b[i:i + 7, j:j + 7]
                c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
                both = np.mean((p - p.mean()) * (q - q.mean()))
                found.append((2 * p.mean() * q.mean() + c1) * (2 * both + c2) / ((p.mean() ** 2 + q.mean() ** 2 + c1) * (p.var() + q.var() + c2)))
    return np.mean(found)


def test_ssim_is_that_of_its_definition(stretto, monkeypatch):
    x = 1000 + field(3, 12, 15, dtype=np.float64)
    y = x + np.random.default_rng(4).normal(0, 20, x.shape)
    assert figures(stretto, x, y)["ssim"] == pytest.approx(ssim_of(x, y, np.ptp(x)))
    monkeypatch.setattr(sources, "PIECE", 12 * 15 * 8)  # an image each
    assert figures(stretto, x, y, "--force")["ssim"] == pytest.approx(ssim_of(x, y, np.ptp(x)))
    assert figures(stretto, x[0, 0], y[0, 0], "--force")["ssim"] is None


def test_fill_values_and_nan_are_no_data(stretto):
    x = field(20, 30, dtype=np.float64)
    x[3:6], x[8, 8] = np.nan, 1e20
    y = x + 0.5
    y[10, 10] = np.nan
    found = figures(stretto, x, y)
    assert (found["compared"], found["differing"]) == (600 - 90 - 1 - 1, 1) and found["rmse"] == pytest.approx(0.5) and found["span"] == pytest.approx(200, rel=0.01)
    assert found["autocorrelation"] == [] or all(map(math.isfinite, found["autocorrelation"]))


@pytest.mark.parametrize("dtype, mark", (("float32", -99.9), ("float64", -999.0), ("complex64", -99.9)))
def test_marks_of_missing_data_are_no_data(stretto, dtype, mark):
    x = field(20, 30).astype(dtype)
    missing = np.arange(600).reshape(20, 30) % 5 == 0
    np.save(stretto.home / "x.npy", np.where(missing, np.array(mark).astype(dtype), x))
    stretto.succeeds("compress", "x.npy", "--mark", mark, "--abs", 0.5)
    found, = json.loads(stretto.succeeds("compare", "x.npy", "x.stretto", "--json"))
    parts = [x[~missing].real, x[~missing].imag] if dtype == "complex64" else [x[~missing]]
    low, high = min(part.min() for part in parts), max(part.max() for part in parts)
    assert found["span"] == pytest.approx(float(high) - float(low)) and found["differing"] == 0
    # The imaginary part of a mark is 0 here.
    assert found["compared"] == 480 + 600 * (dtype == "complex64")
    with library.open(stretto.home / "x.stretto") as file:
        other = file["x"][:].copy()
    other[0, 5] += 7  # is missing in x
    np.save(stretto.home / "y.npy", other)
    assert json.loads(stretto.succeeds("compare", "x.stretto", "y.npy", "--json"))[0]["where"] == [0, 5]  # a mark that is lost is an error


def test_a_mark_that_no_integer_equals_leaves_integers_data():
    x = np.array([-99, -999, 5], np.int16)
    one, other = (types.SimpleNamespace(dtype=x.dtype, marks=marks) for marks in ([-99.9, 1e10], [-999.0]))
    assert compare._is_data(one, other, x.astype(np.float64)).tolist() == [True, False, True]


def test_equal_arrays_have_no_error(stretto):
    found = figures(stretto, field(20, 30), field(20, 30))
    assert (found["largest"], found["where"], found["psnr"], found["autocorrelation"]) == (0, None, None, []) and found["ssim"] == pytest.approx(1)
    assert "equal" in stretto.succeeds("compare", "x.npy", "y.npy")


@pytest.mark.parametrize("dtype", ("complex64", "int16", "float16", "bool"))
def test_other_dtypes_are_compared(stretto, dtype):
    x = field(20, 30).astype(dtype)
    y = x.copy()
    y[7, 5] = not y[7, 5] if dtype == "bool" else y[7, 5] + 2
    found = figures(stretto, x, y)
    assert found["where"] == [7, 5] and found["largest"] == pytest.approx(1 if dtype == "bool" else 2, abs=0.1)


def test_a_container_has_its_ratio_and_its_bound(stretto):
    x = {"a": field(40, 50), "b": field(70)}
    np.savez(stretto.home / "x.npz", **x)
    stretto.succeeds("compress", "x.npz", "--abs", "0.01")
    a, b = json.loads(stretto.succeeds("compare", "x.npz", "x.stretto", "--json"))
    assert a["promised"] == b["promised"] == 0.01 and 0 < a["largest"] <= 0.01 and a["ratio"] > 1
    shown = stretto.succeeds("compare", "x.npz", "x.stretto", "--array", "b")
    assert "of the promised 0.01" in shown and "70 float32" in shown and "40x50" not in shown


def test_raw_values_and_a_stream_are_compared(stretto):
    x = field(6, 50)
    x.tofile(stretto.home / "x_6x50.f32")
    (stretto.home / "s").write_bytes(bytes(library.compress(x, abs=0.5)))
    assert json.loads(stretto.succeeds("compare", "x_6x50.f32", "s", "--json"))[0]["largest"] <= 0.5
    x.tofile(stretto.home / "x.bin")
    assert json.loads(stretto.succeeds("compare", "x.bin", "s", "--shape", "6x50", "--dtype", "f4", "--json"))[0]["shape"] == [6, 50]
    np.save(stretto.home / "x.npy", x)
    assert json.loads(stretto.succeeds("compare", "x.npy", "x.bin", "--shape", "6x50", "--dtype", "f4", "--json"))[0]["largest"] == 0
    assert "x.npy and s say their own shapes" in stretto.refused("compare", "x.npy", "s", "--dtype", "f4")


@pytest.mark.parametrize("shape", ((900,), (3, 2, 30, 40), ()))
def test_pages_with_pictures_are_whole_in_themselves(stretto, shape):
    x = field(*shape, dtype=np.float64) + 1 / 3
    if x.size > 100:
        x.flat[5:9] = np.nan
    np.savez(stretto.home / "x.npz", **{"<x>": x, "z": x.astype(complex)})
    stretto.succeeds("compress", "x.npz", "--abs", "0.01")
    stretto.succeeds("compare", "x.npz", "x.stretto", "--html", "p.html")
    page = (stretto.home / "p.html").read_text(encoding="utf-8")
    assert "&lt;x&gt;" in page and "<x>" not in page and page.count("<img ") == 1 and page.rstrip().endswith("</html>")
    assert "<h1>x.npz and x.stretto</h1>" in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


def test_pictures_have_the_format_of_their_names_and_are_kept(stretto):
    for name, by in (("x.npy", 0), ("y.npy", 0.5)):
        np.save(stretto.home / name, field(30, 40) + by)
    compared = ("compare", "x.npy", "y.npy", "--plot", "p.png", "--plot", "p.svg")
    stretto.succeeds(*compared)
    assert (stretto.home / "p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and "</svg>" in (stretto.home / "p.svg").read_text(encoding="utf-8")
    assert "p.png is there already" in stretto.refused(*compared)
    stretto.succeeds(*compared, "--force")


@pytest.mark.parametrize(("x", "y", "said"), [
    ({"a": field(5)}, {"a": field(6)}, "has shape (5,) in x.npz and (6,) in y.npz"),
    ({"a": field(5), "c": field(5)}, {"b": field(5)}, "no array of one name: 'a', 'c'; 'b'"),
    ({"a": field(5)}, {"a": field(5).astype(complex)}, "has dtype float32 in x.npz and complex128 in y.npz"),
    ({"a": np.array(["t"])}, {"a": field(5)}, "have no array of one name"),
])
def test_what_cannot_be_compared_is_named(stretto, x, y, said):
    np.savez(stretto.home / "x.npz", **x)
    np.savez(stretto.home / "y.npz", **y)
    assert said in stretto.refused("compare", "x.npz", "y.npz")


def test_a_picture_of_complex_numbers_or_of_none_is_refused(stretto):
    np.save(stretto.home / "x.npy", field(5).astype(complex))
    np.save(stretto.home / "none.npy", field(5, 0))
    for name in ("x.npy", "none.npy"):
        stretto.succeeds("compare", name, name, "--html", "p.html", "--force")
        assert "<img" not in (stretto.home / "p.html").read_text(encoding="utf-8")
        assert "pictures are of real numbers" in stretto.refused("compare", name, name, "--plot", "p.png")
    assert "a figure's file ends in" in stretto.refused("compare", "x.npy", "x.npy", "--plot", "p.gif")


def test_windows_are_means(stretto):
    x = np.random.default_rng(1).random((2, 9, 11))
    assert compare._windows(x)[1, 2, 4] == pytest.approx(x[1, 2:9, 4:11].mean()) and compare._windows(x).shape == (2, 3, 5)


def test_integers_of_64_bits_are_compared_by_every_bit(stretto):
    x = np.array([2**62, -(2**63), 5])
    found = figures(stretto, x, x + np.array([0, 1, 0]))
    assert (found["largest"], found["where"]) == (1, [1])


def test_errors_beyond_all_numbers_are_told(stretto):
    x, y = np.zeros((9, 9)), np.zeros((9, 9))
    x[1, 1], y[1, 1], y[2, 2], x[3, 3] = -1.7e308, 1.7e308, 1e200, 1
    found = figures(stretto, x, y, "--plot", "p.png", "--html", "p.html")
    assert (found["largest"], found["where"], found["rmse"], found["psnr"], found["histogram"]) == (None, [1, 1], None, None, None)
    assert "inf" in stretto.succeeds("compare", "x.npy", "y.npy")
