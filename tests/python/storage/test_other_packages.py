"""The snippets of docs/python.md, Other packages: each runs, its errors stay within the bound, and masks are kept."""

import pathlib
import re
import subprocess

import numpy as np
import pytest

pytest.importorskip("h5py")
pytest.importorskip("zarr", minversion="3.1")

import stretto  # noqa: E402

PAGE = (pathlib.Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8").partition("\n## Other packages\n")[2]
SECTIONS = {title: re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL) for title, text in re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", PAGE, re.M | re.S)}
DATA = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL).group(1)


def run(title, monkeypatch, tmp_path):
    """Names after the data's snippet and that of a section."""
    code = SECTIONS[title].group(1)
    for package in ("h5netcdf", "xarray", "dask.array", "netCDF4"):
        if package in code:
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {}
    try:
        exec(compile(DATA + code, f"docs/python.md, {title}", "exec"), names)
    except stretto.UnsupportedError as error:
        pytest.skip(str(error))
    return names


def test_every_section_has_a_snippet():
    assert all(SECTIONS.values()) and set(SECTIONS) == {"h5netcdf", "xarray and NetCDF-4", "xarray and Zarr", "netCDF4", "dask"}


def filters(path):
    import h5py  # noqa: PLC0415

    from stretto.storage.hdf5 import Stretto  # noqa: PLC0415

    with h5py.File(path) as file:
        return {name: Stretto.of(one) for name, one in file.items() if isinstance(one, h5py.Dataset) and len(one.shape) == 2}


def test_h5netcdf_writes_and_reads_streams(monkeypatch, tmp_path):
    names = run("h5netcdf", monkeypatch, tmp_path)
    assert filters("wind.nc") == {"wind": ("abs", 1e-3)}
    assert np.abs(names["y"] - names["x"]).max() <= 1e-3 and np.array_equal(names["y"] == -999, names["x"] == -999)


@pytest.mark.parametrize("title", ("xarray and NetCDF-4", "xarray and Zarr"))
def test_xarray_writes_and_reads_streams(title, monkeypatch, tmp_path):
    names = run(title, monkeypatch, tmp_path)
    with names["found"] if title.endswith("Zarr") else names["xarray"].open_dataset("winds.nc", engine="h5netcdf") as found:
        wind = found["wind"].values
        assert np.array_equal(np.isnan(wind), names["x"] == -999) and np.nanmax(np.abs(wind - np.where(names["x"] == -999, np.nan, names["x"]))) <= 1e-3
        assert np.array_equal(found["x"], np.arange(1000.0))
    if title.endswith("Zarr"):
        import zarr  # noqa: PLC0415

        assert zarr.open("winds.zarr")["wind"].metadata.codecs == (names["codec"],)
    else:
        assert filters("winds.nc") == {"wind": ("abs", 1e-3)}


def test_netcdf4_reads_by_the_plugin_path(monkeypatch, tmp_path):
    run("h5netcdf", monkeypatch, tmp_path)
    done = []
    real = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *given, **told: done.append(real(*given, **told, capture_output=True, text=True)) or done[0])
    names = run("netCDF4", monkeypatch, tmp_path)
    assert abs(float(done[0].stdout) - names["x"][3, 4]) <= 1e-3


def test_dask_reads_and_writes_streams(monkeypatch, tmp_path):
    names = run("dask", monkeypatch, tmp_path)
    assert np.abs(names["target"][...] - names["x"]).max() <= 1e-3
    assert np.array_equal(names["target"][...] == -999, names["x"] == -999)
    assert names["target"].nbytes_stored() < names["x"].nbytes / 2
