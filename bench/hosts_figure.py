#!/usr/bin/env python3
"""Draws the time of allreduces between hosts against the ranks of a host, from rows of bench_hosts.

usage: hosts_figure.py ROWS.jsonl... --plot FILE.png
Rows of several MPIs may lie beside one another; stretto's lines are of the first file.
"""

import argparse
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

LABELS = {"exact": "stretto, exact", "1e-4": "stretto, within 1e-4 of the range", "1e-3": "stretto, within 1e-3"}


def read(paths):
    """{label: {ranks of a host: ms}}, and the field, hosts and rate that all rows share."""
    lines, places = {}, set()
    for number, path in enumerate(paths):
        for row in map(json.loads, pathlib.Path(path).read_text().splitlines()):
            field, ranks, several, rate = re.match(r"(\S+) p=(\d+)(?: hosts=(\d+))? (\S+) ", row["case"]).groups()
            hosts = int(several or ranks)  # without "hosts=" each rank has its own
            slots = int(ranks) // hosts
            places.add((field, hosts, rate))
            peer = row["peer"].rpartition(", ")[2]
            # The MPI's time stands beside each row: the least is its best.
            lines.setdefault(peer, {}).setdefault(slots, []).append(row["peer_value"])
            if number == 0:
                lines.setdefault(LABELS[row["bound"]], {}).setdefault(slots, []).append(row["value"])
    if len(places) != 1:
        sys.exit(f"hosts_figure: the rows are of {len(places)} places: {sorted(places)}; it takes rows of one field, number of hosts and rate")
    return {label: {slots: min(times) for slots, times in sorted(line.items())} for label, line in lines.items()}, places.pop()


def draw(lines, place, path):
    from stretto.pictures import plots  # noqa: PLC0415  it needs matplotlib

    plots.check([path])
    field, hosts, rate = place
    with plots.style():
        figure, axes = plots.plt.subplots(figsize=(7, 4.4), layout="constrained")
        for number, (label, line) in enumerate(sorted(lines.items(), key=lambda of: -max(of[1].values()))):
            axes.plot(list(line), list(line.values()), color=plots.COLOURS[number % len(plots.COLOURS)], marker="so^vD"[number % 5], label=label)
        axes.set(yscale="log", xlabel="ranks of each host", ylabel="time of an allreduce, ms", xticks=sorted({slots for line in lines.values() for slots in line}))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        rate = re.sub(r"(\d+)gbit", r"\1 Gb/s", rate)
        plots.headline(axes, f"Allreduce on {hosts} hosts at {rate}", f"field {field}; all ranks share {os.cpu_count()} cores; medians")
        plots.save(figure, [path])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--plot", required=True)
    given = parser.parse_args()
    draw(*read(given.rows), given.plot)


if __name__ == "__main__":
    main()
