#!/usr/bin/env python3
"""Writes what `make bench-choose` measured as tables in Markdown: how often the choice costs no more than the MPI, and how often it is
within 10 % of the best that was measured.

usage: report.py FILE.jsonl...
"""

import json
import statistics
import sys

NEAR, FAR = 0.25, 0.35  # limits in microseconds of a flag's round trip


def read(paths, bench="choose"):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines if line.strip()]
    return [row for row in rows if row.get("bench") == bench and "place" in row]


def first_calls(rows):
    """Total time of a communicator's first calls over that of the fastest forced path: medians over turns, a cell a collective, length and
    bound. Beside it stands the control, the fastest forced path beside itself."""
    yield "| place | MPI | profile | first calls | cells | over the fastest: median, largest | the fastest beside itself | surely beyond 1.25 |"
    yield "|---|---|---|---|---|---|---|---|"
    groups = {}
    for row in rows:
        marks = (row["place"], row["mpi"], row["profile"], row["first"] if row["first"] in (1, 10, 100) else 1000)
        groups.setdefault(marks, []).append(row)
    for (place, mpi, profile, first), group in sorted(groups.items()):
        def middle_and_most(field):
            over = [row[field][1] for row in group]
            return f"{statistics.median(over):.2f}, {max(over):.2f}"

        beyond = sum(row["over_best"][0] > 1.25 for row in group), sum(row["again_over_best"][0] > 1.25 for row in group)
        yield (f"| {place} | {mpi} | {profile} | {'up to ' if first == 1000 else ''}{first} | {len(group)} | {middle_and_most('over_best')} "
               f"| {middle_and_most('again_over_best')} | {beyond[0]}, itself {beyond[1]} |")
    far = sorted((row for row in rows if row["over_best"][1] > 1.25), key=lambda row: -row["over_best"][1])
    if not far:
        return
    yield "\n| cells beyond 1.25 | µs | fastest | µs | over it (95 %) | itself | ran |"
    yield "|---|---|---|---|---|---|---|"
    for row in far:
        low, middle, high = row["over_best"]
        yield (f"| {row['case']} | {1e3 * row['value']:.4g} | {row['peer']} | {1e3 * row['peer_value']:.4g} "
               f"| {middle:.2f} ({low:.2f} to {high:.2f}) | {row['again_over_best'][1]:.2f} | {row['ran']} |")


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


def over_mpi(cell):
    return cell["ms"]["value"] / cell["ms"]["peer_value"] - 1


def fine(cells_):
    return share(sum(over_mpi(cell) <= 0.05 for cell in cells_), len(cells_))


def surely(cells_):
    """Cells whose whole interval of 95 % is above the tolerance."""
    return sum(over_mpi(cell) > 0.05 and cell["ms"]["over_mpi"][0] > 1.05 for cell in cells_)


def surely_again(group):
    """The same of the MPI's own beside itself, for each of these cells: what the measurement gets wrong."""
    def slower(row):
        return row["times_ms"]["MPI again"] > 1.05 * row["peer_value"] and row["again_over_mpi"][0] > 1.05

    return sum(slower(cell["ms"]) for cell in group.values())


def way_down(cells_):
    """Microseconds that a call of up to 512 B takes more where the MPI's own function ran, called through the library: a median."""
    more = [1e3 * (cell["ms"]["value"] - cell["ms"]["peer_value"]) for cell in cells_
            if cell["ms"]["schedule"] == "native" and cell["ms"]["bytes"] <= 512]
    return f"{statistics.median(more):.2f} of {len(more)}" if more else "-"


def named(key, cell):
    _, _, _, collective, count, bounded = key
    row = cell["ms"]
    return f"{collective} {size(count)}{' bound' if bounded else ''} ({row['schedule']})"


def summary(groups):
    yield ("| place | MPI | cells | not over 5 % slower than the MPI | surely slower | the same two from 1 KB on | the MPI's own beside itself surely slower "
           "| short calls of its function take more, µs | within 10 % of the best | median time, of the MPI's | flag round trip, µs |")
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for (mpi, place, ranks), group in groups.items():
        long = [cell for key, cell in group.items() if key[4] >= 1024]
        regret = [cell["regret"]["value"] for cell in group.values()]
        middle = statistics.median(over_mpi(cell) for cell in group.values()) + 1
        yield (f"| {place}, {ranks} ranks | {mpi} | {len(group)} | {fine(group.values())} | {surely(group.values())} | {fine(long)}, {surely(long)} "
               f"| {surely_again(group)} | {way_down(group.values())} | {share(sum(r <= 0.1 for r in regret), len(regret))} | {middle:.2f} | {regime(group)} |")


def worst(groups, most):
    yield "| place | MPI | cell (what ran) | ms | MPI's | over it | best | over that |"
    yield "|---|---|---|---|---|---|---|---|"
    for (mpi, place, ranks), group in groups.items():
        def over(item):
            return max(over_mpi(item[1]) - 0.05, item[1]["regret"]["value"] - 0.1)

        for key, cell in sorted(group.items(), key=over, reverse=True)[:most]:
            if over((key, cell)) <= 0:
                break
            ms, regret = cell["ms"], cell["regret"]
            yield (f"| {place}, {ranks} ranks | {mpi} | {named(key, cell)} | {ms['value']:.4g} | {ms['peer_value']:.4g} "
                   f"| {over_mpi(cell):+.0%} ({ms['over_mpi'][0] - 1:+.0%} to {ms['over_mpi'][2] - 1:+.0%}) | {regret['best']} {regret['best_ms']:.4g} | {regret['value']:+.0%} |")


def programs(rows):
    """Sequences of calls as programs make them: their time over the MPI's, with its 95 %, and the MPI's own over itself."""
    found = [row for row in rows if "program" in row]
    if not found:
        return
    yield "| place | MPI | what repeats | µs | MPI's µs | over it | MPI again over it |"
    yield "|---|---|---|---|---|---|---|"
    for row in found:
        low, middle, high = row["over_mpi"]
        yield (f"| {row['place']}, {row['ranks']} ranks | {row['mpi']} | {row['program']}, {size(row['bytes'])} | {1e3 * row['value']:.3g} "
               f"| {1e3 * row['peer_value']:.3g} | {middle:.2f} ({low:.2f} to {high:.2f}) | {row['again_over_mpi'][1]:.2f} |")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: report.py FILE.jsonl...")
    rows, first = read(sys.argv[1:]), read(sys.argv[1:], "first_calls")
    if first:
        print(*first_calls(first), sep="\n")
    if not rows and first:
        return
    if not rows:
        sys.exit("no rows of bench_choose")
    print(*programs(rows), sep="\n")
    groups = {}
    for key, cell in cells([row for row in rows if "program" not in row]).items():
        groups.setdefault(key[:3], {})[key] = cell
    if not groups:
        return
    everything = {key: cell for group in groups.values() for key, cell in group.items()}
    near = sum(cell["regret"]["value"] <= 0.1 for cell in everything.values())
    long = [cell for key, cell in everything.items() if key[4] >= 1024]
    print(*summary(groups), sep="\n")
    print(f"\nAll: {len(everything)} cells. At most 5 % slower than the MPI: {fine(everything.values())}, surely slower "
          f"{surely(everything.values())}; from 1 KB on {fine(long)} of {len(long)}, surely slower {surely(long)}. "
          f"The MPI's own beside itself: surely slower in {sum(surely_again(group) for group in groups.values())}. "
          f"Within 10 % of the best measured combination: {share(near, len(everything))}.\n")
    print(*worst(groups, 5), sep="\n")


if __name__ == "__main__":
    main()
