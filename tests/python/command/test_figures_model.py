"""The pictures of docs/model are what scripts/figures model draws now."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from stretto.launch import programs
from stretto.pictures import plots

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ["overlap", "fixed_and_dense", "cost_against_ranks", "best_way"])
def test_the_picture_of_the_page_is_what_is_drawn_now(name, tmp_path):
    command = [sys.executable, ROOT / "scripts" / "figures_model.py", programs.program("stretto-model"), tmp_path, name]
    done = subprocess.run(list(map(str, command)), env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    drawn, kept = (plots.plt.imread(directory / f"model_{name}.png") for directory in (tmp_path, ROOT / "docs" / "model"))
    assert drawn.shape == kept.shape, "scripts/figures model draws it again"
    assert np.abs(drawn - kept).mean() < 0.01, "scripts/figures model draws it again"
