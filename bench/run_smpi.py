#!/usr/bin/env python3
"""Sets the model's predictions beside SimGrid's SMPI, as `make bench-smpi` does.

usage: run_smpi.py --json FILE [--ranks P...] [--bytes N...]

A small MPI program (bench/choose/smpi_collectives.c) runs ring and recursive doubling in SMPI's simulated time. The model gets the same network
as a profile: alpha and beta by range of sizes, fitted to SMPI's own ping-pong, as `stretto tune` would measure them on a real
network. Needs smpicc and smpirun (Debian: libsimgrid-dev); skips with that reason where they are missing.
Needs BUILD in the environment.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from stretto.machine.fit import segmented  # noqa: E402

from places import SKIPPED, skip  # noqa: E402

LARGEST = 64_000_000  # bytes of a message
GAMMA = 1e-10  # seconds per byte of a raw sum
CODEC = {"ratio": 8.0, "compress": 5e-11, "decompress": 5e-11, "fused": 8e-11}
LIMIT = 600  # seconds after which a simulation counts as hung

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="host" suffix="" radical="0-{last}" speed="1Gf" bw="12.5GBps" lat="1us" sharing_policy="SPLITDUPLEX"/>
</platform>
"""


class Smpi:
    """One host a rank, joined by a switch: 100 Gb/s each way."""

    def __init__(self, folder, ranks):
        self.folder = pathlib.Path(folder)
        self.program = self.folder / "collectives"
        self.platform = self.folder / "platform.xml"
        self.hosts = self.folder / "hosts"
        self.platform.write_text(PLATFORM.format(last=ranks - 1), encoding="utf-8")
        self.hosts.write_text("".join(f"host{i}\n" for i in range(ranks)), encoding="utf-8")
        subprocess.run(["smpicc", "-O2", ROOT / "bench" / "choose" / "smpi_collectives.c", "-o", self.program], check=True)

    def run(self, ranks, *arguments):
        """Lines of (name, bytes, seconds)."""
        argv = ["smpirun", "-np", ranks, "-platform", self.platform, "-hostfile", self.hosts,
                "--cfg=smpi/simulate-computation:no", "--log=root.thres:error", self.program, *arguments]
        done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0:
            sys.exit(f"smpirun with {ranks} ranks, {' '.join(map(str, arguments))}: status {done.returncode}\n{done.stderr}")
        lines = [line.split() for line in done.stdout.splitlines()]
        return [(name, float(size), float(seconds)) for name, size, seconds in lines]


def fit(smpi):
    """alpha + n beta by range of sizes: the fit of `stretto tune`, of half round trips of 12 sizes an octave."""
    sizes = sorted({round(n) for n in np.geomspace(64, LARGEST, 12 * 20)} | {0})
    points = smpi.run(2, "ping", *sizes)
    lines = segmented([p[1] for p in points], [p[2] for p in points], most=9)
    return [{"from": line.start, "alpha": line.alpha, "beta": line.beta} for line in lines]


def profile(spans):
    costs = {**CODEC, "call": 0.0, "add": CODEC["fused"]}
    return {"version": 1, "name": "smpi", "source": "ping-pong under SMPI", "cores": 1, "nics": 0, "full_duplex": True,
            "links": {"network": spans}, "gamma": GAMMA, "copy": 0, "step": 0, "agreement": 0,
            "codec": {"f32": [costs], "f64": [costs]}}


def predict(machine, schedule, payload, ranks, size):
    argv = [pathlib.Path(os.environ["BUILD"]) / "apps" / "model" / "stretto-model", "predict", "allreduce", "--schedule", schedule,
            "--payload", payload, "--ranks", ranks, "--per-node", 1, "--bytes", size, "--ratio", CODEC["ratio"],
            "--bound", "rel:1e-4", "--no-overlap", "--growth", "0", "--machine", machine, "--json"]
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["seconds"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", required=True, help="rows are appended here")
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--bytes", type=int, nargs="+", default=[64_000, 1_000_000, 16_000_000, 64_000_000])
    arguments = parser.parse_args()
    if not (shutil.which("smpicc") and shutil.which("smpirun")):
        skip("no smpicc and smpirun on the PATH (Debian and Ubuntu: apt-get install libsimgrid-dev)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder, open(arguments.json, "a", encoding="utf-8") as rows:
        smpi = Smpi(folder, max(arguments.ranks))
        machine = pathlib.Path(folder) / "smpi.json"
        machine.write_text(json.dumps(profile(fit(smpi))), encoding="utf-8")
        for ranks in arguments.ranks:
            for size in arguments.bytes:
                for schedule, name in (("ring", "ring"), ("recursive_doubling", "doubling")):
                    for payload in ("raw", "fused"):
                        raw = payload == "raw"
                        costs = (1, 0, 0, GAMMA) if raw else (CODEC["ratio"], CODEC["compress"], CODEC["decompress"], CODEC["fused"])
                        (_, _, simulated), = smpi.run(ranks, name, size, *costs)
                        predicted = predict(machine, schedule, payload, ranks, size)
                        rows.write(json.dumps({
                            "bench": "smpi", "case": f"{schedule} {payload} p={ranks} bytes={size}", "metric": "predicted_ms",
                            "value": predicted * 1e3, "unit": "ms", "peer": "SMPI", "peer_value": simulated * 1e3,
                            "ratio": simulated / predicted, "difference": abs(predicted - simulated) / simulated}) + "\n")
                        rows.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
