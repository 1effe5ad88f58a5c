"""Files at their edges: types that NumPy lacks, scalar text, formats that are not written, and datasets that the filter does not take."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

import stretto as package  # noqa: E402

try:
    from stretto.storage.hdf5 import Stretto, plugin_path
except (ImportError, package.UnsupportedError) as error:
    pytest.skip(str(error), allow_module_level=True)


def wave(dtype=np.float32):
    return (100 * np.sin(np.arange(6000) / 30)).reshape(60, 100).astype(dtype)


def with_a_time(path):
    """A file with types that NumPy lacks, big-endian and in a group, beside numbers and a scalar text."""
    with h5py.File(path, "w") as file:
        file.create_dataset("tas", data=wave())
        file.create_dataset("name", data="a text")
        file.create_dataset("fixed", data=np.bytes_(b"text"))
        group, space = file.create_group("deep"), h5py.h5s.create_simple((3,))
        for name, kind in (("time", h5py.h5t.UNIX_D32LE), ("big", h5py.h5t.UNIX_D32BE)):
            h5py.h5d.create(group.id, name.encode(), kind, space)
        group.create_dataset("pr", data=wave(">f8"))


def test_types_without_a_dtype_are_left_out_by_name(stretto):
    with_a_time(stretto.home / "x.h5")
    done = stretto.run("compress", "x.h5", "--abs", "1e-3")
    assert done.returncode == 0, done.stderr
    for name in ("deep/time", "deep/big", "name", "fixed"):
        assert f"left out: '{name}'" in done.stderr
    with package.open(stretto.home / "x.stretto") as file:
        assert set(file) == {"tas", "deep/pr"} and np.abs(file["deep/pr"][:] - wave(float)).max() <= 1e-3


def test_ratio_reads_the_variables_of_a_file(stretto):
    with_a_time(stretto.home / "x.nc")
    assert "60x100 float64" in stretto.succeeds("ratio", "x.nc", "--rel", "1e-3")
    np.savez(stretto.home / "x.npz", a=wave(), n=np.arange(9))
    assert "60x100 float32" in stretto.succeeds("ratio", "x.npz", "--rel", "1e-3")
    np.savez(stretto.home / "n.npz", n=np.arange(9))
    assert "holds no array of float32 or float64: n" in stretto.refused("ratio", "n.npz", "--rel", "1e-3")


@pytest.mark.parametrize("suffix", (".zip", ".cdf", ".stretto"))
def test_formats_that_are_not_written_are_refused(stretto, suffix):
    package.save(stretto.home / "x.stretto", wave(), abs=1)
    assert f"y{suffix} has no ending of a file that is written" in stretto.refused("decompress", "x.stretto", "-o", f"y{suffix}")
    assert not (stretto.home / f"y{suffix}").exists()


def test_one_import_makes_the_filter_known(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=wave(), chunks=(30, 50), **Stretto(abs=1e-2))
    reader = "import h5py, stretto.hdf5; print(h5py.h5z.filter_avail(stretto.hdf5.FILTER), h5py.File('x.h5')['x'].shape)"
    done = subprocess.run([sys.executable, "-c", reader], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.split(maxsplit=1) == ["True", f"{wave().shape}\n"]


@pytest.mark.skipif(not shutil.which("h5repack"), reason="h5repack (hdf5-tools) is not installed")
def test_h5repack_compresses_what_it_can_of_a_file(tmp_path):
    columns = np.zeros(500, [("a", "f4"), ("b", "i4")])
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=wave(), chunks=(30, 50))
        file.create_dataset("big", data=wave(">f4"), chunks=(30, 50))
        file.create_dataset("text", data=["ab", "cd"] * 300, chunks=(100,), dtype=h5py.string_dtype())
        file.create_dataset("fixed", data=np.array([b"ab"] * 300), chunks=(100,))
        file.create_dataset("columns", data=columns, chunks=(100,))
    words = Stretto(abs=1e-2).filter_options
    subprocess.run(["h5repack", "-f", f"UD=451,1,{len(words)},{','.join(map(str, words))}", "x.h5", "y.h5"], cwd=tmp_path, check=True,
                   env={**os.environ, "HDF5_PLUGIN_PATH": plugin_path()})
    with h5py.File(tmp_path / "y.h5") as file:
        assert Stretto.of(file["x"]) == ("abs", 1e-2) and np.abs(file["x"][:] - wave()).max() <= 1e-2
        assert Stretto.of(file["big"]) is None and np.array_equal(file["big"][:], wave(">f4"))
        assert file["text"].asstr()[1] == "cd" and file["fixed"][1] == b"ab" and np.array_equal(file["columns"][:], columns)
