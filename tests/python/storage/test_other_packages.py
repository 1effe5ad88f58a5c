"""The scripts of examples/packages: each runs, its errors stay within the bound, and masks are kept."""

import pathlib
import re
import subprocess

import numpy as np
import pytest

pytest.importorskip("h5py")
pytest.importorskip("zarr", minversion="3.1")

import stretto  # noqa: E402

PACKAGES = pathlib.Path(__file__).parents[3] / "examples" / "packages"


def run(script, monkeypatch, tmp_path):
    """Names after a script."""
    code = (PACKAGES / f"{script}.py").read_text(encoding="utf-8")
    for package in ("h5netcdf", "xarray", "dask.array", "netCDF4"):
        if f"import {package}" in code:
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {}
    try:
        exec(compile(code, script, "exec"), names)
    except stretto.UnsupportedError as error:
        pytest.skip(str(error))
    return names


def test_each_script_of_the_page_is_there_and_run_here():
    page = (PACKAGES.parents[1] / "docs" / "python.md").read_text(encoding="utf-8").partition("\n## Other packages\n")[2]
    assert set(re.findall(r"`(\w+)\.py`", page)) == {path.stem for path in PACKAGES.glob("*.py")} == {
        "h5netcdf_file", "xarray_netcdf", "xarray_zarr", "netcdf4_reads", "dask_arrays"}


def filters(path):
    import h5py  # noqa: PLC0415

    from stretto.storage.hdf5 import Stretto  # noqa: PLC0415

    with h5py.File(path) as file:
        return {name: Stretto.of(one) for name, one in file.items() if isinstance(one, h5py.Dataset) and len(one.shape) == 2}


def test_h5netcdf_writes_and_reads_streams(monkeypatch, tmp_path):
    names = run("h5netcdf_file", monkeypatch, tmp_path)
    assert filters("wind.nc") == {"wind": ("abs", 1e-3)}
    assert np.abs(names["y"] - names["x"]).max() <= 1e-3 and np.array_equal(names["y"] == -999, names["x"] == -999)


@pytest.mark.parametrize("script", ("xarray_netcdf", "xarray_zarr"))
def test_xarray_writes_and_reads_streams(script, monkeypatch, tmp_path):
    names = run(script, monkeypatch, tmp_path)
    with names["found"] if script == "xarray_zarr" else names["xarray"].open_dataset("winds.nc", engine="h5netcdf") as found:
        wind = found["wind"].values
        assert np.array_equal(np.isnan(wind), names["x"] == -999) and np.nanmax(np.abs(wind - np.where(names["x"] == -999, np.nan, names["x"]))) <= 1e-3
        assert np.array_equal(found["x"], np.arange(1000.0))
    if script == "xarray_zarr":
        import zarr  # noqa: PLC0415

        assert zarr.open("winds.zarr")["wind"].metadata.codecs == (names["codec"],)
    else:
        assert filters("winds.nc") == {"wind": ("abs", 1e-3)}


def test_netcdf4_reads_by_the_plugin_path(monkeypatch, tmp_path):
    x = run("h5netcdf_file", monkeypatch, tmp_path)["x"]
    done = []
    real = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *given, **told: done.append(real(*given, **told, capture_output=True, text=True)) or done[0])
    run("netcdf4_reads", monkeypatch, tmp_path)
    assert abs(float(done[0].stdout) - x[3, 4]) <= 1e-3


def test_dask_reads_and_writes_streams(monkeypatch, tmp_path):
    names = run("dask_arrays", monkeypatch, tmp_path)
    assert np.abs(names["target"][...] - names["x"]).max() <= 1e-3
    assert np.array_equal(names["target"][...] == -999, names["x"] == -999)
    assert names["target"].nbytes_stored() < names["x"].nbytes / 2
