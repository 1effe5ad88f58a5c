#!/usr/bin/env python3
"""Writes what `make bench-node` measured as a table in Markdown: a line a collective and length; for every kind of memory, buffers and number
of ranks our microseconds, and in brackets the MPI's and the limit's time over ours.

usage: report.py [--regime near|far|remote] FILE.jsonl...      (rows of several runs of the same case: their medians; of that regime
alone)
"""

import argparse
import json
import re
import statistics
import sys

CASE = re.compile(r"(\w+) ranks=(\d+) bytes=(\d+) memory=(\w+)(?: through=(\w+))?")


def size(count):
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count // scale} {unit}"
    return f"{count} B"


def read(paths, regime):
    """{(collective, bytes): {column: {peer: [rows]}}}; of one regime, or of all."""
    lines = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in map(json.loads, filter(str.strip, file)):
                match = CASE.fullmatch(row["case"]) if row.get("bench") == "node" else None
                if not match or regime not in (None, row["regime"]):
                    continue
                collective, ranks, count, memory, through = match.groups()
                column = (row["mpi"], int(ranks), through or "node", memory, row["buffers"])
                lines.setdefault((collective, int(count)), {}).setdefault(column, {}).setdefault(row["peer"], []).append(row)
    return lines


def figure(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def middle(rows, key):
    return statistics.median(row[key] for row in rows)


def cell(peers):
    ours = middle([row for rows in peers.values() for row in rows], "value")
    mpi = next(rows for peer, rows in peers.items() if peer != "limit")
    over = [f"{middle(mpi, 'ratio'):.2f}"]
    if "limit" in peers:
        over.append(f"{middle(peers['limit'], 'ratio'):.2f}")
    return f"{figure(ours)} ({', '.join(over)})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--regime")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    lines = read(options.files, options.regime)
    if not lines:
        sys.exit("no such rows of bench_node with the field `mpi` in " + " ".join(options.files))
    columns = sorted({column for cells in lines.values() for column in cells}, key=lambda c: (c[0], c[1], c[2], c[3] != "private", c[4] != "rewritten"))
    for mpi, ranks, through, memory, buffers in columns:
        regimes = {row["regime"] for cells in lines.values() for row in sum(cells.get((mpi, ranks, through, memory, buffers), {}).values(), [])}
        print(f"{mpi}, {ranks} ranks, through {through}, {memory}, {buffers}: {', '.join(sorted(regimes))}", file=sys.stderr)
    print("| case |" + "".join(f" {memory}{', unmodified' if buffers == 'unmodified' else ''}{f', {ranks} ranks' if len({c[1] for c in columns}) > 1 else ''} |"
                               for _, ranks, _, memory, buffers in columns))
    print("| --- |" + " --- |" * len(columns))
    order = ("barrier", "allreduce", "bcast", "reduce", "allgather", "alltoall")
    for collective, count in sorted(lines, key=lambda c: (c[1], order.index(c[0]))):
        cells = lines[collective, count]
        name = collective if count == 0 else f"{collective} {size(count)}"
        print(f"| {name} |" + "".join(f" {cell(cells[c]) if c in cells else '-'} |" for c in columns))


if __name__ == "__main__":
    main()
