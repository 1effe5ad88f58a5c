"""`stretto compare`: the picture of one array (original, other, error, histogram of the error), and a page of all."""

import base64
import html
import io

import numpy as np

from stretto import files
from stretto.pictures import plots
from stretto.errors import Failure
from stretto.ratio import FILL
from stretto.storage.compare import rows

MOST = 900  # elements of an image, each way; more are thinned
MISSING = "#bdbdbd"
PICTURES = 24  # of a page
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222}table{border-collapse:collapse;margin:1em 0}
td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}td+td{font-variant-numeric:tabular-nums}
img{max-width:100%;height:auto}h2{margin-top:2em}"""


def figure(one):
    """The figure of a pair of arrays whose `seen` is there."""
    before, after = (np.ma.masked_invalid(thinned(values)) for values in one.seen)
    fill = np.abs(before) >= FILL
    before, after = np.ma.masked_where(fill, before), np.ma.masked_where(fill, after)
    error = after - before
    largest = one.largest if 0 < one.largest < np.inf else 1.0
    with plots.style():
        drawn, grid = plots.plt.subplot_mosaic([["before", "after", "error"], ["histogram", "histogram", "lags"]], figsize=(12, 7), layout="constrained",
                                               height_ratios=(3, 2))
        if before.ndim == 1:
            lines(grid, before, after, error, largest)
        else:
            images(drawn, grid, before, after, error, largest)
        grid["before"].set_title(f"original {one.part}" + ", grey: missing" * bool(before.ndim > 1 and before.count() < before.size))
        grid["after"].set_title("the other" + (f", ratio {one.ratio:.1f}" if one.ratio else ""))
        grid["error"].set_title(f"error, at most {one.largest:.3g}")
        histogram(grid["histogram"], one, largest)
        lags = grid["lags"]
        lags.bar(range(1, len(one.autocorrelation) + 1), one.autocorrelation, color=plots.COLOURS[0])
        lags.axhline(0, color=plots.GREY, lw=0.8)
        lags.set(title="autocorrelation of the error", xlabel="lag, elements", ylim=(-1, 1))
        words = [f"RMSE {one.rmse:.3g}"]
        words += [f"PSNR {one.psnr:.1f} dB"] if one.psnr is not None else []
        words += [f"SSIM {one.ssim:.6f}"] if one.ssim is not None else []
        drawn.suptitle(f"{one.name}, {'x'.join(map(str, one.shape))} {one.dtype}: {', '.join(words)}", x=0.01, ha="left")
        return drawn


def thinned(values):
    return values[tuple(slice(None, None, max(-(-n // MOST), 1)) for n in values.shape)]


def lines(grid, before, after, error, largest):
    for name, values in (("before", before), ("after", after), ("error", error)):
        grid[name].plot(values, lw=0.8, color=plots.COLOURS[name == "error"])
    grid["error"].set_ylim(-1.05 * largest, 1.05 * largest)


def images(drawn, grid, before, after, error, largest):
    low, high = np.percentile(before.compressed(), (1, 99)) if before.count() else (0, 1)
    if low == high:
        low, high = low - 0.5, high + 0.5
    colours = plots.matplotlib.colormaps["cividis"].with_extremes(bad=MISSING)
    for name, values, ends, colour in (("before", before, (low, high), colours), ("after", after, (low, high), colours),
                                       ("error", error, (-largest, largest), plots.matplotlib.colormaps["RdBu_r"].with_extremes(bad=MISSING))):
        axes = grid[name]
        axes.grid(False)
        axes.set(xticks=[], yticks=[])
        shown = axes.imshow(values, cmap=colour, vmin=ends[0], vmax=ends[1], aspect="auto", interpolation="nearest")
        if name != "before":
            drawn.colorbar(shown, ax=axes, fraction=0.05, pad=0.02)


def histogram(axes, one, largest):
    """Counts of errors, and where the bound is, if one is promised."""
    edges = np.linspace(-largest, largest, len(one.histogram) + 1)
    axes.stairs(one.histogram, edges, fill=True, color=plots.COLOURS[0])
    axes.set(title="histogram of the error", xlabel="error", ylabel="elements")
    if max(one.histogram) > 10 * np.median(one.histogram):
        axes.set_yscale("log")
    else:
        axes.set_ylim(top=1.15 * max(one.histogram) or 1)  # room for the bound's label
    if one.promised and one.promised < 3 * one.largest:
        for side in (-1, 1):
            axes.axvline(side * one.promised, color=plots.BLACK, lw=1, ls="--")
        axes.annotate("the bound", (one.promised, 1), xycoords=("data", "axes fraction"), xytext=(-4, -2), textcoords="offset points", ha="right", va="top")


def page(found, title):
    """All arrays' figures, and pictures of the first that differ, as one HTML text."""
    title = html.escape(title)
    parts = [f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>stretto compare: {title}</title><style>{STYLE}</style></head>'
             f"<body><h1>{title}</h1>"]
    left = PICTURES
    for one in found:
        parts.append(f"<h2>{html.escape(one.name)}</h2><table>")
        parts += [f"<tr><td>{html.escape(word)}</td><td>{html.escape(text)}</td></tr>" for word, text in rows(one)]
        parts.append("</table>")
        if one.seen is not None and one.largest and left:
            left -= 1
            picture = io.BytesIO()
            drawn = figure(one)
            with plots.style():
                drawn.savefig(picture, format="png")
            plots.plt.close(drawn)
            name = html.escape(one.name, quote=True)
            parts.append(f'<img alt="{name}: original, other, error and its histogram" src="data:image/png;base64,'
                         f'{base64.b64encode(picture.getvalue()).decode()}">')
    return "\n".join([*parts, "</body></html>\n"])


@np.errstate(all="ignore")
def draw(found, title, paths, path_of_page):
    """Draws the first array to `paths`, and all of them into a page of that title."""
    if paths:
        if found[0].seen is None:
            raise Failure(f"{found[0].name!r} of {found[0].dtype} has no picture; pictures are of real numbers, at least one")
        plots.save(figure(found[0]), paths)
    if path_of_page:
        try:
            files.write(path_of_page, page(found, title))
        except OSError as error:
            raise Failure(f"{path_of_page}: {error.strerror}", status=1) from None
