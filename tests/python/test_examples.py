"""The scripts of examples/ run, on what they compute themselves and on files."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def run(script, *arguments, ranks=None):
    """What a script prints. With `ranks` under the MPI of the build."""
    launch = [os.environ["LAUNCH"], os.environ["MPIRUN"], str(ranks)] if ranks else []
    done = subprocess.run([*launch, sys.executable, EXAMPLES / script, *map(str, arguments)], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


needs_mpi = pytest.mark.skipif("MPIRUN" not in os.environ or importlib.util.find_spec("mpi4py") is None, reason="no MPI in this build, or no mpi4py")


def test_every_example_is_run_here():
    assert {file.name for file in EXAMPLES.glob("*.py")} == {"climate_field.py", "order_independent_sum.py", "seismic_stack.py"}


def test_climate_field_averages_within_the_bound():
    said = run("climate_field.py")
    assert "12 fields of (181, 360): 3.1 MB in 0.50 MB" in said and "where 0.01 is promised" in said


def test_climate_field_reads_a_file_with_missing_and_scaled_data(tmp_path):
    h5py = pytest.importorskip("h5py")
    packed = np.arange(3 * 9 * 10, dtype=np.int16).reshape(3, 9, 10)
    packed[:, 0, :5] = -999
    with h5py.File(tmp_path / "field.nc", "w") as file:
        variable = file.create_dataset("sst", data=packed)
        variable.attrs.update(scale_factor=np.float32(0.01), add_offset=np.float32(280), _FillValue=np.int16(-999))
    said = run("climate_field.py", tmp_path / "field.nc", "sst")
    assert "3 fields of (9, 10)" in said and "its warmest value is 280.39 K" in said  # the largest of rows 3 to 4 of the first


def test_order_independent_sum_has_one_result(tmp_path):
    assert "allreduce on 1, 2, 3 and 5 ranks: 1 result" in run("order_independent_sum.py")
    np.save(tmp_path / "parts.npy", np.random.default_rng(3).standard_normal((7, 1000)).astype(np.float32))
    assert "sums of streams in the same orders: 1 result, within 0.007" in run("order_independent_sum.py", tmp_path / "parts.npy")


@needs_mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_seismic_stack_is_within_its_bound(ranks):
    assert f"12 images of (200, 600) on {ranks} ranks" in run("seismic_stack.py", ranks=ranks)


@needs_mpi
def test_seismic_stack_reads_fewer_images_than_there_are_ranks(tmp_path):
    np.save(tmp_path / "images.npy", np.random.default_rng(3).standard_normal((2, 30, 40)).astype(np.float32))
    assert "2 images of (30, 40) on 3 ranks" in run("seismic_stack.py", tmp_path / "images.npy", ranks=3)
