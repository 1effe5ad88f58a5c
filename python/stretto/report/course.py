"""What became of a program's collectives: pictures over time, and of what was saved."""

import numpy as np

from stretto import units
from stretto.pictures import plots

LANES, ROWS = 8, 16  # operations, and rows, that are drawn; the table has all
KINDS = {  # of a path: colour and name
    "mpi": (plots.GREY, "left to the MPI"),
    "native": (plots.BLACK, "the MPI's own, called by stretto"),
    "node": (plots.COLOURS[0], "in the node's memory"),
    "cores": (plots.COLOURS[3], "by communication cores"),
    "compressed": (plots.COLOURS[1], "compressed"),
    "schedule": (plots.COLOURS[2], "by a schedule, exact"),
}


def kind(row):
    """The key of KINDS of a row of a report."""
    path = row["path"]
    if row["why"].endswith("communication cores"):
        return "cores"
    if path == "MPI":
        return "mpi"
    if "," in path:  # a payload
        return "compressed"
    return path if path in ("native", "node") else "schedule"


def colour(row):
    return KINDS[kind(row)][0]


def label(row):
    size = f" ≤ {units.size(row['up_to_bytes'])}" if row.get("up_to_bytes") and row["bytes"] else ""
    return f"{row['operation']}{size}: {row['path']}"


def lanes(run):
    """[(operation, [row of its own path and kind, with summed counts])] of the operations that took longest, longest first."""
    operations = {}
    for row in run["calls"]:
        if row.get("seconds_over_time"):
            paths = operations.setdefault(row["operation"], {})
            paths.setdefault((row["path"], kind(row)), []).append(row)
    ordered = sorted(operations.items(), key=lambda item: -sum(row["seconds"] for rows in item[1].values() for row in rows))
    return [(name, [(path, key, rows) for (path, key), rows in paths.items()]) for name, paths in ordered[:LANES]]


def over_time(rows, stretches):
    """Seconds of all ranks in each stretch."""
    seconds = np.zeros(stretches)
    for row in rows:
        seconds[: len(row["seconds_over_time"])] += row["seconds_over_time"]
    return seconds


def course(run):
    """How many ranks were inside each operation over the time of the program, by what served it; a lane an operation. None where the report has no times."""
    found = lanes(run)
    if not found or not run.get("stretch_seconds"):
        return None
    stretch = run["stretch_seconds"]
    stretches = max(len(row["seconds_over_time"]) for row in run["calls"] if row.get("seconds_over_time"))
    edges = stretch * np.arange(stretches + 1)
    with plots.style():
        figure, grid = plots.plt.subplots(len(found), 1, figsize=(7.9, 0.7 + 1.05 * len(found)), sharex=True, squeeze=False, layout="constrained")
        for axes, (name, paths) in zip(grid[:, 0], found):
            below = np.zeros(stretches)
            seen, labels = [], []
            for path, key, rows in sorted(paths, key=lambda one: list(KINDS).index(one[1])):
                inside = over_time(rows, stretches) / stretch
                shade = 0.9 * 0.6 ** seen.count(key)  # paths of a kind differ by shade
                seen.append(key)
                axes.stairs(below + inside, edges, baseline=below, fill=True, color=KINDS[key][0], alpha=shade, lw=0)
                labels.append((f"{path}, {sum(row['calls'] for row in rows):,}", KINDS[key][0]))
                below += inside
            for place, (words, ink) in enumerate(reversed(labels[:5])):
                axes.annotate(words if place or len(labels) <= 5 else f"{words}; {len(labels) - 5} more", (1.012, 0.98 - 0.2 * place), xycoords="axes fraction",
                              color=ink, fontsize=8, va="top", annotation_clip=False)
            axes.set_title(f"{name}", loc="left", fontsize=9, pad=3)
            axes.set_ylim(0, max(below.max() * 1.05, 1e-9))
            axes.yaxis.set_major_locator(plots.matplotlib.ticker.MaxNLocator(2))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:.3g}")
        grid[-1, 0].set_xlim(0, edges[-1])
        grid[-1, 0].set_xlabel("seconds after MPI_Init")
        figure.supylabel("ranks inside, on average", fontsize=9)
        return figure


def compared(run):
    """Rows that were compared with the MPI's calls, the largest difference first."""
    return sorted((row for row in run["calls"] if row["saved_seconds"] != 0), key=lambda row: -abs(row["saved_seconds"]))


def is_known(row):
    """Whether calls gained more than they scatter, or lost more."""
    least, most = row["saved_between"]
    return least > 0 or most < 0


def saved(run):
    """What each row saved, with its interval. None where nothing was compared."""
    rows = compared(run)[:ROWS]
    if not rows:
        return None
    with plots.style():
        figure, axes = plots.plt.subplots(figsize=(7.9, 0.9 + 0.3 * len(rows)), layout="constrained")
        for place, row in enumerate(reversed(rows)):
            least, most = row["saved_between"]
            ink = colour(row) if is_known(row) else plots.GREY
            axes.plot([least, most], [place, place], lw=2, color=ink, alpha=1 if is_known(row) else 0.5, solid_capstyle="butt")
            axes.plot(row["saved_seconds"], place, "o", ms=6, color=ink, mfc=ink if is_known(row) else "white")
        axes.axvline(0, color=plots.BLACK, lw=0.8)
        axes.set_yticks(range(len(rows)), [f"{label(row)}, {row['calls']:,} calls" for row in reversed(rows)])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.xaxis.set_major_locator(plots.matplotlib.ticker.MaxNLocator(6))
        axes.xaxis.set_major_formatter(lambda value, _: ("−" if value < 0 else "") + units.seconds(abs(value)))
        axes.set_xlabel("saved, against the MPI's own calls of this run")
        return figure
