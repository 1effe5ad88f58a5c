"""What a bound does to data, by the codec of this build."""

import json
import os
import pathlib
import sys

import numpy as np
import pytest

from stretto import api, ratio
from stretto.launch import programs
from stretto.pictures import plots


try:
    from stretto.api import core
except ImportError:  # a build without the extension
    core = None


@pytest.fixture
def answering(stretto):
    """A stretto-model of which every sum takes a tenth of the MPI's time, and the extension."""
    if core is None:
        pytest.skip("no extension")
    answer = {"candidates": [{"label": "ring fused", "native": False, "payload": "fused", "coding": "fixed", "seconds": 1e-3}], "mpi_seconds": 1e-2, "machine": "made up"}
    (stretto.home / "answer").write_text(json.dumps(answer), encoding="utf-8")
    stretto.executable("bin/stretto-model", f'echo "$*" >>"{stretto.home}/asked"\ncat "{stretto.home}/answer"\n')
    stretto.set("STRETTO_LIBEXEC", f"{stretto.home / 'bin'}{os.pathsep}{os.environ.get('STRETTO_LIBEXEC', '')}")
    return stretto


def field(*shape, dtype=np.float32):
    x = np.linspace(0, 20, int(np.prod(shape)))
    return (np.sin(x) + 0.1 * np.cos(7 * x)).astype(dtype).reshape(shape)


def test_errors_are_within_each_bound_and_ratios_fall_with_it(answering):
    np.save(answering.home / "x.npy", field(64, 64, 8))
    found = json.loads(answering.succeeds("ratio", "x.npy", "--rel", "1e-2,1e-4", "--abs", "0.5", "--json", "-n", "8", "--rate", "10"))
    assert [row["bound"] for row in found["bounds"]] == ["rel:1e-2", "rel:1e-4", "abs:0.5"]
    for row in found["bounds"]:
        assert row["rms"] <= row["largest"] <= row["eps"]
        assert row["ratio_in_sum"] > 1 and row["compress"] > 0 and row["decompress"] > 0
        assert row["psnr"] == pytest.approx(20 * np.log10(found["range"] / row["rms"]))
        assert row["here"]["mpi"] == 10 * row["here"]["seconds"]
    assert found["bounds"][0]["ratio"] > found["bounds"][1]["ratio"] > found["bounds"][1]["ratio_in_sum"]
    asked = (answering.home / "asked").read_text(encoding="utf-8").splitlines()
    assert len(asked) == 6 and "-n 8 --bytes 131072 --type f32 --bound rel:1e-2" in asked[0] and "--per-node 8" in asked[0] and "--rate 10" in asked[3]


def test_codings_stand_side_by_side(answering):
    x, y = np.mgrid[0:256, 0:256]
    np.save(answering.home / "x.npy", (np.sin(x * 0.05) * np.cos(y * 0.3) + np.sin(x * y * 0.001)).astype(np.float32))
    for coding in ratio.CODINGS:
        found = json.loads(answering.succeeds("ratio", "x.npy", "--rel", "1e-3", "--coding", coding, "--json"))["bounds"][0]
        assert found["ratios"]["fixed"] < found["ratios"]["dense"] < found["ratios"]["shaped"]
        assert found["ratio"] == found["ratios"][coding] and 0 < found["largest"] <= found["eps"]
    shown = answering.succeeds("ratio", "x.npy", "--rel", "1e-3")
    assert all(word in shown for word in ratio.CODINGS)
    assert "'thick'; it takes fixed, dense, shaped" in answering.refused("ratio", "x.npy", "--coding", "thick")


@pytest.mark.parametrize(("first", "shown", "ratio_of"), (
    ({"native": False, "payload": "fused", "coding": "dense"}, "dense, ", "dense_in_sum"), ({"native": False, "payload": "fused", "coding": "fixed"}, "fixed, ", "ratio_in_sum"),
    ({"native": False, "payload": "raw", "coding": ""}, "raw ", None), ({"native": True, "payload": "raw"}, "raw ", None)))
def test_predictions_name_the_coding_that_they_are_of(answering, first, shown, ratio_of):
    answer = {"candidates": [{"label": "made up", "seconds": 1e-3, **first}], "mpi_seconds": 1e-2, "machine": "made up"}
    (answering.home / "answer").write_text(json.dumps(answer), encoding="utf-8")
    np.save(answering.home / "x.npy", field(64, 64, 8))
    row = json.loads(answering.succeeds("ratio", "x.npy", "--rel", "1e-3", "--json"))["bounds"][0]
    for place in ("here", "between_hosts"):
        assert row[place]["ratio"] == (row[ratio_of] if ratio_of else 1)
    table = answering.succeeds("ratio", "x.npy", "--rel", "1e-3").partition("Predicted")[2]
    assert (f"{shown}{ratio.units.digits(row[ratio_of])}" if ratio_of else shown) in f"{table} "


@pytest.mark.parametrize(("coding", "dense"), ((None, True), ("fixed", False), ("dense", True), ("shaped", True)))
def test_fixed_streams_alone_are_predicted_where_they_are_asked_for(answering, coding, dense):
    np.save(answering.home / "x.npy", field(64, 64, 8))
    answering.succeeds("ratio", "x.npy", "--rel", "1e-3", *(["--coding", coding] if coding else []))
    asked = (answering.home / "asked").read_text(encoding="utf-8").splitlines()
    assert len(asked) == 2 and all(("--dense-ratio" in line) is dense for line in asked)


def test_raw_files_have_their_names_shape_and_skip_fill_values(answering):
    values = field(30, 40, dtype=np.float64)
    values[3, 4], values[5, 6] = 1e20, np.nan
    values.tofile(answering.home / "velocity_30x40.f64")
    shown = answering.succeeds("ratio", "velocity_30x40.f64", "--rel", "1e-3", "--plot", "p.png")
    assert "30x40 float64" in shown and f"range {np.nanmax(np.where(values < 1e15, values, np.nan)) - np.nanmin(values):.4g}" in shown
    assert "0.10" in shown and "4 hosts, 1 Gb/s" in shown
    assert (answering.home / "p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_rows_of_values_are_drawn_too(tmp_path):
    values = field(1000)
    row = ratio.Row("rel:1e-3", 1e-3, 9.0, {"fixed": 9.0, "dense": 14.0, "shaped": 15.0}, 8.0, 12.0, 9e-4, 5e-4, 70.0, 1e9, 1e9, values + np.float32(5e-4))
    plots.ratio("row", values, [row], [tmp_path / "p.svg"])
    assert "</svg>" in (tmp_path / "p.svg").read_text(encoding="utf-8")


def test_the_synthetic_field_is_the_same_each_time():
    assert np.array_equal(ratio.synthetic(), ratio.synthetic())


@pytest.mark.parametrize(("arguments", "said"), [
    ((), "a FILE or --synthetic"), (("x.npy", "--synthetic"), "a FILE or --synthetic"), (("x.npy", "--rel", "0"), "--rel '0' is no positive number"),
    (("x.npy", "--abs", "much"), "--abs 'much'"), (("none.f32",), "none.f32: no such file or directory"), (("odd.f32",), "5 bytes, no multiple of the 4 of f32"),
    (("flat.f32",), "all values are alike"), (("flat.f32", "--shape", "3x3"), "shape 3x3 has 9 values"), (("whole.npy",), "no array of float32 or float64: whole of int64"),
    (("notes.txt",), "a file of nothing but values takes --dtype"),
    (("none.npy",), "none.npy: no such file or directory"), (("x.npy", "--type", "f64"), "says its own shape and dtype"), (("void.npy",), "holds no value"),
    (("flat.f32", "--type", "f16"), "--type 'f16' is none of f32, f64"), (("flat.f32", "--shape", "3y3"), "--shape '3y3' is no shape"),
])
def test_what_cannot_be_measured_is_named(answering, arguments, said):
    np.save(answering.home / "x.npy", field(8, 8))
    np.save(answering.home / "whole.npy", np.arange(5))
    np.ones(8, np.float32).tofile(answering.home / "flat.f32")
    (answering.home / "odd.f32").write_bytes(b"12345")
    (answering.home / "notes.txt").write_text("hello 1 2 3\n", encoding="utf-8")
    np.save(answering.home / "void.npy", np.zeros((0, 3), np.float32))
    assert said in answering.refused("ratio", *arguments)


@pytest.mark.parametrize(("content", "said"), [
    (lambda whole: b"", "does not begin as a file of .npy does"), (lambda whole: b"hello", "does not begin as a file of .npy does"),
    (lambda whole: whole[:200], "is truncated: 72 bytes of values, 256 of shape (8, 8)"),
])
def test_a_damaged_file_is_named(answering, content, said):
    path = answering.home / "x.npy"
    np.save(path, field(8, 8))
    path.write_bytes(content(path.read_bytes()))
    assert f"x.npy {said}" in answering.refused("ratio", "x.npy", status=1)


def test_a_file_of_values_of_any_name_takes_a_type(answering):
    field(30, 40).tofile(answering.home / "x.bin")
    for option in (("--type", "f32"), ("--dtype", "float32")):
        assert "x.bin: 1200 float32" in answering.succeeds("ratio", "x.bin", "--rel", "1e-3", *option)


def test_arrays_of_the_other_byte_order_are_measured(answering):
    np.save(answering.home / "x.npy", field(30, 40).astype(">f4"))
    assert "x.npy: 30x40 float32" in answering.succeeds("ratio", "x.npy", "--rel", "1e-3")


def test_the_array_that_was_measured_is_named(answering):
    np.savez(answering.home / "x.npz", few=field(3, 4), many=field(30, 40))
    assert "x.npz, array 'many': 30x40 float32" in answering.succeeds("ratio", "x.npz", "--rel", "1e-3")


def test_an_array_that_is_named_is_measured(answering):
    np.savez(answering.home / "x.npz", few=field(3, 4), many=field(30, 40), numbers=np.arange(5))
    field(3, 4).tofile(answering.home / "x.f32")
    assert "x.npz, array 'few': 3x4 float32" in answering.succeeds("ratio", "x.npz", "--rel", "1e-3", "--array", "few")
    assert "x.npz has no array 'fem'; it has 'few', 'many', 'numbers'" in answering.refused("ratio", "x.npz", "-a", "fem")
    assert "'numbers' of x.npz is of int64; float32 and float64 have ratios here" in answering.refused("ratio", "x.npz", "-a", "numbers")
    assert "x.f32 is a file of nothing but values, and has no array 'few'" in answering.refused("ratio", "x.f32", "-a", "few")


def test_without_the_extension_it_says_how_to_have_it(stretto, monkeypatch):
    monkeypatch.setitem(sys.modules, "stretto._core", None)  # as where it was not built
    for name in ("arrays", "core"):
        monkeypatch.delitem(sys.modules, f"stretto.api.{name}", raising=False)
        monkeypatch.delattr(api, name, raising=False)
    monkeypatch.setattr(programs, "given", lambda: [])
    monkeypatch.setattr(programs, "builds", lambda flavour=None: [])
    assert "Build it (make build) with nanobind" in stretto.refused("ratio", "--synthetic", status=1)


def test_the_picture_of_the_page_is_what_is_drawn_now(answering):
    page = pathlib.Path(__file__).resolve().parents[3] / "docs" / "bounds.png"
    answering.succeeds("ratio", "--synthetic", "--plot", "p.png")
    drawn, kept = (plots.plt.imread(path) for path in (answering.home / "p.png", page))
    assert drawn.shape == kept.shape, "scripts/figures bounds draws it again"
    assert np.abs(drawn - kept).mean() < 0.01, "scripts/figures bounds draws it again"
