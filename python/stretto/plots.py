"""Figures, in the format that a file's name ends in (.png, .svg, .pdf)."""

import pathlib

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  after the backend is chosen
import numpy as np  # noqa: E402

from stretto import fit, units  # noqa: E402
from stretto.errors import Failure  # noqa: E402

FORMATS = (".png", ".svg", ".pdf")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#000000")  # told apart by all eyes
STYLE = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "grid.linewidth": 0.5, "axes.spines.top": False,
         "axes.spines.right": False, "legend.frameon": False, "svg.hashsalt": "stretto"}


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
            figure.savefig(path, dpi=150)
        except OSError as error:
            raise Failure(f"plot {path}: {error.strerror}") from None
    plt.close(figure)


def size_axis(axes, label="message, bytes"):
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(base=2, numticks=9))
    axes.xaxis.set_major_formatter(lambda value, _: units.size(value))
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set_xlabel(label)


def time_axis(axes, label):
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: units.seconds(value))
    axes.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.set_ylabel(label)


def pingpong(measurement, series, paths):
    """Observed and computed times and bandwidths, a column a placement."""
    from stretto.pingpong import BUFFERS  # noqa: PLC0415  it imports this module's neighbours

    placements = list(dict.fromkeys(one.placement for one in series))
    cache = measurement.machine["cache"]
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(3, len(placements), figsize=(1.5 + 5.5 * len(placements), 8.5), sharex="col", squeeze=False,
                                    height_ratios=(3, 3, 1.4), layout="constrained")
        for column, placement in enumerate(placements):
            times, rates, left = grid[:, column]
            for one, colour in zip((one for one in series if one.placement == placement), COLOURS):
                seen = one.bytes > 0  # a logarithmic axis has no place for 0 bytes
                n, t = one.bytes[seen], one.seconds[seen]
                fine = np.geomspace(n[0], n[-1], 400)
                computed = fit.predict(one.ranges, fine)
                times.plot(n, t, "o", ms=3, color=colour, label=f"observed, {BUFFERS[one.buffers]}")
                times.plot(fine, computed, "-", lw=1, color=colour, label="computed by range")
                times.plot(fine, fit.predict([one.line], fine), ":", lw=1, color=colour, label="computed, one line")
                rates.plot(n, n / t / 1e9, "o", ms=3, color=colour)
                rates.plot(fine, fine / computed / 1e9, "-", lw=1, color=colour)
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
            times.legend(fontsize=7)
        figure.suptitle(f"Ping-pong on {measurement.machine['host']}, {measurement.machine['mpi']}, cores {measurement.regime()}: "
                        "T = T_l + N/B", fontsize=11, x=0.01, ha="left")
        save(figure, paths)
