"""What the tests of the stacking program share: running it, reading its rows, making files of images."""

import array
import json
import os
import pathlib
import random
import subprocess

STACKING = os.environ["STACKING"]
MPIRUN = os.environ["MPIRUN"]
LAUNCH = os.environ["LAUNCH"]
MARMOUSI = pathlib.Path(os.environ["STRETTO_DATA_DIR"]) / "marmousi_rtm_12x286x941.f32"
SEA_SURFACE = pathlib.Path(os.environ["STRETTO_DATA_DIR"]) / "ostia_sst_54x18x432.f32"
SEA_SURFACE_SHAPE = "54,18,432"
MARMOUSI_SHAPE = "12,286,941"
LIMIT = 120  # seconds until a run is a hang
CODE_SPACE = ("homomorphic", "fused")


def run(ranks, *arguments):
    return subprocess.run([LAUNCH, MPIRUN, str(ranks), STACKING, *map(str, arguments)], capture_output=True, text=True,
                          timeout=LIMIT, check=False)


def rows_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def hashes(rows):
    """The different hashes of the rows that summed in code space."""
    return {row["hash"] for row in rows if row["case"].split()[1] in CODE_SPACE}


def write_images(path, count, height, width, kind="f", spoil=None):
    """Random walks, so that neighbours are near each other, as in images; spoil(values) may change them."""
    made = random.Random(7)
    values = array.array(kind)
    level = 0.0
    for _ in range(count * height * width):
        level += made.gauss(0.0, 0.1)
        values.append(level)
    if spoil:
        spoil(values)
    with open(path, "wb") as out:
        values.tofile(out)
    return values
