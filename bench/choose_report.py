#!/usr/bin/env python3
"""Writes what `make bench-choose` measured as tables in Markdown: how often the choice costs no more than the MPI, and how often it is
within 10 % of the best that was measured.

usage: choose_report.py FILE.jsonl...
"""

import json
import statistics
import sys

NEAR, FAR = 0.25, 0.35  # microseconds of a flag's round trip: below, and above


def read(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines if line.strip()]
    return [row for row in rows if row.get("bench") == "choose" and "place" in row]


def size(count):
    for unit, scale in (("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"


def cells(rows):
    """A cell is a collective, a length, with a bound or without, at a place with an MPI: its time and its regret together."""
    found = {}
    for row in rows:
        key = (row["mpi"], row["place"], row["ranks"], row["collective"], row["bytes"], row["bounded"])
        found.setdefault(key, {})[row["metric"]] = row
    return {key: cell for key, cell in found.items() if "ms" in cell and "regret" in cell}


def regime(group):
    trips = [trip for cell in group.values() for trip in cell["ms"]["flag_us"]]
    middle = statistics.median(trips)
    name = "near" if middle < NEAR else "far" if middle > FAR else "mixed"
    return f"{name} ({min(trips):.2f} to {max(trips):.2f})"


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def named(key, cell):
    _, _, _, collective, count, bounded = key
    row = cell["ms"]
    return f"{collective} {size(count)}{' bound' if bounded else ''} ({row['schedule']})"


def summary(groups):
    yield ("| place | MPI | cells | not over 5 % slower than the MPI | the same, from 1 KB on | within 10 % of the best | median time, of the MPI's "
           "| flag round trip, µs |")
    yield "|---|---|---|---|---|---|---|---|"
    for (mpi, place, ranks), group in groups.items():
        slower = [cell["ms"]["value"] / cell["ms"]["peer_value"] - 1 for cell in group.values()]
        long = [cell["ms"]["value"] / cell["ms"]["peer_value"] - 1 for key, cell in group.items() if key[4] >= 1024]
        regret = [cell["regret"]["value"] for cell in group.values()]
        yield (f"| {place}, {ranks} ranks | {mpi} | {len(group)} | {share(sum(s <= 0.05 for s in slower), len(slower))} "
               f"| {share(sum(s <= 0.05 for s in long), len(long))} | {share(sum(r <= 0.1 for r in regret), len(regret))} | {statistics.median(slower) + 1:.2f} | {regime(group)} |")


def worst(groups, most):
    yield "| place | MPI | cell (what ran) | ms | MPI's | over it | best | over that |"
    yield "|---|---|---|---|---|---|---|---|"
    for (mpi, place, ranks), group in groups.items():
        def over(item):
            return max(item[1]["ms"]["value"] / item[1]["ms"]["peer_value"] - 1.05, item[1]["regret"]["value"] - 0.1)

        for key, cell in sorted(group.items(), key=over, reverse=True)[:most]:
            if over((key, cell)) <= 0:
                break
            ms, regret = cell["ms"], cell["regret"]
            yield (f"| {place}, {ranks} ranks | {mpi} | {named(key, cell)} | {ms['value']:.4g} | {ms['peer_value']:.4g} "
                   f"| {ms['value'] / ms['peer_value'] - 1:+.0%} | {regret['best']} {regret['best_ms']:.4g} | {regret['value']:+.0%} |")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: choose_report.py FILE.jsonl...")
    groups = {}
    for key, cell in cells(read(sys.argv[1:])).items():
        groups.setdefault(key[:3], {})[key] = cell
    if not groups:
        sys.exit("no rows of bench_choose")
    everything = {key: cell for group in groups.values() for key, cell in group.items()}
    fine = sum(cell["regret"]["value"] <= 0.1 for cell in everything.values())
    print(*summary(groups), sep="\n")
    print(f"\nAll: {len(everything)} cells, {share(fine, len(everything))} within 10 % of the best measured combination.\n")
    print(*worst(groups, 5), sep="\n")


if __name__ == "__main__":
    main()
