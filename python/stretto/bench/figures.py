"""A program's measurement and its model in one picture."""

import math

from stretto.pictures import plots
from stretto.bench.running import ALONE


MARKS = "osD^vPX"  # a shape a run


def by_ranks(result, overlay, title, group, value, label):
    """`value(row, seconds)` of time measured, with its interval, and of the model's, against ranks; a colour a group, empty marks with the library.

    `overlay` has earlier runs, (name, result) each, whose marks have other shapes and whose labels end in the name.
    """
    runs = [("", result), *overlay]
    groups = list(dict.fromkeys(group(row) for _, run in runs for row in run["rows"]))
    with plots.style():
        figure, axes = plots.plt.subplots(figsize=(7.5, 4.5), layout="constrained")
        for number, (name, run) in enumerate(runs):
            for at, one in enumerate(groups):
                draw(axes, [row for row in run["rows"] if group(row) == one], value, one + f", {name}" * bool(name),
                     plots.COLOURS[(at + number * len(groups)) % len(plots.COLOURS)], MARKS[number % len(MARKS)])
        axes.set_xticks(sorted({row["ranks"] for _, run in runs for row in run["rows"]}))
        axes.set_xlabel("ranks")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.margins(x=0.03)
        shared = any(row["shared_cores"] for _, run in runs for row in run["rows"])
        machines = [result["machine"]["library"], *(f"{name}: {run['machine']['library']}" for name, run in overlay)]
        plots.headline(axes, f"{title}, {'; '.join(machines)}",
                       "marks: measured, with intervals; dashes: the model" + "; some ranks share cores" * shared)
        plots.label_lines(axes)
        return figure


def draw(axes, rows, value, label, colour, shape):
    """One group of one run."""
    for library in dict.fromkeys(row["library"] for row in rows):
        same = sorted((row for row in rows if row["library"] == library), key=lambda row: row["ranks"])
        ranks = [row["ranks"] for row in same]
        middle = [value(row, row["seconds"]) for row in same]
        ends = [sorted((value(row, row["low"]), value(row, row["high"]))) for row in same]
        spread = [[max(0.0, y - low) for y, (low, _) in zip(middle, ends)], [max(0.0, high - y) for y, (_, high) in zip(middle, ends)]]
        marks = axes.errorbar(ranks, middle, yerr=spread, fmt=shape, ms=4, lw=1, capsize=2, color=colour, mfc=colour if library == ALONE else "white")
        marks.lines[0].set_label(label + ", with stretto" * (library != ALONE))
        if library == ALONE:
            axes.plot(ranks, [value(row, row["model"]) for row in same], "--", lw=1, color=colour, label="_model")


def with_grid(result, name):
    """`name(row)`, and the process grid where one number of ranks has several."""
    seen = [(row["library"], row["ranks"], name(row)) for row in result["rows"]]
    return name if len(set(seen)) == len(seen) else lambda row: f"{name(row)}, {' x '.join(map(str, row['dims']))}"


def ring(result, overlay=()):
    return by_ranks(result, overlay, "Ring", lambda row: row["variant"], lambda row, seconds: row["megabytes"] / seconds / 1e3, "all messages, GB/s")


def jacobi(result, overlay=()):
    from stretto.bench.jacobi import label  # noqa: PLC0415  the other modules do without pictures

    return by_ranks(result, overlay, "Jacobi in 3-D", with_grid(result, label), lambda row, seconds: math.prod(row["points"]) / seconds / 1e6, "MLUP/s")


def cg(result, overlay=()):
    return by_ranks(result, overlay, "Conjugate gradients", lambda row: row["form"], lambda row, seconds: 1 / seconds, "steps a second")


def matrix(result, overlay=()):
    return by_ranks(result, overlay, "Sum of two matrices", with_grid(result, lambda row: f"{row['dimensions']}-D grid"),
                    lambda row, seconds: 1e3 * seconds, "scatter, addition and gather, ms")


def amr(result, overlay=()):
    def totals(run):
        return {**run, "rows": [row for row in run["rows"] if row["phase"] in ("step", "refinement", "collectives")]}

    return by_ranks(totals(result), [(name, totals(run)) for name, run in overlay], "Adaptive mesh", lambda row: row["phase"],
                    lambda row, seconds: 1e3 * seconds, "time of a step, ms")


DRAW = {"ring": ring, "jacobi": jacobi, "cg": cg, "matrix": matrix, "amr": amr}
