"""A program's measurement and its model in one picture."""

import math

from stretto.pictures import plots
from stretto.bench.running import ALONE


def by_ranks(result, title, group, value, label):
    """`value(row, seconds)` of time measured, with its interval, and of the model's, against ranks; a colour a group, empty marks with the library."""
    groups = list(dict.fromkeys(group(row) for row in result["rows"]))
    colour = {name: plots.COLOURS[i % len(plots.COLOURS)] for i, name in enumerate(groups)}
    with plots.style():
        figure, axes = plots.plt.subplots(figsize=(7.5, 4.5), layout="constrained")
        for name in groups:
            for library in dict.fromkeys(row["library"] for row in result["rows"]):
                rows = sorted((row for row in result["rows"] if group(row) == name and row["library"] == library), key=lambda row: row["ranks"])
                ranks = [row["ranks"] for row in rows]
                middle = [value(row, row["seconds"]) for row in rows]
                ends = [sorted((value(row, row["low"]), value(row, row["high"]))) for row in rows]
                spread = [[max(0.0, y - low) for y, (low, _) in zip(middle, ends)], [max(0.0, high - y) for y, (_, high) in zip(middle, ends)]]
                face = colour[name] if library == ALONE else "white"
                marks = axes.errorbar(ranks, middle, yerr=spread, fmt="o", ms=4, lw=1, capsize=2, color=colour[name], mfc=face)
                marks.lines[0].set_label(name + ", with stretto" * (library != ALONE))
                if library == ALONE:
                    axes.plot(ranks, [value(row, row["model"]) for row in rows], "--", lw=1, color=colour[name], label="_model")
        axes.set_xticks(sorted({row["ranks"] for row in result["rows"]}))
        axes.set_xlabel("ranks")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.margins(x=0.03)
        shared = any(row["shared_cores"] for row in result["rows"])
        plots.headline(axes, f"{title}, {result['machine']['library']}",
                       "marks: measured, with intervals; dashes: the model" + "; some ranks share cores" * shared)
        plots.label_lines(axes)
        return figure


def ring(result):
    return by_ranks(result, "Ring", lambda row: row["variant"], lambda row, seconds: row["megabytes"] / seconds / 1e3, "all messages, GB/s")


def jacobi(result):
    from stretto.bench.jacobi import label  # noqa: PLC0415  the other modules do without pictures

    return by_ranks(result, "Jacobi in 3-D", label, lambda row, seconds: math.prod(row["points"]) / seconds / 1e6, "MLUP/s")


def cg(result):
    return by_ranks(result, "Conjugate gradients", lambda row: row["form"], lambda row, seconds: 1 / seconds, "steps a second")


def matrix(result):
    return by_ranks(result, "Sum of two matrices", lambda row: f"{row['dimensions']}-D grid", lambda row, seconds: 1e3 * seconds,
             "scatter, addition and gather, ms")


DRAW = {"ring": ring, "jacobi": jacobi, "cg": cg, "matrix": matrix}
