"""Figures, in the format that a file's name ends in (.png, .svg, .pdf), all in the style of stretto.mplstyle."""

import io
import itertools
import pathlib
import textwrap

import numpy as np

from stretto import files, units
from stretto.machine import fit
from stretto.errors import Failure

try:
    import matplotlib
except ImportError as error:
    raise Failure(f"no figure can be drawn: {error.msg} (pip install matplotlib)", status=1) from None

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  after the backend is chosen

FORMATS = (".png", ".svg", ".pdf")
STYLE = pathlib.Path(__file__).with_name("stretto.mplstyle")
COLOURS = tuple(matplotlib.rc_params_from_file(STYLE, use_default_template=False)["axes.prop_cycle"].by_key()["color"])

GREY, BLACK = COLOURS[-2:]
FOREMOST = {"mpi": BLACK, "ours": COLOURS[1]}  # systems that stand out
FEW = 6  # systems that have colours of their own beside them; more are grey
DASHES = ("-", "--", ":", "-.")


def style():
    """A context in which figures are made and saved."""
    return plt.style.context(STYLE)


def check(paths):
    """A file that no figure can be written to is told before the work."""
    for path in map(pathlib.Path, paths):
        if path.suffix.lower() not in FORMATS:
            raise Failure(f"plot {path}: a figure's file ends in one of {', '.join(FORMATS)}")
        if not path.parent.is_dir():
            raise Failure(f"plot {path}: there is no directory {path.parent}")


def save(figure, paths):
    for path in map(pathlib.Path, paths):
        try:
            with style():
                drawn, kind = io.BytesIO(), path.suffix.lower()[1:]
                figure.savefig(drawn, format=kind, metadata={"Date": None} if kind == "svg" else None)  # the same twice
            files.write(path, drawn.getvalue())
        except OSError as error:
            raise Failure(f"plot {path}: {error.strerror}") from None
    plt.close(figure)


def size_axis(axes, label="message, bytes", ticks=9):
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(base=2, numticks=ticks))
    axes.xaxis.set_major_formatter(lambda value, _: units.size(value))
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set_xlabel(label)


def time_axis(axes, label):
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: units.seconds(value))
    axes.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.set_ylabel(label)


def headline(axes, title, *assumptions):
    """What a figure shows, and below it what it assumes, over the title of its first axes and at their left edge."""
    lines = [title, *filter(None, assumptions), *filter(None, [axes.get_title(loc="left")])]
    axes.set_title("\n".join(lines), loc="left")


def spread(places, gap):
    """The places nearest to these (least squares) that keep their order and are `gap` apart."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    runs = []  # of places that touch: [sum of their distances from an unbroken column, how many]
    for rank, i in enumerate(order):
        runs.append([places[i] - rank * gap, 1])
        while len(runs) > 1 and runs[-2][0] / runs[-2][1] > runs[-1][0] / runs[-1][1]:
            total, count = runs.pop()
            runs[-1][0] += total
            runs[-1][1] += count
    means = [total / count for total, count in runs for _ in range(count)]
    found = [0.0] * len(places)
    for rank, i in enumerate(order):
        found[i] = means[rank] + rank * gap
    return found


def label_lines(axes, size=7):
    """Writes each line's label at its right end, in its colour, instead of a legend. Comes last: the figure is laid out by it."""
    lines = [line for line in axes.get_lines() if not line.get_label().startswith("_") and len(line.get_xdata())]
    ends = [(line.get_xdata()[-1], line.get_ydata()[-1]) for line in lines]
    axes.figure.draw_without_rendering()
    points = 72 / axes.figure.dpi
    heights = [axes.transData.transform(end)[1] * points for end in ends]
    for line, end, height, place in zip(lines, ends, heights, spread(heights, 1.25 * size)):
        axes.annotate(line.get_label(), end, xytext=(14, place - height), textcoords="offset points", color=line.get_color(), fontsize=size,
                      va="center", annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": line.get_color(), "lw": 0.5, "shrinkA": 0, "shrinkB": 2,
                                  "relpos": (0, 0.5)})


def pingpong_figure(measurement, series):
    """Observed and computed times and bandwidths, a column a placement."""
    from stretto.machine.pingpong import BUFFERS  # noqa: PLC0415  it imports this module's neighbours

    placements = list(dict.fromkeys(one.placement for one in series))
    cache = measurement.machine["cache"]
    with style():
        figure, grid = plt.subplots(3, len(placements), figsize=(1.5 + 5.5 * len(placements), 8.5), sharex="col", squeeze=False,
                                    height_ratios=(3, 3, 1.4), layout="constrained")
        for column, placement in enumerate(placements):
            times, rates, left = grid[:, column]
            for one, colour in zip((one for one in series if one.placement == placement), COLOURS):
                seen = one.bytes > 0  # a logarithmic axis has no place for 0 bytes
                n, t = one.bytes[seen], one.seconds[seen]
                fine = np.geomspace(n[0], n[-1], 400)
                computed = fit.predict(one.ranges, fine)
                times.plot(n, t, "o", ms=3, color=colour)
                times.plot(fine, computed, "-", lw=1, color=colour)
                times.plot(fine, fit.predict([one.line], fine), ":", lw=1, color=colour)
                rates.plot(n, n / t / 1e9, "o", ms=3, color=colour)
                rates.plot(fine, fine / computed / 1e9, "-", lw=1, color=colour)
                peak = np.argmax(fine / computed)
                rates.annotate(BUFFERS[one.buffers], (fine[peak], fine[peak] / computed[peak] / 1e9), xytext=(0, 4), textcoords="offset points",
                               color=colour, fontsize=8, ha="right", va="bottom")
                rates.plot(fine, fine / fit.predict([one.line], fine) / 1e9, ":", lw=1, color=colour)
                left.plot(n, 100 * fit.residuals(one.ranges, n, t), "o-", ms=2, lw=0.7, color=colour)
                for piece in one.ranges[1:]:
                    rates.axvline(piece.start, ymax=0.04, color=colour, lw=2)
            for axes in (times, rates, left):
                axes.axvline(cache, color="grey", lw=0.8, ls="--")
            rates.annotate("cache", (cache, 1), xycoords=("data", "axes fraction"), xytext=(-3, -10), textcoords="offset points",
                           color="grey", fontsize=8, ha="right")
            left.axhline(0, color="grey", lw=0.8)
            time_axis(times, "time of a message")
            times.set_ylim(bottom=min(one.seconds.min() for one in series) / 2)  # one line may go far below
            rates.set_ylabel("bandwidth, GB/s")
            rates.set_ylim(bottom=0)
            left.set_ylabel("residual, %")
            size_axis(left)
            times.set_title(f"placement: {placement}", loc="left")
        headline(grid[0, 0], f"Ping-pong on {measurement.machine['host']}, {measurement.machine['library']}, cores {measurement.regime()}: T = T_l + N/B",
                 "dots: observed; lines: computed by range; dotted: one line over all sizes")
        return figure


def pingpong(measurement, series, paths):
    save(pingpong_figure(measurement, series), paths)


def explain_figure(result, size=(8, 5)):
    """Predicted time against size: the MPI's own, the best raw and the best compressed way; below, which is chosen where."""
    from stretto.model import subject  # noqa: PLC0415

    sweep = result["sweep"]
    sizes = [point["bytes"] for point in sweep]
    with style():
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        for key, name, colour in (("native", "the MPI's own", "#000000"), ("raw", "best without compression", COLOURS[0]),
                                  ("compressed", "best compressed", COLOURS[1])):
            points = [(point["bytes"], point[key]) for point in sweep if point.get(key)]
            if points:
                axes.plot(*zip(*points), "o-", ms=3, lw=1.2, color=colour, label=name)
        edges = [sizes[0], *((one["below"] * one["above"]) ** 0.5 for one in result["crossovers"]), sizes[-1]]
        labels = [one["from"] for one in result["crossovers"]] + [sweep[-1]["taken"]]
        for i, (begin, end, label) in enumerate(zip(edges, edges[1:], labels)):
            axes.axvspan(begin, end, color="black", alpha=0.06 if i % 2 else 0.0, lw=0)
            axes.annotate(label, ((begin * end) ** 0.5, 0.02), xycoords=("data", "axes fraction"), rotation=90, ha="center",
                          va="bottom", fontsize=7, color="#444444")
        size_axis(axes, "whole vector", 9 if size[0] >= 8 else 6)
        time_axis(axes, "predicted time")
        axes.set_ylim(bottom=axes.get_ylim()[0] / 30)  # room for the labels of the bands
        axes.set_xlim(sizes[0], sizes[-1])
        axes.set_title(f"{subject(result, sized=False)}\nbands: what is chosen", loc="left", fontsize=9)
        label_lines(axes)
        return figure


def explain(result, paths):
    save(explain_figure(result), paths)


def overlap_lines(axes, result):
    """A split tree and work: time against ranks, a line for each split, and one without overlap. Dotted where the closed form's best split changes."""
    rows = result["rows"]
    ranks = [row["ranks"] for row in rows]
    for before, row in itertools.pairwise(rows):
        if row["closed_best"] != before["closed_best"]:
            axes.axvline(row["ranks"], ls=":", lw=1, color=GREY)
            axes.annotate(f"S = {row['closed_best']} from {row['ranks']}", (row["ranks"], 1), xycoords=("data", "axes fraction"), xytext=(-2, -4),
                          textcoords="offset points", rotation=90, ha="right", va="top", fontsize=7, color=GREY, bbox={"fc": "white", "ec": "none", "pad": 1})
    axes.plot(ranks, [row["blocking"] for row in rows], "--", lw=1.2, color="#000000", label="no overlap")
    for split in range(len(rows[0]["overlapped"])):
        axes.plot(ranks, [row["overlapped"][split] for row in rows], "o-", ms=3, lw=1.2, color=COLOURS[split % len(COLOURS)],
                  label=f"S = {split}")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(base=2, subs=(1, 1.5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(f"ranks; the rest of {result['cores']} cores communicates")


def overlap(result, paths):
    with style():
        figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        overlap_lines(axes, result)
        axes.set_ylabel("work and collective, in transfers of an edge")
        axes.set_title("A tree of which S levels run before the work; dotted: the best S of the closed form", loc="left", fontsize=10)
        label_lines(axes)
        save(figure, paths)


def plan(result, paths):
    """Time of a program against ranks, a line for each split that is the best somewhere, and those of blocking collectives."""
    from stretto.model import work_of  # noqa: PLC0415

    rows, best, blocking = result["rows"], result["best"], result["blocking"]
    overlapped = [row for row in rows if row["overlapped"]]
    with style():
        figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        axes.plot([row["ranks"] for row in rows], [row["blocking"] for row in rows], "--", lw=1.2, color="#000000", label="no overlap")
        for i, split in enumerate(result["splits"]):
            axes.plot([row["ranks"] for row in overlapped], [row["overlapped"][split] for row in overlapped], "o-", ms=3, lw=1.2,
                      color=COLOURS[i % len(COLOURS)], label=f"S = {split}")
        axes.plot(best["ranks"], best["seconds"], "o", ms=11, mfc="none", color="#000000")
        time_axis(axes, "time of the program")
        low, high = axes.get_ylim()
        few = high < 4 * low  # powers of ten and their halves would be too far apart
        axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(8) if few else matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        axes.set_xlabel(f"ranks; the rest of {result['cores']} cores communicates")
        what = textwrap.fill(work_of(result), 110)
        axes.set_title(f"{what}\nringed: the best, {units.seconds(best['seconds'])}; "
                       f"{blocking['ranks']} ranks and blocking collectives: {units.seconds(blocking['seconds'])}", loc="left", fontsize=9)
        label_lines(axes)
        save(figure, paths)


def simulate(result, paths):
    """Predicted time against ranks, a line a system, a panel a size."""
    from stretto.model import ratio_of  # noqa: PLC0415

    if result["study"] == "overlap":
        overlap(result, paths)
        return
    rows = result["rows"]
    systems = list(dict.fromkeys(row["system"] for row in rows))
    sizes = list(dict.fromkeys(row["bytes"] for row in rows))
    with style():
        figure, grid = plt.subplots(1, len(sizes), figsize=(2 + 5 * len(sizes), 4.5), sharey=True, squeeze=False,
                                    layout="constrained")
        for axes, size in zip(grid[0], sizes):
            for i, name in enumerate(systems):
                points = [(row["ranks"], row["seconds"]) for row in rows if row["system"] == name and row["bytes"] == size]
                colour = FOREMOST.get(name) or (GREY if len(systems) > FEW else COLOURS[2 + i % (len(COLOURS) - 4)])
                axes.plot(*zip(*points), DASHES[i % len(DASHES)] if name not in FOREMOST else "-", lw=2 if name in FOREMOST else 1, color=colour, label=name)
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
            axes.set_xlabel("ranks")
            axes.set_title(units.size(size) + (" on each rank" if result["study"] == "weak" else " over all ranks"), loc="left")
        time_axis(grid[0][0], "predicted time")
        headline(grid[0][0], f"{result['collective']}, {result['study']} scaling on {result['machine']}, {result['per_node']} ranks a node",
                 ratio_of(result))
        label_lines(grid[0][-1])
        save(figure, paths)


def slice_of(values):
    """What is drawn of an array: the middle of the middle one of its images, or of a row, with as many values as can be told apart."""
    def middle(length, most):
        begin = max((length - most) // 2, 0)
        return slice(begin, begin + most)

    if values.ndim == 1:
        return middle(values.size, 400)
    return (*(length // 2 for length in values.shape[:-2]), *(middle(length, 100) for length in values.shape[-2:]))


def ratio(name, values, rows, paths):
    """The data as it was and within each bound; below, the errors in parts of the bound."""
    part = slice_of(values)
    seen = values[part].astype(float)
    low, high = np.nanpercentile(np.where(np.isfinite(seen), seen, np.nan), (1, 99))
    with style():
        figure, grid = plt.subplots(2, 1 + len(rows), figsize=(2.6 * (1 + len(rows)), 5), squeeze=False, layout="constrained")
        shown = [("original", seen, None), *((f"{row.bound}, ratio {units.digits(row.ratio)}", row.decoded[part].astype(float), (row.decoded[part] - seen) / row.eps)
                                             for row in rows)]
        for (title, data, error), (above, below) in zip(shown, grid.T):
            above.set_title(title, loc="left", fontsize=9)
            if error is None:
                below.set_visible(False)
            if seen.ndim == 1:
                above.plot(data, lw=0.8, color=COLOURS[0])
                if error is not None:
                    below.plot(error, lw=0.8, color=COLOURS[1])
                    below.set_ylim(-1.05, 1.05)
                continue
            for axes in (above, below):
                axes.set_axis_off()
            above.imshow(data, cmap="cividis", vmin=low, vmax=high, aspect="auto", interpolation="nearest")
            if error is not None:
                drawn = below.imshow(error, cmap="cividis", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
        if seen.ndim > 1:
            figure.colorbar(drawn, ax=grid[1, 0], location="left", label="error, in parts of the bound")
        else:
            grid[1, 1].set_ylabel("error, in parts of the bound")
        headline(grid[0, 0], f"{name}: the data, and its error within each bound")
        save(figure, paths)


DRAW = {"explain": explain, "simulate": simulate, "plan": plan}
