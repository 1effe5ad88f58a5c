#!/usr/bin/env python3
"""Runs the small programs of `stretto bench` (docs/command.md) in short forms, each beside its model, and prints their rows.

usage: run_small.py --json FILE [--ranks N]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from places import ROOT, launch

# Arguments of the command, and the keys of its rows.
PROGRAMS = {
    "ring": (["--bytes", "1M"], ("variant",)),
    "matrix": (["--points", "160,160,160"], ("dimensions",)),
    "jacobi": (["--side", "200", "--sweeps", "50", "--halo", "blocking,overlapped"], ("halo", "type")),
    "cg": (["--side", "512"], ("form",)),
    "amr": (["--steps", "50"], ("phase",)),
}
LIMIT = 300  # seconds after which a run counts as hung


def measured(program, arguments, ranks):
    """The command's JSON on so many ranks, launched as all benchmarks are."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "STRETTO_LIBEXEC": str(pathlib.Path(os.environ["BUILD"]) / "apps" / "programs")
                   + os.pathsep + str(pathlib.Path(os.environ["BUILD"]) / "apps" / "model")}
    command = [sys.executable, "-m", "stretto", "bench", program, "--mpirun", " ".join(launch(ranks)), *arguments, "--json"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        sys.exit(f"stretto bench {program} ended with {done.returncode}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    if options.ranks < 2:
        parser.error(f"--ranks {options.ranks} must be 2 or more")
    with open(options.json, "a", encoding="utf-8") as writer:
        for program, (arguments, names) in PROGRAMS.items():
            for row in measured(program, arguments, options.ranks)["rows"]:
                case = " ".join([program, *(str(row[name]) for name in names)])
                line = {"bench": "small", "case": case, "metric": f"{row['ranks']} ranks", "value": row["seconds"], "unit": "s", "peer": "model",
                        "peer_value": row["model"], "ratio": row["model"] / row["seconds"]}
                if program == "jacobi":
                    line["of_triad"] = row["of_triad"]
                writer.write(json.dumps(line) + "\n")
                writer.flush()


if __name__ == "__main__":
    main()
