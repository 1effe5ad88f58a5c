#!/usr/bin/env python3
"""The figures of docs/model.md, from stretto-model: cost against ranks for each system, and the best way over (ranks, bytes).

usage: figures_model.py STRETTO_MODEL DIRECTORY    writes model_*.png and model_*.svg, in minutes; needs matplotlib and NumPy
"""

import json
import pathlib
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.colors import ListedColormap  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

RATES = (25, 100, 400)  # Gb/s
RATIOS = (2, 8, 32)
RANKS = [2**i for i in range(3, 18)]
MAP_RANKS = RANKS[:11]
SIZES = "1K 4K 16K 64K 256K 1M 4M 16M 64M 256M 1G".split()
PER_NODE = "4"

# One colour a system, the same in every figure; ours and the MPI stand out.
SYSTEMS = {
    "mpi": ("MPI, best of three schedules", "#444444"),
    "cprp2p": ("CPRP2P", "#b07aa1"),
    "c-coll": ("C-Coll", "#edc948"),
    "gzccl": ("gZCCL", "#9c755f"),
    "hzccl": ("hZCCL", "#59a14f"),
    "ghzccl": ("ghZCCL", "#76b7b2"),
    "homcomp": ("HomComp", "#ff9da7"),
    "homcomp-f": ("HomComp_F", "#f28e2b"),
    "argm": ("ArGM", "#4e79a7"),
    "ours": ("ours", "#e15759"),
}
WAYS = {  # (schedule, compressed): colour
    ("ring", False): "#bbbbbb", ("rabenseifner", False): "#888888", ("recursive_doubling", False): "#444444",
    ("ring", True): "#f28e2b", ("rabenseifner", True): "#edc948", ("recursive_doubling", True): "#b07aa1",
    ("hierarchical_ring", True): "#4e79a7", ("hierarchical_rabenseifner", True): "#59a14f",
    ("hierarchical_recursive_doubling", True): "#e15759",
}


def simulate(program, *arguments):
    command = [program, "simulate", "weak", "--per-node", PER_NODE, "--json", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)["rows"]


def save(figure, directory, name):
    for kind in ("png", "svg"):
        figure.savefig(directory / f"{name}.{kind}", dpi=110, bbox_inches="tight", metadata={"Date": None} if kind == "svg" else None)
    plt.close(figure)


def cost_against_ranks(program, directory):
    figure, axes = plt.subplots(1, len(RATES), figsize=(15, 4.6), sharey=True)
    for axis, rate in zip(axes, RATES):
        rows = simulate(program, "--machine", "a100-100g", "--rate", rate, "--ratio", 8, "--bytes", "256M",
                        "-n", ",".join(map(str, RANKS)), "--systems", ",".join(SYSTEMS))
        for system, (label, colour) in SYSTEMS.items():
            points = [(r["ranks"], r["seconds"]) for r in rows if r["system"] == system and r["seconds"] is not None]
            axis.loglog(*zip(*points), label=label, color=colour, marker="o", markersize=3,
                        linewidth=2.2 if system in ("mpi", "ours") else 1.2)
        axis.set_title(f"{rate} Gb/s a node")
        axis.set_xlabel("ranks (4 a node)")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("allreduce of 256 MiB a rank, ratio 8, seconds")
    axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    save(figure, directory, "model_cost_against_ranks")


def way_of(row):
    return row["schedule"].split(" ")[0], "fused" in row["schedule"]


def best_way(program, directory):
    ways = list(WAYS)
    colours = ListedColormap(list(WAYS.values()))
    figure, axes = plt.subplots(len(RATIOS), len(RATES), figsize=(13, 10), sharex=True, sharey=True)
    seen = set()
    for i, ratio in enumerate(RATIOS):
        for j, rate in enumerate(RATES):
            rows = simulate(program, "--machine", "a100-100g", "--rate", rate, "--ratio", ratio, "--bytes",
                            ",".join(SIZES), "-n", ",".join(map(str, MAP_RANKS)), "--systems", "ours")
            grid = np.array([ways.index(way_of(r)) for r in rows]).reshape(len(MAP_RANKS), len(SIZES)).T
            seen |= set(grid.flat)
            axis = axes[i][j]
            axis.imshow(grid, origin="lower", aspect="auto", cmap=colours, vmin=0, vmax=len(ways) - 1)
            axis.set_title(f"{rate} Gb/s a node, ratio {ratio}", fontsize=10)
            axis.set_xticks(range(0, len(MAP_RANKS), 2), [str(MAP_RANKS[k]) for k in range(0, len(MAP_RANKS), 2)], rotation=45)
            axis.set_yticks(range(0, len(SIZES), 2), [SIZES[k] for k in range(0, len(SIZES), 2)])
    for axis in axes[-1]:
        axis.set_xlabel("ranks (4 a node)")
    for row in axes:
        row[0].set_ylabel("bytes a rank")
    names = {False: "raw", True: "compressed"}
    figure.legend(handles=[Patch(color=WAYS[w], label=f"{w[0]}, {names[w[1]]}") for k, w in enumerate(ways) if k in seen],
                  loc="lower center", ncol=3, bbox_to_anchor=(0.5, -0.06))
    save(figure, directory, "model_best_way")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    cost_against_ranks(sys.argv[1], directory)
    best_way(sys.argv[1], directory)


if __name__ == "__main__":
    main()
