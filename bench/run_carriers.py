#!/usr/bin/env python3
"""Runs bench_carriers, the same for each other MPI of the build, and gloo in a venv of its own (build/bench/torch), on one host and on several
hosts of this machine.

usage: run_carriers.py --json FILE [--place HOSTSxRANKSxGBPS[xFLOW]]... [--turns N] [--collectives A,B] [--sizes BYTES,...] [--seconds S]
                       [--connections N,...] [--no-gloo]
--place 1x2x0: two ranks of this host; 4x1x1: four hosts of a rank each at 1 Gb/s; 4x1x1x0.25: where a TCP connection has 0.25 Gb/s at most.
--connections 1,4: over UCX with so many between two ranks, for long messages, each a contestant. The programs run in turns; a row has the
median of the turns. Its peer is the MPI of the same program, whose calls take turns with ours; gloo's rows are beside the first MPI's. Needs
BUILD, MPIRUN and MPI_FLAVOUR in the environment.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from places import ROOT, SKIPPED, NotPermitted, place, programs, skip

PLACES = ("1x2x0", "1x4x0", "2x1x1", "2x1x5", "4x1x1")
SIZES = "8,64,1024,65536,1048576,16777216,67108864"
LIMIT = 1800  # seconds after which a run counts as hung
TORCH = "torch==2.13.0"


def gloo_python():
    """The interpreter of the venv with torch, made where it is not there; None where it cannot be."""
    venv = ROOT / "build" / "bench" / "torch"
    python = venv / "bin" / "python"
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0 if python.exists() else False:
        return python
    print(f"{TORCH} in {venv}", flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", venv], check=False).returncode == 0
    if made and subprocess.run([python, "-m", "pip", "install", "-q", TORCH, "numpy"], check=False).returncode == 0:
        return python
    skip(f"gloo: {TORCH} cannot be installed")
    return None


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def measure(name, options, python, directory):
    """The rows of a place: [(row, gloo's microseconds or None)]."""
    hosts, slots, gbps, *flow = (float(n) if "." in n else int(n) for n in name.split("x"))
    where = "1 host" if hosts == 1 else f"{hosts} hosts at {gbps} Gb/s" + (f" and {flow[0]} a connection" if flow else "")
    asked = ["--place", where, "--sizes", options.sizes, "--collectives", options.collectives, "--seconds", options.seconds]
    if options.connections:
        asked += ["--connections", options.connections]
    ours, gloo = {}, {}
    with place(hosts, gbps, slots, *flow) as command:
        for turn in range(options.turns):
            for program, mpi in programs("bench_carriers"):
                file, store = directory / f"{name}.{turn}.{program.name}", directory / f"store-{name}-{turn}-{program.name}"
                subprocess.run(command(["env", f"STRETTO_STORE=file://{store}", program, "--json", file, *asked], mpi), timeout=LIMIT, check=True)
                for row in rows_of(file):
                    ours.setdefault((program.name, row["case"]), []).append(row)
            if python:
                store = directory / f"store-{name}-{turn}.gloo"
                argv = [python, ROOT / "bench" / "torch" / "gloo.py", store, where, options.collectives, options.sizes, options.seconds]
                done = subprocess.run(command(argv), timeout=LIMIT, check=True, capture_output=True, text=True)
                for line in done.stdout.splitlines():
                    if line.startswith("{"):
                        row = json.loads(line)
                        gloo.setdefault(("bench_carriers", row["case"]), []).append(row["us"])
    for (program, case), rows in ours.items():
        row = {**rows[0], "value": statistics.median(r["value"] for r in rows), "peer_value": statistics.median(r["peer_value"] for r in rows)}
        row["ratio"] = row["peer_value"] / row["value"]
        times = gloo.get((program, case.rpartition(", stretto")[0]))
        yield row, statistics.median(times) if times else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True)
    parser.add_argument("--place", action="append")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--collectives", default="allreduce,reduce_scatter,allgather,broadcast")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--seconds", default="0.6")
    parser.add_argument("--connections")
    parser.add_argument("--no-gloo", action="store_true")
    options = parser.parse_args()
    python = None if options.no_gloo else gloo_python()
    measured = 0
    with tempfile.TemporaryDirectory() as directory, open(options.json, "a", encoding="utf-8") as out:
        for name in options.place or PLACES:
            try:
                for row, gloo in measure(name, options, python, pathlib.Path(directory)):
                    out.write(json.dumps(row) + "\n")
                    if gloo is not None and "UCX" in row["case"]:
                        out.write(json.dumps({**row, "peer": "gloo", "peer_value": gloo, "ratio": gloo / row["value"]}) + "\n")
                measured += 1
            except NotPermitted as reason:
                skip(reason)
    sys.exit(0 if measured else SKIPPED)


if __name__ == "__main__":
    main()
