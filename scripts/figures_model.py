#!/usr/bin/env python3
"""The figures of docs/model.md, from stretto-model: fixed and dense streams over the rate of the link, cost against ranks for each system, the
best way over (ranks, bytes), and what communication cores hide of a tree.

usage: figures_model.py STRETTO_MODEL DIRECTORY [NAME...]    writes model_NAME.png and .svg of fixed_and_dense, overlap, cost_against_ranks and best_way, or of
those named, in minutes; needs the package in python/
"""

import json
import pathlib
import subprocess
import sys

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from stretto import units
from stretto.pictures import plots

LINKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 400)  # Gb/s
THREADS = (1, 2, 4, 8, 16)
STREAMS = (("marmousi_rtm within 1e-3", 30.4, 44.8), ("les_wmag within 1e-3", 4.92, 5.8))  # docs/codec.md, docs/measurements.md
RATES = (25, 100, 400)  # Gb/s
RATIOS = (2, 8, 32)
RANKS = [2**i for i in range(3, 18)]
MAP_RANKS = RANKS[:11]
CORES = 64
TREES = {"alike": "reduce, broadcast: edges alike", "double": "gather, scatter: a level has twice the bytes of the one below it"}
SIZES = "1K 4K 16K 64K 256K 1M 4M 16M 64M 256M 1G".split()
PER_NODE = "4"

BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY, GREY, BLACK = plots.COLOURS
LIGHT, PALE = "#eeeeee", "#c0c0c0"

# One colour a kind of system, one dash for each of a kind; ours and the MPI stand out.
SYSTEMS = {
    "mpi": ("MPI, best of three schedules", BLACK, "-"),
    "cprp2p": ("CPRP2P", GREY, "-"),
    "c-coll": ("C-Coll", GREY, "--"),
    "gzccl": ("gZCCL", GREY, ":"),
    "hzccl": ("hZCCL", GREEN, "-"),
    "ghzccl": ("ghZCCL", GREEN, "--"),
    "homcomp": ("HomComp", BLUE, "-"),
    "homcomp-f": ("HomComp_F", BLUE, "--"),
    "argm": ("ArGM", BLUE, ":"),
    "ours": ("ours", VERMILLION, "-"),
}
WAYS = {  # (schedule, compressed): colour
    ("ring", False): LIGHT, ("rabenseifner", False): PALE, ("recursive_doubling", False): GREY,
    ("ring", True): SKY, ("rabenseifner", True): VERMILLION, ("recursive_doubling", True): PINK,
    ("hierarchical_ring", True): BLUE, ("hierarchical_rabenseifner", True): ORANGE, ("hierarchical_recursive_doubling", True): GREEN,
}


def ask(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def simulate(program, *arguments):
    return ask(program, "simulate", "weak", "--per-node", PER_NODE, *arguments)["rows"]


def cost_against_ranks(program, paths):
    figure, axes = plots.plt.subplots(1, len(RATES), figsize=(13, 4.6), sharey=True, layout="constrained")
    for axis, rate in zip(axes, RATES):
        rows = simulate(program, "--machine", "a100-100g", "--rate", rate, "--ratio", 8, "--bytes", "256M",
                        "-n", ",".join(map(str, RANKS)), "--systems", ",".join(SYSTEMS))
        for system, (label, colour, dashes) in SYSTEMS.items():
            points = [(r["ranks"], r["seconds"]) for r in rows if r["system"] == system and r["seconds"] is not None]
            axis.plot(*zip(*points), dashes, label=label, color=colour, linewidth=2.2 if system in ("mpi", "ours") else 1.2)
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
        axis.set(title=f"{rate} Gb/s a node", xlabel="ranks, 4 a node")
    plots.time_axis(axes[0], "predicted time")
    plots.headline(axes[0], "Allreduce of 256 MiB on each rank", "a100-100g, streams at ratio 8 (assumed)")
    plots.label_lines(axes[-1])
    plots.save(figure, paths)


def way_of(row):
    return row["schedule"].split(" ")[0], "fused" in row["schedule"]


def best_way(program, paths):
    ways = list(WAYS)
    colours = ListedColormap(list(WAYS.values()))
    figure, axes = plots.plt.subplots(len(RATIOS), len(RATES), figsize=(11, 9.5), sharex=True, sharey=True, layout="constrained")
    seen = set()
    for i, ratio in enumerate(RATIOS):
        for j, rate in enumerate(RATES):
            rows = simulate(program, "--machine", "a100-100g", "--rate", rate, "--ratio", ratio, "--bytes",
                            ",".join(SIZES), "-n", ",".join(map(str, MAP_RANKS)), "--systems", "ours")
            grid = np.array([ways.index(way_of(r)) for r in rows]).reshape(len(MAP_RANKS), len(SIZES)).T
            seen |= set(grid.flat)
            axis = axes[i][j]
            axis.imshow(grid, origin="lower", aspect="auto", cmap=colours, vmin=0, vmax=len(ways) - 1)
            axis.set_title(f"{rate} Gb/s a node, ratio {ratio}")
            axis.grid(False)
            axis.set_xticks(range(0, len(MAP_RANKS), 2), [str(MAP_RANKS[k]) for k in range(0, len(MAP_RANKS), 2)], rotation=45)
            axis.set_yticks(range(0, len(SIZES), 2), [units.size(units.parse_size(SIZES[k])) for k in range(0, len(SIZES), 2)])
    for axis in axes[-1]:
        axis.set_xlabel("ranks, 4 a node")
    for row in axes:
        row[0].set_ylabel("each rank's vector")
    names = {False: "raw", True: "compressed"}
    figure.legend(handles=[Patch(color=WAYS[w], label=f"{w[0]}, {names[w[1]]}") for k, w in enumerate(ways) if k in seen],
                  loc="outside lower left", ncol=3)
    plots.headline(axes[0][0], "The fastest schedule and payload of an allreduce", "a100-100g, streams at the ratio over each panel (assumed)")
    plots.save(figure, paths)


def overlap(program, paths):
    figure, axes = plots.plt.subplots(1, len(TREES), figsize=(13, 5), layout="constrained")
    for axis, (edges, title) in zip(axes, TREES.items()):
        ranks = ",".join(map(str, range(CORES // 2, CORES - 1)))
        plots.overlap_lines(axis, ask(program, "simulate", "overlap", "--cores", CORES, "--edges", edges, "-n", ranks))
        axis.set_title(title)
        plots.label_lines(axis)
    axes[0].set_ylabel("work and collective, in transfers of an edge")
    figure.suptitle("A tree of which S levels run before the work; dotted: the best S of the closed form", x=0.01, ha="left")
    plots.save(figure, paths)


def fixed_and_dense(program, paths):
    """Fixed and dense streams over the rate of the link, for threads of the codec."""
    figure, axes = plots.plt.subplots(1, len(STREAMS), figsize=(13, 4.6), sharey=True, layout="constrained")
    for axis, (title, ratio, dense) in zip(axes, STREAMS):
        for threads, colour in zip(THREADS, (BLACK, BLUE, GREEN, ORANGE, VERMILLION)):
            times = {"fixed": [], "dense": []}
            for rate in LINKS:
                found = ask(program, "explain", "allreduce", "-n", 4, "--bytes", "64M", "--bound", "rel:1e-3", "--machine", "built-in", "--ratio", ratio,
                            "--dense-ratio", dense, "--rate", rate, "--codec-threads", threads)["candidates"]
                for coding, line in times.items():
                    line.append(min(one["seconds"] for one in found if one.get("coding") == coding))
            axis.plot(LINKS, times["fixed"], "--", color=colour, linewidth=1.2, label="_")
            axis.plot(LINKS, times["dense"], "-", color=colour, linewidth=1.8, label=f"{threads} core{'s' if threads > 1 else ''}")
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set(title=f"{title}: ratio {ratio:g} fixed, {dense:g} dense", xlabel="Gb/s of a host")
    plots.time_axis(axes[0], "predicted time")
    plots.headline(axes[0], "Allreduce of 64 MiB on each of 4 hosts, of one rank", "fixed (dashed) and dense streams, cores a rank; built-in profile")
    plots.label_lines(axes[-1])
    plots.save(figure, paths)


DRAW = {"fixed_and_dense": fixed_and_dense, "overlap": overlap, "cost_against_ranks": cost_against_ranks, "best_way": best_way}


def main():
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(DRAW):
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:] or DRAW:
        with plots.style():
            DRAW[name](sys.argv[1], [directory / f"model_{name}{ending}" for ending in (".png", ".svg")])


if __name__ == "__main__":
    main()
